// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Live half of the sys probe: turns what was asked for into read-only data of the programs, loads those that are
 * needed, attaches them.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/types.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/macros.h"
#include "event/decode.h"
#include "probe/env.h"
#include "probe/hooks.h"
#include "probe/probe.h"
#include "probes/sys/sys.h"
#include "probes/sys/sys_heal.h"
#include "probes/sys/sys_plan_wire.h"
#include "probes/sys/sys_sums.h"
#include "probes/sys/sys_table.h"
#include "probes/sys/sys_trace.h"
#include "probes/sys/sys_wire.h"

#include "sys.skel.h"

#define PLAN_ABIS_MOST 2

extern const struct decoder_ops sys_decoder;

struct sys_state {
	struct hooks *hooks;
	struct trace *trace;	/* events beside the calls; NULL = none */
	struct heal *heal;	/* NULL: nobody wants the state behind the events */
	uint8_t want[PLAN_ABIS_MOST * SYS_NR_MAX];
	unsigned n_abis;
	unsigned n_cpus;
};

#if defined(__x86_64__)
static const unsigned abis[] = { SYS_ABI_X86_64, SYS_ABI_I386 };
#else
static const unsigned abis[] = { SYS_ABI_ARM64 };
#endif

static const struct hook sys_hooks[] = {
	{ "exit", "sys_exit", HOOK_ATTACH_TRACE, .tracepoint = "sys_exit", .n_args = 2,
	  .fallback = "no system call can be seen" },
	{ "enter", "sys_enter", HOOK_ATTACH_TRACE, .tracepoint = "sys_enter", .n_args = 2,
	  .fallback = "calls have no latency, and exit is not seen" },
};

struct setup {
	const struct probe *p;
	struct sys_state *s;
};

static void configure(void *ctx, struct bpf_object *obj)
{
	const struct setup *setup = ctx;
	const struct sys_conf *c = setup->p->conf;
	const uint32_t snaplen = (uint32_t)MIN(c->snaplen, (uint64_t)SYS_SNAPLEN_MAX);
	const bool payload = snaplen > 0, timed = !c->no_times, enter = c->enter, context = c->context;
	const uint32_t page_kb = (uint32_t)sysconf(_SC_PAGESIZE) / 1024;
	const uint8_t result = (uint8_t)c->result, unknown = !c->calls.len ? SYS_WANT_EXIT : 0;
	const uint32_t self = (uint32_t)getpid();
	uint8_t any[SYS_NR_MAX] = { 0 };
	struct bpf_map *scratch = bpf_object__find_map_by_name(obj, "sys_scratch");

	bpf_map__set_max_entries(scratch, setup->s->n_cpus);
	for (unsigned i = 0; i < setup->s->n_abis * SYS_NR_MAX; i++)
		any[i % SYS_NR_MAX] |= setup->s->want[i];
	probe_set_rodata(obj, "sys_want_any", any, sizeof(any));
	probe_set_rodata(obj, "sys_self", &self, sizeof(self));
	if (c->summary)
		bpf_map__set_max_entries(bpf_object__find_map_by_name(obj, "sys_sums"),
					 setup->s->n_abis * SYS_NR_MAX);
	probe_set_rodata(obj, "sys_summary", &c->summary, sizeof(c->summary));
	probe_set_rodata(obj, "sys_want", setup->s->want, setup->s->n_abis * SYS_NR_MAX);
	probe_set_rodata(obj, "sys_want_unknown", &unknown, sizeof(unknown));
	probe_set_rodata(obj, "sys_snaplen", &snaplen, sizeof(snaplen));
	probe_set_rodata(obj, "sys_payload", &payload, sizeof(payload));
	probe_set_rodata(obj, "sys_result", &result, sizeof(result));
	probe_set_rodata(obj, "sys_timed", &timed, sizeof(timed));
	probe_set_rodata(obj, "sys_enter_records", &enter, sizeof(enter));
	probe_set_rodata(obj, "sys_context", &context, sizeof(context));
	probe_set_rodata(obj, "sys_page_kb", &page_kb, sizeof(page_kb));
	probe_set_rodata(obj, "sys_min_latency_ns", &c->min_latency_ns, sizeof(c->min_latency_ns));
}

