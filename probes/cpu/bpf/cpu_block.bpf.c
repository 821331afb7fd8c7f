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
#include "probes/cpu/bpf/cpu_slot.bpf.h"
#include "probes/cpu/bpf/cpu_user.bpf.h"

/* include/linux/sched.h */
#define TASK_UNINTERRUPTIBLE 0x2
#define TASK_DEAD 0x80
#define NO_STACK 61	/* ENODATA */
#define LOCK_FRAMES 20	/* of this program and the scheduler, and the lock */
#define GROUPS_DEEP 16	/* cgroups above each other that are looked at */

const volatile __u64 cpu_min_block_ns = 0, cpu_max_block_ns = 0; /* 0 = no limit */
const volatile __u32 cpu_block_depth = 127;	/* user frames that a slot holds */
const volatile bool cpu_select_cpus = false;

/* --max-cpu changes them while the programs run. */
__u32 cpu_block_one_in = 1; /* waits: a power of two */
__u32 cpu_block_bare = 0;   /* 1: their user stacks are not walked */

SONDE_SET(cpu_cpus, __u32);

/* By number: CPU_CALL_*, 0 = other. Filled before load (cpu.c). */
const volatile __u8 cpu_calls[CPU_CALLS] = { 0 };
/* The kernel's functions that wait for locks; unused ones are 0. Filled before load (cpu.c). */
const volatile struct cpu_range cpu_locks[CPU_LOCKS] = { 0 };

/* Initial value of a slot, of the same size. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct cpu_slot) + 127 * sizeof(__u64));
} cpu_blank SEC(".maps");

/* ---- facts about a wait: cpu_wait.c decides by them ---- */

/* include/linux/sched.h */
#define PF_EXITING 0x4
#define PF_IO_WORKER 0x10
#define PF_DUMPCORE 0x200
#define PF_SIGNALED 0x400	/* killed */
#define PF_USER_WORKER 0x4000	/* 6.4 */
#define JOBCTL_TRAP_FREEZE (1 << 23)	/* include/linux/sched/jobctl.h */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct fdtable___wait {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct___wait {
	struct fdtable___wait *fdt;
};

struct inode___wait {
	unsigned short i_mode;
};

struct file___wait {
	struct inode___wait *f_inode;
};

struct task_struct___wait {
	unsigned in_iowait : 1;
	unsigned long jobctl;
	void *blocked_on;	/* mutex; since 6.17 */
	struct files_struct___wait *files;
	bool throttled;		/* since 6.18 */
};

struct cgroup_subsys_state___wait {
	struct cgroup *cgroup;
};

struct cfs_bandwidth___wait {
	__s64 period;		/* ns */
	__u64 quota;		/* ns */
	int nr_periods, nr_throttled;
	__u64 throttled_time;	/* ns */
};

struct task_group___wait {
	struct cgroup_subsys_state___wait css;
	struct cfs_bandwidth___wait cfs_bandwidth;
};

/* The last three with CONFIG_CFS_BANDWIDTH. */
struct cfs_rq___wait {
	struct task_group___wait *tg;
	int throttled;		/* a bit since 6.18 */
	int throttle_count;	/* of it and the groups above */
};

/* Both with CONFIG_FAIR_GROUP_SCHED. */
struct sched_entity___wait {
	struct cfs_rq___wait *cfs_rq;
	struct sched_entity___wait *parent;
};

struct task_struct___group {
	struct sched_entity___wait se;
};

#pragma clang attribute pop

#if defined(__TARGET_ARCH_x86)
#define TS_COMPAT 2		/* arch/x86/include/asm/thread_info.h: 32-bit call, with numbers of its own */

static __always_inline long wait_call_number(const struct pt_regs *regs)
{
	return BPF_CORE_READ(regs, orig_ax);
}

static __always_inline __u32 wait_call_fd(const struct pt_regs *regs)
{
	return (__u32)BPF_CORE_READ(regs, di);
}

