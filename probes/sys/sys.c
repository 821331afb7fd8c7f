// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Live half of the sys probe: turns the configuration into read-only data of the BPF programs, loads and attaches
 * them.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/types.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "event/decode.h"
#include "loop/loop.h"
#include "probe/budget/budget.h"
#include "probe/env.h"
#include "probe/hooks.h"
#include "probe/probe.h"
#include "probes/sys/sys_conf.h"
#include "probes/sys/snapshot/sys_cputime.h"
#include "probes/sys/snapshot/sys_resync.h"
#include "probes/sys/stats/sys_gate.h"
#include "probes/sys/stats/sys_lost.h"
#include "probes/sys/sys_plan_wire.h"
#include "probes/sys/pushdown/sys_pushdown.h"
#include "probes/sys/stats/sys_stats.h"
#include "probes/sys/pushdown/sys_suppress.h"
#include "probes/sys/sys_table.h"
#include "probes/sys/sys_trace.h"
#include "probes/sys/sys_wire.h"
#include "sonde/ident_file_wire.h"
#include "sonde/sampling_wire.h"

#include "sys.skel.h"
#include "sys_stats.skel.h"

#define PLAN_ABIS_MOST 2

extern const struct decoder_ops sys_decoder;

struct sys_state {
	struct hooks *hooks;
	struct trace *trace;	/* NULL = no events beside system calls */
	struct resync *heal;	/* NULL = no output needs the state tables */
	struct cputime *cputime;	/* NULL = no output shows CPU times */
	struct losses *losses;
	struct sys_stats_reports *reports;	/* NULL = no summary at intervals */
	struct sys_gate *gate;			/* NULL = open so far */
	struct budget *budget;			/* NULL = no limit of its own */
	uint8_t want[PLAN_ABIS_MOST * SYS_NR_MAX];
	unsigned n_abis;
	unsigned n_cpus;
	struct loop_source *timer;	/* of a summary's reports; NULL = at the end only */
};

#if defined(__x86_64__)
static const unsigned abis[] = { SYS_ABI_X86_64, SYS_ABI_I386 };
#else
static const unsigned abis[] = { SYS_ABI_ARM64 };
#endif

#define ROW_EXIT(prog_) \
	{ "exit", prog_, HOOK_ATTACH_TRACE, .tracepoint = "sys_exit", .n_args = 2, \
	  .fallback = "no system calls" }
#define ROW_ENTER(prog_) \
	{ "enter", prog_, HOOK_ATTACH_TRACE, .tracepoint = "sys_enter", .n_args = 2, \
	  .fallback = "no latencies, and exit() is not reported" }
#define ROW_FORK \
	{ "fork", "sys_fork", HOOK_ATTACH_TRACE, .tracepoint = "sched_process_fork", .n_args = 2, \
	  .fallback = "clone3 in a new thread has no flags" }

/* All hooks but the first are optional. */
static const struct hook record_hooks[] = { ROW_EXIT("sys_exit"), ROW_ENTER("sys_enter"), ROW_FORK };
static const struct hook sum_hooks[] = { ROW_EXIT("sys_exit_sum"), ROW_ENTER("sys_enter_sum") };

struct setup {
	const struct probe *p;
	struct sys_state *s;
};

/* Is there a condition beside the number of the call? */
static bool has_conditions(const struct probe *p)
{
	const struct probe_select *sel = probe_env_select(p->env, p->instance);
	const struct sys_conf *c = p->conf;

	return c->result || c->min_latency_ns || (c->push && c->push->pred.on) || sel->n_pids || sel->n_comms ||
	       sel->n_cgroups || sel->n_netns || sel->n_tree;
}

/* Does the call need the long path? */
static bool has_steps(const struct sys_conf *c, const struct sys_plan *plan)
{
	if (plan->flags & (SYS_PLAN_LIFE | SYS_PLAN_EXEC))
		return true;
	if (c->context && plan->n_ops > plan->n_mem)
		return true;
	if (plan->flags & SYS_PLAN_FORMS)
		return true;
	if (plan->n_mem == 1 && plan->ops[0].op == SYS_OP_DATA)
		return c->snaplen > 0;
	return plan->n_mem > 0;
}

/* Does the call have arguments to read at entry? */
static bool keeps(const struct sys_plan *plan)
{
	return FIND_ITEM(it, plan->ops, plan->n_mem, it->when & SYS_WHEN_KEEP);
}