static int load(const struct probe *p, struct sys_state *s, struct err *err)
{
	const struct sys_conf *c = p->conf;
	struct setup setup = { .p = p, .s = s };
	struct hooks_spec spec = { .configure = configure, .ctx = &setup };

	s->n_abis = ARRAY_SIZE(abis);
	s->n_cpus = probe_env_n_cpus(p->env);
	for (unsigned i = 0; i < s->n_abis; i++) {
		int r = sys_conf_want(c, abis[i], s->want + i * SYS_NR_MAX, err);

		if (r < 0)
			return r;
	}
	spec.rows = sys_hooks;
	spec.n_rows = c->no_times && !c->enter ? 1 : ARRAY_SIZE(sys_hooks);
	spec.elf = sys_bpf__elf_bytes(&spec.elf_len);
	return hooks_load(p->env, &spec, p->instance, &s->hooks, err);
}

static void report_failed(void *ctx, const struct hook_report *r)
{
	struct probe *p = ctx;
	struct err err = { 0 };

	err_set(&err, -ENOTSUP, "%s%s%s", r->why, *r->fallback ? "; " : "", r->fallback);
	probe_hook_failed(p->env, r->hook, &err);
}

static int sys_open(struct probe *p, struct err *err)
{
	const struct sys_conf *c = p->conf;
	struct sys_state *s = p->state;
	unsigned events = 0;
	int r = sys_conf_events(c, &events, err);

	if (r >= 0)
		r = load(p, s, err);
	if (r >= 0 && events)
		r = trace_new(p, events, &s->trace, err);
	if (r >= 0 && c->scan) {
		s->heal = heal_new(p, err);
		r = s->heal ? 0 : -ENOENT;
	}
	return r;
}

static int sys_snapshot(struct probe *p, struct err *err)
{
	struct sys_state *s = p->state;

	return s->heal ? heal_start(s->heal, err) : 0;
}

static int sys_control(struct probe *p, const struct sonde_rec *r)
{
	struct sys_state *s = p->state;

	if (s->heal)
		heal_record(s->heal, r);
	return 0;
}

static int sys_attach(struct probe *p, struct err *err)
{
	struct sys_state *s = p->state;
	int n = hooks_attach(s->hooks, -1);

	trace_attach(s->trace);
	hooks_report(s->hooks, true, report_failed, p);
	trace_report(s->trace, true, report_failed, p);
	return n > 0 ? 0 : err_set(err, -ENOTSUP, "no hook could be attached");
}

static void sys_detach(struct probe *p)
{
	struct sys_state *s = p->state;
	const struct sys_conf *c = p->conf;

	hooks_detach(s->hooks);
	trace_detach(s->trace);
	if (c->summary && hooks_object(s->hooks))
		sums_tell(p, hooks_object(s->hooks), abis, s->n_abis);
}

static void sys_close(struct probe *p)
{
	struct sys_state *s = p->state;

	hooks_free(s->hooks);
	trace_free(s->trace);
	heal_free(s->heal);
	*s = (struct sys_state){ 0 };
}

static int sys_check(struct probe_env *env, hook_report_fn fn, void *ctx)
{
	struct sys_state s = { 0 };
	struct probe p = { .env = env, .conf = &sys_conf_default, .state = &s };
	struct err err = { 0 };
	int r = load(&p, &s, &err);

	if (r < 0) {
		struct hook_report report = { .hook = "system calls", .state = HOOK_FAILED };

		snprintf(report.why, sizeof(report.why), "%.255s", err.msg);
		fn(ctx, &report);
		return 0;
	}
	hooks_attach(s.hooks, -1);
	hooks_report(s.hooks, false, fn, ctx);
	hooks_free(s.hooks);
	if (trace_new(&p, ~0u, &s.trace, &err) == 0) {
		trace_attach(s.trace);
		trace_report(s.trace, false, fn, ctx);
		trace_free(s.trace);
	}
	return 0;
}

const struct probe_ops sys_probe = {
	.name = "sys",
	.summary = "system calls with their arguments",
	.decoder = &sys_decoder,
	.opts = sys_opts,
	.conf_size = sizeof(struct sys_conf),
	.state_size = sizeof(struct sys_state),
	.check = sys_check,
	.open = sys_open,
	.attach = sys_attach,
	.snapshot = sys_snapshot,
	.control = sys_control,
	.detach = sys_detach,
	.close = sys_close,
};
