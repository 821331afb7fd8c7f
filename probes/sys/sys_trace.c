// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/sys/sys_trace.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/macros.h"
#include "probe/env.h"
#include "probe/hooks.h"
#include "probes/sys/sys_conf.h"
#include "probes/sys/pushdown/sys_suppress.h"

#include "sys_trace.skel.h"

#define HOOK(label, program, point, n, text) \
	{ .name = (label), .prog = (program), .attach = HOOK_ATTACH_TRACE, .tracepoint = (point), .n_args = (n), \
	  .fallback = (text) }

/* The io_uring tracepoints have these arguments since 5.19; older kernels use the same names with others. */
#define HOOK_URING(label, program, point, n, text) \
	{ .name = (label), .prog = (program), .attach = HOOK_ATTACH_TRACE, .tracepoint = (point), .n_args = (n), \
	  .needs = "struct io_cqe", .fallback = (text) }

/* Alternatives share a name, best first. */
static const struct { unsigned event; struct hook hook; } rows[] = {
	{ SYS_EVENT_SWITCH, HOOK("switches", "sys_switch", "sched_switch", 3, "no switch events") },
	{ SYS_EVENT_SIGNAL, HOOK("signals", "sys_signal", "signal_deliver", 3, "no signal events") },
	{ SYS_EVENT_FAULT, HOOK("faults", "sys_fault_user", "page_fault_user", 3, "no page faults of programs") },
	{ SYS_EVENT_FAULT, HOOK("faults of the kernel", "sys_fault_kernel", "page_fault_kernel", 3,
				"no page faults of the kernel") },
	{ SYS_EVENT_URING, HOOK_URING("io_uring submissions", "sys_uring_submit", "io_uring_submit_req", 1,
				      "no submissions") },
	{ SYS_EVENT_URING, HOOK_URING("io_uring submissions", "sys_uring_submit_sqe", "io_uring_submit_sqe", 2,
				      "no submissions") },
	{ SYS_EVENT_URING, HOOK_URING("io_uring completions", "sys_uring_complete_plain", "io_uring_complete", 7,
				      "no completions") },
	{ SYS_EVENT_URING, HOOK_URING("io_uring completions", "sys_uring_complete", "io_uring_complete", 3,
				      "no completions") },
	{ SYS_EVENT_EXIT, HOOK("ends of threads", "sys_procexit", "sched_process_exit", 1, "no procexit events") },
};

struct trace {
	struct hook rows[ARRAY_SIZE(rows)];	/* selected hooks */
	struct hooks *hooks;
};

static void configure(void *ctx, struct bpf_object *obj)
{
	const uint32_t page_kb = (uint32_t)sysconf(_SC_PAGESIZE) / 1024;

	sys_suppress_configure(ctx, obj);
	probe_rodata_set(obj, "sys_page_kb", &page_kb, sizeof(page_kb));
}

void sys_trace_free(struct trace *t)
{
	if (!t)
		return;
	hooks_free(t->hooks);
	free(t);
}

int sys_trace_new(struct probe *p, unsigned events, struct trace **ret, struct err *err)
{
	struct trace *t = calloc(1, sizeof(*t));
	struct hooks_spec spec = { .configure = configure };
	int r;

	if (!t)
		return err_errno(err, -ENOMEM, "cannot load programs");
	spec.ctx = (void *)p->conf;
	spec.elf = sys_trace_bpf__elf_bytes(&spec.elf_len);
	spec.rows = t->rows;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (events & rows[i].event)
			t->rows[spec.n_rows++] = rows[i].hook;
	r = hooks_load(p->env, &spec, p->instance, &t->hooks, err);
	if (r >= 0)
		r = sys_suppress_fill(p->conf, hooks_object(t->hooks));
	if (r < 0) {
		sys_trace_free(t);
		return r;
	}
	*ret = t;
	return 0;
}

uint64_t sys_trace_suppressed(const struct trace *t, unsigned n_cpus)
{
	return t ? sys_suppress_count(hooks_object(t->hooks), n_cpus) : 0;
}

int sys_trace_attach(struct trace *t)
{
	return t ? hooks_attach(t->hooks, -1) : 0;
}

void sys_trace_detach(struct trace *t)
{
	if (t)
		hooks_detach(t->hooks);
}

void sys_trace_report(const struct trace *t, bool failed_only, hook_report_fn fn, void *ctx)
{
	if (t)
		hooks_report(t->hooks, failed_only, fn, ctx);
}