static __always_inline bool wait_call_is_compat(const struct task_struct *task, const struct pt_regs *regs)
{
	(void)regs;
	return BPF_CORE_READ(task, thread_info.status) & TS_COMPAT;
}
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs___mode {
	__u64 pstate;
} __attribute__((preserve_access_index));

static __always_inline long wait_call_number(const struct pt_regs *regs)
{
	return BPF_CORE_READ(regs, syscallno);
}

static __always_inline __u32 wait_call_fd(const struct pt_regs *regs)
{
	return (__u32)BPF_CORE_READ(regs, orig_x0);
}

static __always_inline bool wait_call_is_compat(const struct task_struct *task, const struct pt_regs *regs)
{
	(void)task;
	return BPF_CORE_READ((const struct pt_regs___mode *)regs, pstate) & PSTATE_MODE32;
}
#endif

/* CPU_CALL_* of the system call of the current task. */
static __always_inline __u8 wait_call(const struct task_struct *task, const struct pt_regs *regs)
{
	const long number = wait_call_number(regs);

	if (number < 0)
		return CPU_CALL_NONE;
	if (wait_call_is_compat(task, regs))
		return CPU_CALL_UNKNOWN;
	return number < CPU_CALLS && cpu_calls[number] ? cpu_calls[number] : CPU_CALL_OTHER;
}

/* S_IFMT of the open file behind @fd of the current task, shifted; sockets and pipes are waited for in all calls. */
static __always_inline __u8 wait_file_type(struct task_struct *task, __u32 fd)
{
	struct fdtable___wait *fdt = BPF_CORE_READ((struct task_struct___wait *)task, files, fdt);
	struct file___wait *file = NULL;
	struct inode___wait *inode;

	if (!fdt || fd >= BPF_CORE_READ(fdt, max_fds) ||
	    bpf_probe_read_kernel(&file, sizeof(file), BPF_CORE_READ(fdt, fd) + fd) || !file)
		return CPU_FILE_UNKNOWN;
	inode = BPF_CORE_READ(file, f_inode);
	return inode ? BPF_CORE_READ(inode, i_mode) >> 12 : CPU_FILE_UNKNOWN;
}

static __always_inline bool wait_on_mutex(const struct task_struct___wait *task)
{
	return bpf_core_field_exists(task->blocked_on) && BPF_CORE_READ(task, blocked_on);
}

static __always_inline __u8 wait_flags(const struct task_struct___wait *task, __u32 task_flags)
{
	return (BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait) ? CPU_WAIT_F_IO : 0) |
	       (wait_on_mutex(task) ? CPU_WAIT_F_LOCK : 0) |
	       (BPF_CORE_READ(task, jobctl) & JOBCTL_TRAP_FREEZE ? CPU_WAIT_F_FROZEN : 0) |
	       (task_flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER) ? CPU_WAIT_F_KERNEL : 0) |
	       (task_flags & (PF_EXITING | PF_DUMPCORE | PF_SIGNALED) ? CPU_WAIT_F_ENDING : 0);
}

/* Top bit set: @ip is in @r. Without a branch, which would multiply the verifier's paths. */
static __always_inline __u64 in_range(__u64 ip, const volatile struct cpu_range *r)
{
	const __u64 off = ip - r->start;

	return (off - (r->end - r->start)) & ~off;
}

/* Is one of the first @n frames in scratch memory in one of cpu_locks? */
__noinline int cpu_lock_in_frames(__u32 n)
{
	struct cpu_scratch *d = get_scratch(CPU_CLASS_SWITCH);
	__u64 hits = 0;

	if (!d)
		return 0;
	for (__u32 i = 0; i < LOCK_FRAMES && i < n; i++)
		for (int k = 0; k < CPU_LOCKS; k++)
			hits |= in_range(d->node[i], &cpu_locks[k]);
	return hits >> 63;
}

/*
 * True if the current task waits in one of cpu_locks. These functions are missing on the stack that add_stacks()
 * takes: the kernel hides its scheduler there.
 */
