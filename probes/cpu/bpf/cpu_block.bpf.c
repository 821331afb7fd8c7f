// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Time off the CPUs. When a thread leaves its CPU its user stack is walked, the last moment at which its memory is
 * accessible, and kept in the thread's slot. When the thread is back the program adds the rest: the duration, the
 * runnable part of it and, since the thread has not run yet, its kernel stack.
 *
 * One CPU at a time writes a slot: the scheduler runs a thread again only after the switch away from it is over.
 * Only the wake-up time comes from another CPU.
 */
#include "probes/cpu/bpf/cpu_common.bpf.h"
#include "probes/cpu/bpf/cpu_user.bpf.h"

#define TASK_DEAD 0x80
#define NO_STACK 61	/* ENODATA */

const volatile __u64 cpu_min_block_ns = 0, cpu_max_block_ns = 0; /* 0 = no limit */
const volatile __u32 cpu_block_depth = 127;	/* user frames that a slot holds */
const volatile bool cpu_select_cpus = false;

SONDE_SET(cpu_cpus, __u32);

/* Preallocated: a program cannot allocate with the run queue locked. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set at run time, as the size of a slot */
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct cpu_slot) + 127 * sizeof(__u64));
} cpu_slots SEC(".maps");

/* Initial value of a slot, of the same size. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct cpu_slot) + 127 * sizeof(__u64));
} cpu_blank SEC(".maps");

/* ---- leaving ---- */

static __always_inline struct cpu_slot *slot_of(__u32 tid)
{
	struct cpu_slot *slot = bpf_map_lookup_elem(&cpu_slots, &tid);
	__u32 zero = 0;
	void *blank;

	if (slot)
		return slot;
	blank = bpf_map_lookup_elem(&cpu_blank, &zero);
	if (!blank || bpf_map_update_elem(&cpu_slots, &tid, blank, BPF_NOEXIST))
		return NULL;
	return bpf_map_lookup_elem(&cpu_slots, &tid);
}

static __always_inline void keep_user_stack(struct cpu_slot *slot, bool has_memory)
{
	struct cpu_sample_rec *r = record_of(CPU_CLASS_SWITCH);
	__u64 n, at_ns;

	slot->n_user = 0;
	slot->copied_ns = 0;
	slot->user_end = SONDE_STACK_NONE;
	if (!cpu_user_depth || !r)
		return;
	slot->mode |= CPU_MODE_USER_ASKED;
	if (!has_memory)
		return;
	n = unwind_user(CPU_CLASS_SWITCH, 0, false, &slot->user_end);
	if (n > cpu_block_depth) {
		n = cpu_block_depth;
		slot->user_end = SONDE_STACK_DEPTH;
	}
	barrier_var(n); /* what is checked is what is used, also to old verifiers */
	if (n > cpu_block_depth)
		return;
	bpf_probe_read_kernel(slot->ips, n * sizeof(__u64), r->ips);
	slot->n_user = (__u16)n;
	if (stack_copied(CPU_CLASS_SWITCH, slot->user_end, &at_ns))
		slot->copied_ns = at_ns;
}

static __always_inline void fill_slot(struct cpu_slot *slot, __u32 state, bool runnable)
{
	struct cpu_who who;

	who_is_it(&who);
	slot->woken_ns = 0;
	slot->start_ns = who.start_ns;
	slot->cgroup_id = who.cgroup_id;
	slot->tgid = bpf_get_current_pid_tgid() >> 32;
	slot->netns = who.netns;
	slot->state = state;
	slot->mode = CPU_MODE_KERNEL | (runnable ? CPU_MODE_PREEMPTED : 0);
	bpf_get_current_comm(slot->comm, sizeof(slot->comm));
	keep_user_stack(slot, who.has_memory);
}

/* ---- coming back ---- */

static __always_inline bool select_this_cpu(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return !cpu_select_cpus || bpf_map_lookup_elem(&cpu_cpus, &cpu);
}

static __always_inline bool select_time(__u64 ns)
{
	return ns >= cpu_min_block_ns && (!cpu_max_block_ns || ns <= cpu_max_block_ns);
}

/* Runnable time: since the wake-up, or all of it if the thread never slept. */
static __always_inline __u64 wait_of(const struct cpu_slot *slot, __u64 now_ns)
{
	if (slot->mode & CPU_MODE_PREEMPTED)
		return now_ns - slot->out_ns;
	return slot->woken_ns > slot->out_ns && slot->woken_ns < now_ns ? now_ns - slot->woken_ns : 0;
}

/* @next NULL: the kernel stack is unknown. */
static __always_inline void add_stacks(struct cpu_sample_rec *r, const struct cpu_slot *slot,
				       struct task_struct *next)
{
	__u64 n_user = slot->n_user, n_kern = 0;
	long n;

