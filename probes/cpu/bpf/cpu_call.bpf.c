// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * User stacks of system calls: one record for each call of the selected numbers, when it is entered; and one when a
 * new program begins, whose registers are not those of the entry.
 *
 * Preemption is disabled, and nothing else samples then: the scratch memory of samples is free.
 */
#include "bpf/preempt.bpf.h"
#include "probes/cpu/bpf/cpu_common.bpf.h"
#include "probes/cpu/bpf/cpu_user.bpf.h"

/* Filled before load (cpu.c). */
const volatile __u64 cpu_call_bits[CPU_CALLS / 64] = { 0 };	/* by number in the native ABI */
const volatile __u32 cpu_call_execs[2] = { 0 };	/* numbers of execve() and execveat() */

static __always_inline bool is_asked(__u64 nr)
{
	return nr < CPU_CALLS && cpu_call_bits[nr / 64 & (CPU_CALLS / 64 - 1)] >> (nr & 63) & 1;
}

static __always_inline bool is_exec(__u64 nr)
{
	return nr == cpu_call_execs[0] || nr == cpu_call_execs[1];
}

#if defined(__TARGET_ARCH_x86)
static __always_inline long number_of(const struct pt_regs *regs)
{
	return BPF_CORE_READ(regs, orig_ax);
}
#elif defined(__TARGET_ARCH_arm64)
static __always_inline long number_of(const struct pt_regs *regs)
{
	return BPF_CORE_READ(regs, syscallno);
}
#endif

/* A single frame needs no walk: it is the instruction pointer. */
static __always_inline void put_ip(struct cpu_sample_rec *r)
{
	struct cpu_scratch *d = get_scratch(CPU_CLASS_SAMPLE);

	if (!d || !regs_read(d))
		return;
	r->ips[0] = d->u.w.ip;
	r->n_user = 1;
	r->user_end = SONDE_STACK_DEPTH;
}

static __always_inline void put_stack(struct cpu_sample_rec *r)
{
	r->n_user = 0;
	r->user_end = SONDE_STACK_NONE;
	if (cpu_user_depth == 1)
		put_ip(r);
	else
		r->n_user = (__u16)unwind_user(CPU_CLASS_SAMPLE, 0, false, &r->user_end);
}

static __always_inline int take_call(void)
{
	struct cpu_sample_rec *r = record_of(CPU_CLASS_SAMPLE);
	const __u64 id = bpf_get_current_pid_tgid();
	struct cpu_who who = { 0 };
	struct sonde_ledger *l;
	__u64 at_ns;

	if (!r || !select_current(id))
		return 0;
	l = ledger_seen(CPU_CLASS_SAMPLE);
	if (!l)
		return 0;
	who_is_it(&who);
	rec_init_keys(&r->hdr, l, CPU_REC_SAMPLE, sizeof(*r), CPU_CLASS_SAMPLE | SONDE_RF_IDENT, id >> 32, (__u32)id,
		      who.start_ns);
	ident_keys(&r->id, ident_image_number(id >> 32, who.start_ns, who.execs), who.cgroup_id, who.netns);
	ident_go(&r->id, id >> 32, who.start_ns, false);
	r->value = 1;
	r->wait_ns = 0;
	r->cgroup_id = who.cgroup_id;
	r->netns = who.netns;
	r->state = r->pad = 0;
	r->kern_err = 0;
	r->n_kern = 0;
	r->count = 1;
	r->mode = CPU_MODE_KERNEL | CPU_MODE_EVENTS | CPU_MODE_USER_ASKED;
	bpf_get_current_comm(r->comm, sizeof(r->comm));
	put_stack(r);
	if (!stack_copied(CPU_CLASS_SAMPLE, r->user_end, &at_ns) || !copy_record(l, CPU_CLASS_SAMPLE, at_ns))
		emit(l, CPU_CLASS_SAMPLE, r);
	return 0;
}

/* void (regs, number) */
SEC("tp_btf/sys_enter")
int BPF_PROG_NOPREEMPT(cpu_call_enter)
{
	return is_asked(ctx[1]) ? take_call() : 0;
}

/* void (regs, result) */
SEC("tp_btf/sys_exit")
int BPF_PROG_NOPREEMPT(cpu_call_exec)
{
	const __u64 nr = number_of((const struct pt_regs *)ctx[0]);

	return !ctx[1] && cpu_user_depth > 1 && is_exec(nr) && is_asked(nr) ? take_call() : 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