/* Does a selected call pass the filter, or pass regardless for the state tables? @call may be NULL. */
static bool passes(const struct sys_conf *c, unsigned abi, unsigned nr, const struct sys_call *call, bool *ret_state)
{
	*ret_state = c->push && c->keep_state && call && sys_pushdown_keeps_state(call);
	if (*ret_state || !c->push || !c->push->has_calls)
		return true;
	return abi < ARRAY_SIZE(c->push->calls) && nr < SYS_NUMBERS ? c->push->calls[abi][nr] : !c->summary;
}

/* The descriptor that the call is about, and bytes that it moves there. */
static unsigned fd_of_call(const struct sys_call *call)
{
	static const char *const takes[] = {
		"read", "pread64", "readv", "preadv", "preadv2", "recvfrom", "recvmsg",
	};
	static const char *const gives[] = {
		"write", "pwrite64", "writev", "pwritev", "pwritev2", "sendto", "sendmsg", "sendfile", "sendfile64",
	};
	const unsigned fd = sys_table_fd(call);
	unsigned todo = 0;

	for (size_t i = 0; i < ARRAY_SIZE(takes); i++)
		todo |= !strcmp(call->name, takes[i]) ? SYS_DO_RECEIVES : 0;
	for (size_t i = 0; i < ARRAY_SIZE(gives); i++)
		todo |= !strcmp(call->name, gives[i]) ? SYS_DO_SENDS : 0;
	if (!strcmp(call->name, "close"))
		todo |= SYS_DO_CLOSE;
	if (fd == SYS_N_RET)
		return todo | SYS_DO_FD_RET << SYS_DO_FD_SHIFT;
	return fd < SYS_ARGS ? todo | (fd + 1) << SYS_DO_FD_SHIFT : todo;
}

/* Does the call return a number of bytes? For a summary. */
static unsigned moves_of_call(const struct sys_call *call)
{
	if (call->ret != SYS_ARG_SIZE)
		return 0;
	if (call->class == SYS_CLASS_IO_READ)
		return SYS_DO_RECEIVES;
	return call->class == SYS_CLASS_IO_WRITE ? SYS_DO_SENDS : 0;
}

/* SYS_DO_* of a selected call. */
static uint16_t what_to_do(const struct probe *p, unsigned abi, unsigned nr, const struct sys_plan *plan)
{
	const struct sys_conf *c = p->conf;
	bool known = plan->flags & SYS_PLAN_KNOWN, returns = !(plan->flags & SYS_PLAN_NO_RETURN), state;
	unsigned n_args = known ? plan->n_args : 6;
	unsigned todo = n_args << SYS_DO_ARGS_SHIFT;

	if (!passes(c, abi, nr, sys_table_call_find(abi, nr), &state))
		return 0;
	todo |= state ? SYS_DO_STATE : 0;
	if (returns)
		todo |= SYS_DO_EXIT | (c->no_times ? 0 : SYS_DO_TIME);
	if (!c->summary && (c->enter || !returns) && (state || !c->push || !c->push->no_enter))
		todo |= SYS_DO_ENTER;
	if (has_conditions(p) || (!c->summary && has_steps(c, plan)))
		todo |= SYS_DO_STEPS;
	if (plan->flags & SYS_PLAN_LIFE)
		todo |= SYS_DO_LIFE;
	if (!c->summary && keeps(plan))
		todo |= SYS_DO_KEEP;
	if (sys_table_call_find(abi, nr))
		todo |= c->summary ? moves_of_call(sys_table_call_find(abi, nr)) :
				     fd_of_call(sys_table_call_find(abi, nr));
	return (uint16_t)todo;
}

static void set_pred(const struct sys_pushdown *push, struct bpf_object *obj, const struct sys_state *s)
{
	uint16_t checks[PLAN_ABIS_MOST * SYS_NR_MAX] = { 0 };

	for (size_t i = 0; i < (size_t)s->n_abis * SYS_NR_MAX; i++)
		checks[i] = push->checks[abis[i / SYS_NR_MAX]][i % SYS_NR_MAX];
	probe_rodata_set(obj, "sys_pred", &push->pred, sizeof(push->pred));
	probe_rodata_set(obj, "sys_checks", checks, s->n_abis * SYS_NR_MAX * sizeof(*checks));
	if (push->pred.by_name)
		bpf_map__set_max_entries(bpf_object__find_map_by_name(obj, "sys_other_files"), SYS_FILES_MOST);
}

