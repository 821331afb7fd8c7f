// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * System calls, seen where every call enters and leaves the kernel: two programs for all of them.
 *
 * What a call costs that nobody asked for is one look into a table. One that was asked for and is no more than
 * numbers goes the short way; whatever has conditions to check or memory to read goes through functions of their
 * own, so that their needs do not burden the short way.
 *
 * Nothing here sleeps, and preemption is off in both programs: what they share per CPU is theirs alone.
 */
#include "bpf/kernel.h"
#include "probes/sys/bpf/sys_call.bpf.h"
#include "probes/sys/bpf/sys_entry_args.bpf.h"
#include "probes/sys/bpf/sys_pred.bpf.h"
#include "probes/sys/bpf/sys_select.bpf.h"
#include "probes/sys/bpf/sys_send.bpf.h"
#include "probes/sys/bpf/sys_stats.bpf.h"
#include "probes/sys/syscalls_bpf.h"

#include <bpf/bpf_tracing.h>

const volatile struct sys_plan sys_plans[SYS_PLAN_ABIS * SYS_NR_MAX] = { SYS_PLANS };
const volatile struct sys_plan sys_form_plans[SYS_FORMS_MAX] = { SYS_FORMS };
_Static_assert(SYS_N_FORMS <= SYS_FORMS_MAX, "forms.tsv fits");

static __always_inline __u32 args_of(__u32 todo)
{
	return todo >> SYS_DO_ARGS_SHIFT;
}

/* Calls that never return are seen here, whatever was asked for. */
static __noinline int enter_tell(struct pt_regs *regs, long nr, __u64 now_ns)
{
	struct call c = { .regs = regs, .task = this_task(), .now_ns = now_ns };
	struct sonde_ledger *l;
	__u32 todo;

	caller_is(&c, c.task, true);
	todo = do_call(&c, nr);
	c.n_args = args_of(todo);
	if (!(todo & (SYS_DO_ENTER | SYS_DO_KEEP)))
		return 0;
	if (todo & SYS_DO_ENTER ? leaves_out(c.tgid, SYS_LEDGER_CALL) : is_excluded(c.tgid))
		return 0;
	/* a new program may be selected where the old one is not */
	if (todo & SYS_DO_KEEP && (plan_of(&c)->flags & SYS_PLAN_EXEC || select_caller(c.tgid)))
		keep_args(&c);
	if (!(todo & SYS_DO_ENTER))
		return 0;
	l = ledger_seen(todo & SYS_DO_LIFE ? SYS_LEDGER_LIFE : SYS_LEDGER_CALL);
	if (!l)
		return 0;
	if (!select_caller(c.tgid) || (!(todo & SYS_DO_STATE) && !pred_call(&c))) {
		rec_filtered(l);
		return 0;
	}
	if (c.slot != SLOT_NONE) {
		__u32 steps = steps_of(&c);

		if (todo & SYS_DO_LIFE || has_chunks(plan_at(steps), &c, SYS_WHEN_IN))
			return send_scratch(&c, l, SYS_REC_ENTER, SYS_WHEN_IN, steps);
	}
	return send_numbers(&c, l, SYS_REC_ENTER);
}

/*
 * User space has closed us: for a moment (sys_budget.h), or until it is asked to go on. Not for what tables of
 * processes depend on.
 */
__u32 sys_closed = 0;

static __always_inline bool is_closed(__u32 todo)
{
	return sys_closed && !(todo & (SYS_DO_LIFE | SYS_DO_STATE));
}