	r->n_user = 0;
	r->kern_err = 0;
	if (cpu_kern_depth) {
		r->mode |= CPU_MODE_KERN_ASKED;
		n = next ? bpf_get_task_stack(next, r->ips, cpu_kern_depth * sizeof(__u64), 0) : -NO_STACK;
		if (n < 0)
			r->kern_err = (__s32)n;
		else
			n_kern = (__u64)n / sizeof(__u64);
	}
	r->n_kern = (__u16)n_kern;
	barrier_var(n_kern);
	barrier_var(n_user);
	if (n_kern > CPU_KERN_MAX || n_user > CPU_USER_MAX)
		return;
	bpf_probe_read_kernel(r->ips + n_kern, n_user * sizeof(__u64), slot->ips);
	r->n_user = (__u16)n_user;
}

static __always_inline void report(struct sonde_ledger *l, const struct cpu_slot *slot, __u32 tid,
				   struct task_struct *next, __u64 now_ns)
{
	struct cpu_sample_rec *r = record_of(CPU_CLASS_SWITCH);

	if (!r)
		return;
	rec_init_keys(&r->hdr, l, CPU_REC_BLOCK, sizeof(*r), CPU_CLASS_SWITCH, slot->tgid, tid, slot->start_ns);
	r->value = now_ns - slot->out_ns;
	r->wait_ns = wait_of(slot, now_ns);
	r->cgroup_id = slot->cgroup_id;
	r->netns = slot->netns;
	r->state = slot->state;
	r->pad = 0;
	r->user_end = slot->user_end;
	r->mode = slot->mode;
	r->count = 1;
	__builtin_memcpy(r->comm, slot->comm, sizeof(r->comm));
	add_stacks(r, slot, next);
	if (!slot->copied_ns || !copy_record(l, CPU_CLASS_SWITCH, slot->copied_ns))
		emit(l, r);
}

static __always_inline void come_back(struct task_struct *next, __u64 now_ns)
{
	__u32 tid = next->pid;
	struct cpu_slot *slot = tid ? bpf_map_lookup_elem(&cpu_slots, &tid) : NULL;
	struct sonde_ledger *l;

	if (!slot || !slot->out_ns)
		return;
	l = ledger_seen(CPU_CLASS_SWITCH);
	if (l && select_time(now_ns - slot->out_ns) && select_this_cpu())
		report(l, slot, tid, next, now_ns);
	else if (l)
		rec_filtered(l);
	slot->out_ns = 0;
}

/*
 * The thread leaves although no switch back was seen: the kernel does not trace a few switches in ten thousand. It
 * ran from its wake-up, if that is known; its kernel stack of that time is lost.
 */
static __always_inline void come_back_late(struct cpu_slot *slot, __u32 tid, __u64 now_ns)
{
	struct sonde_ledger *l = ledger_seen(CPU_CLASS_SWITCH);
	__u64 back_ns = slot->woken_ns > slot->out_ns && slot->woken_ns < now_ns ? slot->woken_ns : now_ns;

	if (l && select_time(back_ns - slot->out_ns) && select_this_cpu())
		report(l, slot, tid, NULL, back_ns);
	else if (l)
		rec_filtered(l);
}

/* The current thread leaves; @preempt: involuntarily, whatever its state. */
static __always_inline void leave(bool preempt, __u32 state, __u64 now_ns)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	bool ends = state & TASK_DEAD;
	struct sonde_ledger *l;
	struct cpu_slot *slot;

	if (!tid)
		return; /* an idle thread that gives way is not a wait */
	if (!ends && !select_current(tid)) {
		l = ledger_seen(CPU_CLASS_SWITCH);
		if (l)
			rec_filtered(l);
		return;
	}
	slot = ends ? bpf_map_lookup_elem(&cpu_slots, &tid) : slot_of(tid);
	if (slot && slot->out_ns)
		come_back_late(slot, tid, now_ns);
	if (ends) {
		bpf_map_delete_elem(&cpu_slots, &tid);
		return;
	}
	if (!slot) {
		l = ledger_seen(CPU_CLASS_SWITCH);
		if (l)
			rec_lost(l, SONDE_LOST_MAP_FULL);
		return;
	}
	fill_slot(slot, state, preempt || !state);
	slot->out_ns = now_ns;
}

/* void (preempt, prev, next, prev_state) */
SEC("tp_btf/sched_switch")
int cpu_switch(__u64 *ctx)
{
	__u64 now_ns = bpf_ktime_get_ns();

	come_back((struct task_struct *)ctx[2], now_ns);
	leave((bool)ctx[0], (__u32)ctx[3], now_ns);
	return 0;
}

/* Before 5.18 the arguments lack the state: the thread has it, and may have been woken since. */
SEC("tp_btf/sched_switch")
int cpu_switch_args3(__u64 *ctx)
{
	__u64 now_ns = bpf_ktime_get_ns();

	come_back((struct task_struct *)ctx[2], now_ns);
	leave((bool)ctx[0], task_state((struct task_struct *)ctx[1]), now_ns);
	return 0;
}

/* void (task) */
SEC("tp_btf/sched_wakeup")
int cpu_wakeup(__u64 *ctx)
{
	__u32 tid = ((struct task_struct *)ctx[0])->pid;
	struct cpu_slot *slot = bpf_map_lookup_elem(&cpu_slots, &tid);

	if (slot && slot->out_ns)
		slot->woken_ns = bpf_ktime_get_ns();
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