/* rt_sigreturn() exits without a number. */
static bool is_sigreturn(unsigned abi, unsigned nr)
{
	const struct sys_call *call = sys_table_call_find(abi, nr);

	return call && !strcmp(call->name, "rt_sigreturn");
}

static void set_calls(const struct probe *p, struct bpf_object *obj, const struct sys_state *s)
{
	const size_t n = (size_t)s->n_abis * SYS_NR_MAX;
	const struct sys_plan *plans = probe_rodata(obj, "sys_plans", n * sizeof(*plans)), unknown = { 0 };
	uint16_t todo[PLAN_ABIS_MOST * SYS_NR_MAX] = { 0 }, any[SYS_NR_MAX] = { 0 }, other = 0, back = 0;
	const struct sys_conf *c = p->conf;

	for (size_t i = 0; plans && i < n; i++) {
		todo[i] = s->want[i] ? what_to_do(p, abis[i / SYS_NR_MAX], i % SYS_NR_MAX, &plans[i]) : 0;
		any[i % SYS_NR_MAX] |= todo[i];
		if (is_sigreturn(abis[i / SYS_NR_MAX], i % SYS_NR_MAX))
			back |= todo[i];
	}
	if (!c->calls.len)
		other = what_to_do(p, SYS_ABI__MAX, SYS_NR_MAX, &unknown);
	if (c->push)
		set_pred(c->push, obj, s);
	probe_rodata_set(obj, "sys_do", todo, n * sizeof(*todo));
	probe_rodata_set(obj, "sys_do_any", any, sizeof(any));
	probe_rodata_set(obj, "sys_do_unknown", &other, sizeof(other));
	probe_rodata_set(obj, "sys_do_back", &back, sizeof(back));
}

/* The programs read CLOCK_MONOTONIC, which stops during suspend. */
static void set_clock(struct sys_state *s)
{
	uint64_t *offset_ns = probe_rodata_var(hooks_object(s->hooks), "sys_boot_offset_ns", sizeof(*offset_ns));

	if (offset_ns)
		*offset_ns = clock_slept_ns();
}

/* Latency conditions need exact times, and so do tables by process, which may have few calls each. */
static bool samples_times(const struct sys_conf *c)
{
	bool by_time = c->min_latency_ns || (c->push && c->push->pred.on & SYS_PRED_LATENCY);

	return c->summary && !c->by && c->times == SYS_TIMES_SAMPLED && !by_time;
}

static void set_times(const struct sys_conf *c, struct bpf_object *obj)
{
	const uint64_t tick_ns = clock_tick_ns();
	const bool sample = samples_times(c) && tick_ns;

	probe_rodata_set(obj, "sys_sampling", &sample, sizeof(sample));
	probe_rodata_set(obj, "sys_tick_ns", &tick_ns, sizeof(tick_ns));
}

static void configure(void *ctx, struct bpf_object *obj)
{
	const struct setup *setup = ctx;
	const struct sys_conf *c = setup->p->conf;
	const uint32_t snaplen = (uint32_t)MIN(c->snaplen, (uint64_t)SYS_SNAPLEN_MAX);
	const bool payload = snaplen > 0, context = c->context;
	const uint32_t page_kb = (uint32_t)sysconf(_SC_PAGESIZE) / 1024;
	const uint8_t result = (uint8_t)c->result, by = c->summary ? (uint8_t)c->by : SYS_BY_ALL;
	struct bpf_map *scratch = bpf_object__find_map_by_name(obj, "sys_scratch");

	sys_suppress_configure(c, obj);
	bpf_map__set_max_entries(scratch, setup->s->n_cpus);
	set_calls(setup->p, obj, setup->s);
	if (c->summary)
		bpf_map__set_max_entries(bpf_object__find_map_by_name(obj, "sys_stats_rows"),
					 setup->s->n_abis * SYS_NR_MAX);
	if (by)
		bpf_map__set_max_entries(bpf_object__find_map_by_name(obj, "sys_stats_rows_by"), SYS_BY_MOST);
	probe_rodata_set(obj, "sys_by", &by, sizeof(by));
	set_times(c, obj);
	probe_rodata_set(obj, "sys_snaplen", &snaplen, sizeof(snaplen));
	probe_rodata_set(obj, "sys_payload", &payload, sizeof(payload));
	probe_rodata_set(obj, "sys_result", &result, sizeof(result));
	probe_rodata_set(obj, "sys_context", &context, sizeof(context));
	probe_rodata_set(obj, "sys_page_kb", &page_kb, sizeof(page_kb));
	probe_rodata_set(obj, "sys_min_latency_ns", &c->min_latency_ns, sizeof(c->min_latency_ns));
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
	spec.rows = c->summary ? sum_hooks : record_hooks;
	spec.n_rows = c->summary ? ARRAY_SIZE(sum_hooks) : ARRAY_SIZE(record_hooks);
	if (c->no_times && !c->enter)
		spec.n_rows = 1;
	spec.elf = c->summary ? sys_stats_bpf__elf_bytes(&spec.elf_len) : sys_bpf__elf_bytes(&spec.elf_len);
	return hooks_load(p->env, &spec, p->instance, &s->hooks, err);
}

