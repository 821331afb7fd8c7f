// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Live half: loads the program, attaches it, takes it away. Makes records, never events.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "base/err.h"
#include "base/macros.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "template.skel.h"

extern const struct decoder_ops template_decoder;

struct template_state { struct template_bpf *skel; };

static int template_load(struct probe_env *env, uint16_t instance, struct template_bpf **ret, struct err *err)
{
	struct template_bpf *skel = template_bpf__open();
	int r;

	if (!skel)
		return err_errno(err, -errno, "cannot open the BPF object");
	r = probe_env_prepare(env, skel->obj, instance, err);
	if (r >= 0)
		r = probe_env_load(env, skel->obj, err);
	if (r < 0) {
		template_bpf__destroy(skel);
		return r;
	}
	*ret = skel;
	return 0;
}

static int template_open(struct probe *p, struct err *err)
{
	struct template_state *s = p->state;

	return template_load(p->env, p->instance, &s->skel, err);
}

static int template_attach(struct probe *p, struct err *err)
{
	struct template_state *s = p->state;
	int r = template_bpf__attach(s->skel);

	return r < 0 ? err_errno(err, r, "cannot attach to signal_generate") : 0;
}

static void template_detach(struct probe *p)
{
	struct template_state *s = p->state;

	template_bpf__detach(s->skel);
}

static void template_close(struct probe *p)
{
	struct template_state *s = p->state;

	template_bpf__destroy(s->skel);
	s->skel = NULL;
}

static int template_check(struct probe_env *env, hook_report_fn fn, void *ctx)
{
	struct hook_report report = { .hook = "signal_generate", .state = HOOK_OK };
	struct template_bpf *skel = NULL;
	struct err err = { 0 };
	int r = template_load(env, 0, &skel, &err);

	if (r >= 0)
		r = template_bpf__attach(skel);
	if (r < 0) {
		report.state = r == -EPERM || r == -EACCES ? HOOK_REFUSED : HOOK_FAILED;
		snprintf(report.why, sizeof(report.why), "%.250s", *err.msg ? err.msg : strerror(-r));
	}
	template_bpf__destroy(skel);
	fn(ctx, &report);
	return 0;
}

const struct probe_ops template_probe = {
	.name = "template", .summary = "signals: who sends which to whom",
	.decoder = &template_decoder, .state_size = sizeof(struct template_state),
	.check = template_check, .open = template_open, .attach = template_attach, .detach = template_detach,
	.close = template_close,
};