static __always_inline bool waits_for_lock(void *ctx)
{
	struct cpu_scratch *d = get_scratch(CPU_CLASS_SWITCH);
	long n = d ? bpf_get_stack(ctx, d->node, LOCK_FRAMES * sizeof(d->node[0]), 0) : 0;

	return n > 0 && cpu_lock_in_frames((__u64)n / sizeof(__u64));
}

/* The current task leaves although it could run: no quota left? Since 6.18 tasks are throttled one by one. */
static __always_inline bool is_throttled(const struct task_struct *task)
{
	const struct task_struct___wait *t = (const void *)task;
	struct cfs_rq___wait *rq = NULL;

	if (bpf_core_field_exists(t->throttled))
		return BPF_CORE_READ(t, throttled);
	if (!bpf_core_field_exists(((struct sched_entity___wait *)0)->cfs_rq) ||
	    !bpf_core_field_exists(rq->throttle_count))
		return false;
	rq = BPF_CORE_READ((const struct task_struct___group *)task, se.cfs_rq);
	return rq && BPF_CORE_READ(rq, throttle_count) > 0;
}

/* Is @c in the hierarchy that @task's cgroup v2 is in? */
static __always_inline __u8 quota_hierarchy(const struct task_struct *task, const struct cgroup *c)
{
	return BPF_CORE_READ(c, root) == BPF_CORE_READ(task, cgroups, dfl_cgrp, root) ? CPU_QUOTA_V2 : CPU_QUOTA_V1;
}

static __always_inline __u8 quota_read(struct cpu_quota *q, const struct task_struct *task,
				       const struct task_group___wait *tg)
{
	const struct cgroup *c = BPF_CORE_READ(tg, css.cgroup);

	if (!c)
		return CPU_QUOTA_NONE;
	q->cgroup_id = BPF_CORE_READ(c, kn, id);
	q->quota_ns = BPF_CORE_READ(tg, cfs_bandwidth.quota);
	q->period_ns = BPF_CORE_READ(tg, cfs_bandwidth.period);
	q->throttled_ns = BPF_CORE_READ(tg, cfs_bandwidth.throttled_time);
	q->n_periods = BPF_CORE_READ(tg, cfs_bandwidth.nr_periods);
	q->n_throttled = BPF_CORE_READ(tg, cfs_bandwidth.nr_throttled);
	q->pad = 0;
	return quota_hierarchy(task, c);
}

/*
 * The innermost cgroup of the current task that has no quota left on this CPU, into scratch memory. Returns
 * CPU_QUOTA_*. Global: the verifier would walk it at each switch.
 */
__noinline int cpu_quota_find(void)
{
	const struct task_struct *task = (void *)bpf_get_current_task();
	const struct sched_entity___wait *se = &((const struct task_struct___group *)task)->se;
	struct cpu_scratch *d = get_scratch(CPU_CLASS_SWITCH);
	const struct cfs_rq___wait *rq;

	if (!d || !bpf_core_field_exists(struct cfs_rq___wait, throttled) ||
	    !bpf_core_field_exists(struct sched_entity___wait, parent))
		return CPU_QUOTA_NONE;
	for (int i = 0; i < GROUPS_DEEP && se; i++) {
		rq = BPF_CORE_READ(se, cfs_rq);
		if (!rq)
			break;
		if (BPF_CORE_READ_BITFIELD_PROBED(rq, throttled))
			return quota_read(&d->quota, task, BPF_CORE_READ(rq, tg));
		se = BPF_CORE_READ(se, parent);
	}
	return CPU_QUOTA_NONE;
}

/* The quota lies where a waker would. */
static __always_inline void quota_facts(struct cpu_wait *w)
{
	const struct cpu_scratch *d = get_scratch(CPU_CLASS_SWITCH);
	const int of = d ? cpu_quota_find() : CPU_QUOTA_NONE;

	if (!d || of <= CPU_QUOTA_NONE || of >= CPU_QUOTA__MAX)
		return;
	w->waker = CPU_WAKER_UNKNOWN;
	w->quota = d->quota;
	w->quota_of = of;
}