_Static_assert(sizeof(struct sys_sampling_rec) == sizeof(struct sonde_sampling_rec) &&
		       offsetof(struct sys_sampling_rec, one_in) == offsetof(struct sonde_sampling_rec, one_in) &&
		       offsetof(struct sys_sampling_rec, budget_permille) ==
			       offsetof(struct sonde_sampling_rec, budget_permille),
	       "budget_opts.record");

/* Monitors the probe itself: losses by call, and CPU time. */
static int open_watch(struct probe *p, unsigned permille, struct err *err)
{
	struct sys_state *s = p->state;
	const struct budget_opts o = {
		.env = p->env,
		.loop = p->loop,
		.permille = permille,
		.record = SYS_REC_SAMPLING,
	};

	s->losses = sys_lost_new(abis, s->n_abis, s->n_cpus);
	if (!s->losses)
		return err_errno(err, -ENOMEM, "cannot count losses");
	if (permille && !p->loop)
		return err_set(err, -ENOTSUP, "--max-cpu is not available in an agent");
	return permille ? budget_new(&o, &s->budget, err) : 0;
}

static int open_reports(struct probe *p, struct err *err)
{
	const struct sys_conf *c = p->conf;
	struct sys_state *s = p->state;

	s->reports = sys_stats_new(p, hooks_object(s->hooks), abis, s->n_abis, c->interval_ns);
	return s->reports ? 0 : err_errno(err, -ENOMEM, "cannot report sums at intervals");
}

static int sys_open(struct probe *p, struct err *err)
{
	const struct sys_conf *c = p->conf;
	struct sys_state *s = p->state;
	unsigned events = 0, permille = 0;
	int r = sys_conf_events(c, &events, err);

	if (r >= 0)
		r = sys_conf_max_cpu(c, &permille, err);
	if (r >= 0 && c->by && !c->summary)
		r = err_set(err, -EINVAL, "--by requires a summary (-c)");
	if (r >= 0)
		r = load(p, s, err);
	if (r >= 0 && c->summary && c->interval_ns && c->by == SYS_SUMMARY_PROCESS)
		r = open_reports(p, err);
	if (r >= 0)
		r = open_watch(p, permille, err);
	if (r >= 0)
		r = sys_suppress_fill(c, hooks_object(s->hooks));
	if (r >= 0 && events)
		r = sys_trace_new(p, events, &s->trace, err);
	if (r >= 0 && c->scan) {
		s->heal = sys_resync_new(p, err);
		r = s->heal ? 0 : -ENOENT;
	}
	if (r >= 0 && (c->cpu_times_shown || (c->cpu_times && !has_conditions(p))))
		s->cputime = sys_cputime_new(p);
	return r;
}

static int sys_snapshot(struct probe *p, struct err *err)
{
	struct sys_state *s = p->state;

	int r = s->heal ? sys_resync_start(s->heal, err) : 0;

	return r >= 0 && s->cputime ? sys_cputime_tick(s->cputime) : r;
}

static int sys_control(struct probe *p, const struct sonde_rec *r)
{
	struct sys_state *s = p->state;

	if (s->heal)
		sys_resync_record(s->heal, r);
	return 0;
}

static int report_summary(struct probe *p)
{
	struct sys_state *s = p->state;
	const struct sys_conf *c = p->conf;

	return sys_stats_report(p, hooks_object(s->hooks), abis, s->n_abis, c->by, samples_times(c));
}

/* Without memory the next report has the sums. */
static int on_summary(void *ctx, _unused_ uint64_t now_ns)
{
	report_summary(ctx);
	return 0;
}