/* Counts what is left out. The time of its entry is forgotten: it would be taken for that of the next call. */
static __noinline int sample_out(struct pt_regs *regs)
{
	__u64 stack = stack_of(regs);
	struct sonde_ledger *l;

	time_exit(slot_of(stack), stack, 0);
	if (leaves_out(bpf_get_current_pid_tgid() >> 32, SYS_LEDGER_CALL))
		return 0;
	l = ledger_seen(SYS_LEDGER_CALL);
	if (l)
		rec_sampled(l);
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(sys_enter, struct pt_regs *regs, long nr)
{
	__u32 todo = do_any(nr, false, 0);
	__u64 now_ns;

	if (!(todo & (SYS_DO_TIME | SYS_DO_ENTER | SYS_DO_KEEP)))
		return 0;
	if (is_closed(todo))
		return todo & SYS_DO_ENTER ? sample_out(regs) : 0;
	if (sys_sampling) {
		draw_enter(regs, nr);
		return 0;
	}
	now_ns = bpf_ktime_get_ns();
	if (todo & SYS_DO_TIME)
		time_enter(regs, now_ns);
	if (todo & (SYS_DO_ENTER | SYS_DO_KEEP))
		enter_tell(regs, nr, now_ns + sys_boot_offset_ns);
	return 0;
}

/* What a task was told when it was made is its own, too. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(sys_fork, struct task_struct *parent, struct task_struct *child)
{
	keep_for_child(TASK_GET(parent, pid), TASK_GET(child, pid));
	return 0;
}

/* Everything that was asked about a call beside its number. */
static __always_inline bool conditions(const struct call *c, __u32 todo)
{
	if (!select_result(c->ret) || c->latency_ns < sys_min_latency_ns || !select_caller(c->tgid))
		return false;
	return todo & SYS_DO_STATE || (pred_result(c) && pred_call(c));
}

/* The long way. */
static __noinline int exit_steps(struct call *c, __u32 todo)
{
	struct sonde_ledger *l = ledger_seen(todo & SYS_DO_LIFE ? SYS_LEDGER_LIFE : SYS_LEDGER_CALL);

	if (!l)
		return 0;
	c->task = this_task();
	if (todo & SYS_DO_LIFE && is_newborn(c)) /* on a stack that others used before it */
		c->latency_ns = 0;
	if (sys_pred.by_name)
		note_opened(c);
	if (conditions(c, todo))
		return send_exit(c, l, todo);
	rec_filtered(l);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(sys_exit, struct pt_regs *regs, long ret)
{
	long nr = regs_nr(regs);
	__u64 stack = stack_of(regs);
	__u32 todo = do_any(nr, true, ret);
	struct sonde_ledger *l;
	struct sys_slot *s;
	struct call c;

	if (!(todo & SYS_DO_EXIT))
		return 0;
	if (is_closed(todo))
		return sample_out(regs);
	s = slot_of(stack);
	c.regs = regs;
	c.ret = ret;
	c.now_ns = bpf_ktime_get_ns();
	c.latency_ns = todo & SYS_DO_TIME ? time_exit(s, stack, c.now_ns) : 0;
	c.now_ns += sys_boot_offset_ns;
	find_caller(&c, s, stack, true);
	nr = nr_left(&c, nr);
	todo = do_call(&c, nr);
	if (!(todo & SYS_DO_EXIT) || leaves_out(c.tgid, SYS_LEDGER_CALL))
		return 0;
	if (is_closed(todo)) /* another ABI's call of this number always passes */
		return sample_out(regs);
	c.n_args = args_of(todo);
	if (todo & SYS_DO_STEPS)
		return exit_steps(&c, todo);
	l = ledger_seen(SYS_LEDGER_CALL);
	return l ? send_small(&c, l, SYS_REC_EXIT, c.n_args) : 0;
}

static __noinline bool sum_wanted(struct call *c, __u32 todo)
{
	c->task = this_task();
	caller_more(c, c->task);
	return conditions(c, todo);
}

/* Instead of the one above: counts, tells nothing. */
SEC("tp_btf/sys_exit")
int BPF_PROG(sys_exit_sum, struct pt_regs *regs, long ret)
{
	long nr = regs_nr(regs);
	__u64 stack = stack_of(regs);
	__u32 todo = do_any(nr, true, ret);
	enum took how = TOOK_UNKNOWN;
	struct sys_slot *s;
	struct call c;

	if (!(todo & SYS_DO_EXIT))
		return 0;
	s = slot_of(stack);
	c.regs = regs;
	c.ret = ret;
	c.latency_ns = 0;
	if (sys_closed) {
		take_enter(s, stack);
		return 0;
	}
	if (todo & SYS_DO_TIME)
		how = sys_sampling ? draw_exit(s, stack, &c.latency_ns) : time_exit_all(s, stack, &c.latency_ns);
	find_caller(&c, s, stack, false);
	nr = nr_left(&c, nr);
	todo = do_call(&c, nr);
	if (!(todo & SYS_DO_EXIT) || is_excluded(c.tgid))
		return 0;
	if (todo & SYS_DO_LIFE && is_newborn(&c)) /* counted in the caller */
		return 0;
	if (todo & SYS_DO_STEPS && !sum_wanted(&c, todo))
		return 0;
	sum_call(c.slot, nr, c.tgid, is_error(ret), how, c.latency_ns);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