/* Facts of the current task, which leaves its CPU. The waker's part stays: the wake-up may have begun already. */
static __always_inline void wait_facts(void *ctx, struct cpu_wait *w, __u32 task_flags, __u32 state)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	const struct pt_regs *regs;

	w->call = CPU_CALL_UNKNOWN;
	w->file = CPU_FILE_UNKNOWN;
	w->flags = 0;
	w->quota_of = CPU_QUOTA_NONE;
	if (!state) {
		w->flags = is_throttled(task) ? CPU_WAIT_F_THROTTLED : 0;
		if (w->flags)
			quota_facts(w);
		return;
	}
	w->flags = wait_flags((void *)task, task_flags);
	if (state & TASK_UNINTERRUPTIBLE && !(w->flags & (CPU_WAIT_F_IO | CPU_WAIT_F_LOCK)) && waits_for_lock(ctx))
		w->flags |= CPU_WAIT_F_LOCK;
	w->call = CPU_CALL_NONE;
	if (w->flags & CPU_WAIT_F_KERNEL)
		return;
	regs = regs_at();
	w->call = wait_call(task, regs);
	if (w->call == CPU_CALL_READ || w->call == CPU_CALL_WRITE)
		w->file = wait_file_type(task, wait_call_fd(regs));
}

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
	if (!cpu_user_depth || cpu_block_bare || !r)
		return;
	slot->mode |= CPU_MODE_USER_ASKED;
	if (!has_memory)
		return;
	r->hdr.ts_ns = bpf_ktime_get_boot_ns();
	r->hdr.tid = (__u32)bpf_get_current_pid_tgid();
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