static int start_reports(struct probe *p, struct err *err)
{
	const struct sys_conf *c = p->conf;
	struct sys_state *s = p->state;
	const uint64_t interval = c->summary && !s->reports ? c->interval_ns : 0;
	int r = interval && p->loop ? loop_add_timer(p->loop, interval, interval, on_summary, p, &s->timer) : 0;

	if (s->timer)
		loop_name(s->timer, "summary");
	return r < 0 ? err_errno(err, r, "cannot report a summary at intervals") : 0;
}

static int sys_attach(struct probe *p, struct err *err)
{
	struct sys_state *s = p->state;
	int n;

	set_clock(s);
	n = hooks_attach(s->hooks, -1);
	sys_trace_attach(s->trace);
	hooks_report(s->hooks, true, hooks_report_failed, p);
	sys_trace_report(s->trace, true, hooks_report_failed, p);
	if (n > 0 && s->reports && sys_stats_start(s->reports) < 0)
		return err_set(err, -ENOMEM, "cannot report sums at intervals");
	if (n > 0 && s->budget && budget_start(s->budget, p, 1) < 0)
		return err_set(err, -ENOMEM, "cannot limit the CPU time");
	return n > 0 ? start_reports(p, err) : err_set(err, -ENOTSUP, "no hook could be attached");
}

static int sys_tick(struct probe *p, _unused_ uint64_t now_ns)
{
	struct sys_state *s = p->state;
	int n;

	set_clock(s);
	if (s->cputime && (n = sys_cputime_tick(s->cputime)) < 0)
		return n;
	return sys_lost_report(s->losses, p, hooks_object(s->hooks));
}

/* A summary counts every call. */
static int sys_sample(struct probe *p, uint32_t one_in, char *ret_what, size_t size)
{
	const struct sys_conf *c = p->conf;
	struct sys_state *s = p->state;

	if (c->summary || !p->loop)
		return -ENOTSUP;
	if (!s->gate)
		s->gate = sys_gate_new(hooks_object(s->hooks), p->loop);
	if (!s->gate)
		return -ENOTSUP;
	if (one_in > 1)
		snprintf(ret_what, size, "recording calls in 1/%u of the time", one_in);
	else
		snprintf(ret_what, size, "recording all calls again");
	return sys_gate_set(s->gate, one_in);
}

static void fill_stats(const struct probe *p, struct sys_stats *ret)
{
	struct sys_state *s = p->state;
	struct resync_stats heal = { 0 };

	if (s->heal)
		sys_resync_stats(s->heal, &heal);
	ret->suppressed =
		sys_suppress_count(hooks_object(s->hooks), s->n_cpus) + sys_trace_suppressed(s->trace, s->n_cpus);
	ret->suppressed_tids = sys_suppress_threads(p->conf, p);
	ret->healed = heal.healed;
	ret->postponed = heal.postponed;
	ret->rows = heal.rows;
	ret->n_lost = sys_lost_most(s->losses, ret->lost, ARRAY_SIZE(ret->lost));
}

/* "interval NS" of sums. */
static int set_interval(const struct sys_state *s, const struct opt_strv *args, struct err *err)
{
	uint64_t ns = 0;

	if (!s->reports || args->len != 1 || str_to_u64(args->items[0], 10, &ns) < 0 || !ns)
		return err_set(err, -EINVAL, "the sys probe has no sums at intervals, or that is not a number");
	return sys_stats_set_interval(s->reports, ns);
}

/* "pause" and "go on". Calls that change processes and descriptors are recorded nevertheless. */
static int set_pause(struct probe *p, const char *verb, struct err *err)
{
	const struct sys_state *s = p->state;
	uint32_t *closed = probe_rodata_var(hooks_object(s->hooks), "sys_closed", sizeof(*closed));

	if (!closed || (strcmp(verb, "pause") != 0 && strcmp(verb, "go on") != 0))
		return err_set(err, -ENOTSUP, "the sys probe does not support \"%s\"", verb);
	if (*verb == 'p')
		__atomic_or_fetch(closed, SYS_CLOSED_PAUSE, __ATOMIC_RELAXED);
	else
		__atomic_and_fetch(closed, ~SYS_CLOSED_PAUSE, __ATOMIC_RELAXED);
	return 0;
}

static int sys_call_verb(struct probe *p, const char *verb, const struct opt_strv *args, struct err *err)
{
	return strcmp(verb, "interval") ? set_pause(p, verb, err) : set_interval(p->state, args, err);
}

static void sys_status(const struct probe *p, struct buf *out)
{
	const struct sys_state *s = p->state;

	sys_lost_print(s->losses, out);
}

static void sys_detach(struct probe *p)
{
	struct sys_state *s = p->state;

	loop_remove(TAKE_PTR(s->timer));
	budget_stop(s->budget);
	sys_gate_free(TAKE_PTR(s->gate));
	hooks_detach(s->hooks);
	sys_trace_detach(s->trace);
}

/* The counters are read after the last program has run. */
static void sys_finish(struct probe *p)
{
	struct sys_state *s = p->state;
	const struct sys_conf *c = p->conf;

	if (s->losses && hooks_object(s->hooks))
		sys_lost_report(s->losses, p, hooks_object(s->hooks));
	if (s->cputime && hooks_object(s->hooks))
		sys_cputime_tick(s->cputime);
	if (c->stats && hooks_object(s->hooks))
		fill_stats(p, c->stats);
	if (s->reports)
		sys_stats_emit(s->reports);
	else if (c->summary && hooks_object(s->hooks))
		report_summary(p);
}

static void sys_close(struct probe *p)
{
	struct sys_state *s = p->state;

	loop_remove(s->timer);
	budget_free(s->budget);
	sys_gate_free(s->gate);
	sys_lost_free(s->losses);
	sys_stats_free(s->reports);
	hooks_free(s->hooks);
	sys_trace_free(s->trace);
	sys_resync_free(s->heal);
	sys_cputime_free(s->cputime);
	*s = (struct sys_state){ 0 };
}

static int sys_check(struct probe_env *env, hook_report_fn fn, void *ctx)
{
	struct sys_state s = { 0 };
	struct probe p = { .env = env, .conf = &sys_conf_default, .state = &s };
	struct err err = { 0 };
	int r = load(&p, &s, &err);

	if (r < 0) {
		hooks_report_code(fn, ctx, "system calls", r, &err, "");
		return 0;
	}
	hooks_attach(s.hooks, -1);
	hooks_report(s.hooks, false, fn, ctx);
	hooks_free(s.hooks);
	if (sys_trace_new(&p, ~0u, &s.trace, &err) == 0) {
		sys_trace_attach(s.trace);
		sys_trace_report(s.trace, false, fn, ctx);
		sys_trace_free(s.trace);
	}
	return 0;
}

/* Options that commands set for an agent. */
static const struct opt sys_command_opts[] = {
	OPT_ROW(sys_conf, context, "context", 0, OPT_BOOL, NULL, "also kernel state of sockets and files"),
	OPT_ROW(sys_conf, cpu_times, "cpu-times", 0, OPT_BOOL, NULL, "CPU times of all processes, each second"),
	OPT_ROW(sys_conf, cpu_times_shown, "cpu-times-shown", 0, OPT_BOOL, NULL, "the same whatever is selected"),
	OPT_ROW(sys_conf, events_too, "events-too", 0, OPT_U32, "MASK", "additional events",
		.use = OPT_USE_NONE),
	OPT_ROW(sys_conf, push_text, "push", 0, OPT_STR, "EXPR", "filter to evaluate in the kernel"),
	OPT_ROW(sys_conf, push_others, "push-others", 0, OPT_BOOL, NULL,
		"events other than system calls are selected too"),
	OPT_ROW(sys_conf, keep_state, "keep-state", 0, OPT_BOOL, NULL,
		"calls that change process or descriptor state pass the filter"),
	OPT_ROW(sys_conf, interval_ns, "summary-interval", 0, OPT_DURATION, "TIME",
		"report a summary at this interval, too", .use = OPT_USE_INTERVAL),
	OPT_ROW(sys_conf, scan, "scan", 0, OPT_BOOL, NULL, "report existing processes and descriptors"),
	OPT_END
};

const struct probe_ops sys_probe = {
	.name = "sys",
	.summary = "system calls with their arguments",
	.decoder = &sys_decoder,
	.opts = sys_opts,
	.command_opts = sys_command_opts,
	.conf_init = sys_conf_init,
	.conf_fini = sys_conf_fini,
	.conf_size = sizeof(struct sys_conf),
	.state_size = sizeof(struct sys_state),
	.check = sys_check,
	.open = sys_open,
	.attach = sys_attach,
	.snapshot = sys_snapshot,
	.control = sys_control,
	.tick = sys_tick,
	.sample = sys_sample,
	.call = sys_call_verb,
	.status = sys_status,
	.detach = sys_detach,
	.finish = sys_finish,
	.close = sys_close,
};