static __always_inline void fill_slot(void *ctx, struct cpu_slot *slot, __u32 state, bool runnable, __u32 one_in)
{
	struct cpu_who who;

	who_is_it(&who);
	slot->woken_ns = 0;
	slot->one_in = one_in;
	slot->start_ns = who.start_ns;
	slot->cgroup_id = who.cgroup_id;
	slot->tgid = bpf_get_current_pid_tgid() >> 32;
	slot->image = ident_image_number(slot->tgid, who.start_ns, who.execs);
	slot->id.goid = slot->id.call = slot->id.call_how = 0;
	ident_go(&slot->id, slot->tgid, who.start_ns, false);
	slot->netns = who.netns;
	slot->state = state;
	slot->mode = CPU_MODE_KERNEL | (runnable ? CPU_MODE_PREEMPTED : 0);
	wait_facts(ctx, &slot->wait, who.flags, runnable ? 0 : state);
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

/* @woken: the time of the wake-up is known, or the thread never slept. */
static __always_inline void wait_put(struct cpu_wait *to, const struct cpu_wait *w, bool woken)
{
	const struct cpu_wait none = { .waker = w->waker, .call = w->call, .file = w->file, .flags = w->flags };

	*to = w->waker == CPU_WAKER_THREAD || (w->quota_of && !w->waker) ? *w : none;
	if (to->waker)
		to->quota_of = CPU_QUOTA_NONE; /* it was woken meanwhile */
	to->flags = w->flags | (woken ? 0 : CPU_WAIT_F_NOT_WOKEN);
}

/* @next NULL: the kernel stack is unknown. */
static __always_inline void add_stacks(struct cpu_sample_rec *r, const struct cpu_slot *slot,
				       struct task_struct *next)
{
	__u64 n_user = slot->n_user, n_kern = 0, *ips = r->ips + CPU_WAIT_WORDS;
	long n;

	r->n_user = 0;
	r->kern_err = 0;
	if (cpu_kern_depth) {
		r->mode |= CPU_MODE_KERN_ASKED;
		n = next ? bpf_get_task_stack(next, ips, cpu_kern_depth * sizeof(__u64), 0) : -NO_STACK;
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
	bpf_probe_read_kernel(ips + n_kern, n_user * sizeof(__u64), slot->ips);
	r->n_user = (__u16)n_user;
}

static __always_inline void report(struct sonde_ledger *l, const struct cpu_slot *slot, __u32 tid,
				   struct task_struct *next, __u64 now_ns)
{
	struct cpu_sample_rec *r = record_of(CPU_CLASS_SWITCH);

	if (!r)
		return;
	rec_init_keys(&r->hdr, l, CPU_REC_BLOCK, sizeof(*r), CPU_CLASS_SWITCH | SONDE_RF_IDENT, slot->tgid, tid,
		      slot->start_ns);
	ident_keys(&r->id, slot->image, slot->cgroup_id, slot->netns);
	r->id.goid = slot->id.goid;
	r->id.call = slot->id.call;
	r->id.call_how = slot->id.call_how;
	r->value = now_ns - slot->out_ns;
	r->wait_ns = wait_of(slot, now_ns);
	r->cgroup_id = slot->cgroup_id;
	r->netns = slot->netns;
	r->state = slot->state;
	r->pad = 0;
	r->user_end = slot->user_end;
	r->mode = slot->mode;
	r->count = (__u16)slot->one_in;
	__builtin_memcpy(r->comm, slot->comm, sizeof(r->comm));
	wait_put((struct cpu_wait *)r->ips, &slot->wait, slot->woken_ns || slot->mode & CPU_MODE_PREEMPTED);
	add_stacks(r, slot, next);
	if (!slot->copied_ns || !copy_record(l, CPU_CLASS_SWITCH, slot->copied_ns))
		emit(l, CPU_CLASS_SWITCH, r);
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
	slot->wait.waker = CPU_WAKER_UNKNOWN;
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

/* Counts a wait that --max-cpu leaves out. */
static __always_inline void leave_out(struct cpu_slot *slot)
{
	struct sonde_ledger *l = ledger_seen(CPU_CLASS_SWITCH);

	if (slot)
		slot->out_ns = 0;
	if (l)
		rec_sampled(l);
}

/* The current thread leaves; @preempt: involuntarily, whatever its state. */
static __always_inline void leave(void *ctx, bool preempt, __u32 state, __u64 now_ns)
{
	const __u64 id = bpf_get_current_pid_tgid();
	const __u32 one_in = cpu_block_one_in;
	__u32 tid = (__u32)id;
	bool ends = state & TASK_DEAD, out;
	struct sonde_ledger *l;
	struct cpu_slot *slot;

	if (!tid)
		return; /* an idle thread that gives way is not a wait */
	if (!ends && !select_current(id)) {
		l = ledger_seen(CPU_CLASS_SWITCH);
		if (l)
			rec_filtered(l);
		return;
	}
	out = one_in > 1 && bpf_get_prandom_u32() & (one_in - 1);
	slot = ends || out ? bpf_map_lookup_elem(&cpu_slots, &tid) : slot_of(tid);
	if (slot && slot->out_ns) {
		come_back_late(slot, tid, now_ns);
		slot->wait.waker = CPU_WAKER_UNKNOWN;
	}
	if (ends) {
		bpf_map_delete_elem(&cpu_slots, &tid);
		return;
	}
	if (out) {
		leave_out(slot);
		return;
	}
	if (!slot) {
		l = ledger_seen(CPU_CLASS_SWITCH);
		if (l)
			rec_lost(l, SONDE_LOST_MAP_FULL);
		return;
	}
	fill_slot(ctx, slot, state, preempt || !state, one_in);
	slot->out_ns = now_ns;
}

/* void (preempt, prev, next, prev_state) */
SEC("tp_btf/sched_switch")
int cpu_switch(__u64 *ctx)
{
	__u64 now_ns = bpf_ktime_get_ns();

	come_back((struct task_struct *)ctx[2], now_ns);
	leave(ctx, (bool)ctx[0], (__u32)ctx[3], now_ns);
	return 0;
}

/* Before 5.18 the arguments lack the state: the thread has it, and may have been woken since. */
SEC("tp_btf/sched_switch")
int cpu_switch_args3(__u64 *ctx)
{
	__u64 now_ns = bpf_ktime_get_ns();

	come_back((struct task_struct *)ctx[2], now_ns);
	leave(ctx, (bool)ctx[0], task_state((struct task_struct *)ctx[1]), now_ns);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
