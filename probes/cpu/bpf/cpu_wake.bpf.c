// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Wake-ups of threads that have a slot: the time, and the waker. An interrupt that wakes a thread has nothing to do
 * with the task that it interrupted.
 */
#include "probes/cpu/bpf/cpu_common.bpf.h"
#include "probes/cpu/bpf/cpu_slot.bpf.h"

/* ---- context ---- */

/* include/linux/preempt.h */
#define SERVING_SOFTIRQ 0x100	/* SOFTIRQ_OFFSET */
#define HARDIRQ_OR_NMI 0x00ff0000

enum run_context {
	CONTEXT_TASK, CONTEXT_SOFTIRQ, CONTEXT_HARDIRQ /* or NMI */, CONTEXT_INTERRUPT /* one of the two */,
};

/* PREEMPT_RT counts softirqs per task. */
struct task_struct___rt {
	int softirq_disable_cnt;
} __attribute__((preserve_access_index));

static __always_inline enum run_context context_by_count(struct task_struct *task, int count)
{
	int softirqs = count;

	if (count & HARDIRQ_OR_NMI)
		return CONTEXT_HARDIRQ;
	if (bpf_core_field_exists(struct task_struct___rt, softirq_disable_cnt))
		softirqs = BPF_CORE_READ((struct task_struct___rt *)task, softirq_disable_cnt);
	return softirqs & SERVING_SOFTIRQ ? CONTEXT_SOFTIRQ : CONTEXT_TASK;
}

#if defined(__TARGET_ARCH_x86)
#define CONTEXT_STACK_BYTES 16384	/* THREAD_SIZE */

/*
 * Bytes from the `runqueues` of a CPU to its __preempt_count, or to the struct pcpu_hot that holds it (6.2 to 6.14).
 * 0: unknown. Set before load: without CONFIG_KALLSYMS_ALL programs cannot name these variables, but a task leads to
 * its run queue.
 */
const volatile __s64 cpu_preempt_distance = 0;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pcpu_hot {
	int preempt_count;
};

struct rq___context {
	int cpu;
};

struct cfs_rq___context {
	struct rq___context *rq;
};

struct sched_entity___context {
	struct cfs_rq___context *cfs_rq;
};

struct task_struct___context {
	struct sched_entity___context se;
};

#pragma clang attribute pop

static __always_inline bool context_count(const struct task_struct *task, int *ret)
{
	struct rq___context *rq = BPF_CORE_READ((const struct task_struct___context *)task, se.cfs_rq, rq);
	__u64 at = (__u64)rq + cpu_preempt_distance;

	if (!cpu_preempt_distance || !rq || BPF_CORE_READ(rq, cpu) != (int)bpf_get_smp_processor_id())
		return false;
	if (bpf_core_field_exists(struct pcpu_hot, preempt_count))
		at += bpf_core_field_offset(struct pcpu_hot, preempt_count);
	return !bpf_probe_read_kernel(ret, sizeof(*ret), (void *)at);
}

/*
 * The answer where the preempt count is unreadable: interrupts have stacks of their own. ksoftirqd/N runs
 * softirqs on its own stack; all its wake-ups are those of softirqs.
 */
static __always_inline enum run_context context_by_stack(struct task_struct *task)
{
	static const char ksoftirqd[] = "ksoftirqd/";
	__u64 mark, frame = 0;
	void *here = &mark;
	char comm[16];

	bpf_probe_read_kernel(&frame, sizeof(frame), &here);
	if (frame - (__u64)BPF_CORE_READ(task, stack) >= CONTEXT_STACK_BYTES)
		return CONTEXT_INTERRUPT;
	if (!(BPF_CORE_READ(task, flags) & PF_KTHREAD) || bpf_get_current_comm(comm, sizeof(comm)))
		return CONTEXT_TASK;
	for (unsigned i = 0; i < sizeof(ksoftirqd) - 1; i++)
		if (comm[i] != ksoftirqd[i])
			return CONTEXT_TASK;
	return CONTEXT_SOFTIRQ;
}

/* @task: the current one. */
static __always_inline enum run_context run_context(struct task_struct *task)
{
	int count;

	if (context_count(task, &count))
		return context_by_count(task, count);
	return context_by_stack(task);
}
#else
static __always_inline enum run_context run_context(struct task_struct *task)
{
	return context_by_count(task, BPF_CORE_READ(task, thread_info.preempt_count));
}
#endif

/* ---- waker ---- */

static __always_inline void waker_keys(struct cpu_wait *w, __u64 pid_tgid)
{
	struct sonde_ident id = {};
	struct task_struct *task;
	__u64 execs;

	if (bpf_core_enum_value_exists(enum bpf_func_id___cpu, BPF_FUNC_get_current_task_btf___cpu)) {
		task = bpf_get_current_task_btf();
		w->waker_start_ns = task->group_leader->start_boottime;
		execs = task->self_exec_id;
	} else {
		task = (struct task_struct *)bpf_get_current_task();
		w->waker_start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
		execs = BPF_CORE_READ(task, self_exec_id);
	}
	w->waker_image = ident_image_number(pid_tgid >> 32, w->waker_start_ns, execs);
	ident_go(&id, pid_tgid >> 32, w->waker_start_ns, false);
	w->waker_goid = id.goid;
	w->waker_tgid = pid_tgid >> 32;
	w->waker_tid = (__u32)pid_tgid;
	bpf_get_current_comm(w->waker_comm, sizeof(w->waker_comm));
}

/* The current task or an interrupt wakes the thread of @w. */
static __always_inline void wait_waker(struct cpu_wait *w)
{
	const __u64 id = bpf_get_current_pid_tgid();

	switch (run_context((struct task_struct *)bpf_get_current_task())) {
	case CONTEXT_SOFTIRQ:
		w->waker = CPU_WAKER_SOFTIRQ;
		return;
	case CONTEXT_HARDIRQ:
		w->waker = CPU_WAKER_HARDIRQ;
		return;
	case CONTEXT_INTERRUPT:
		w->waker = CPU_WAKER_INTERRUPT;
		return;
	case CONTEXT_TASK:
		w->waker = (__u32)id ? CPU_WAKER_THREAD : CPU_WAKER_IDLE;
	}
	if ((__u32)id)
		waker_keys(w, id);
}

/* ---- programs ---- */

/* void (task) */
SEC("tp_btf/sched_wakeup")
int cpu_wakeup(__u64 *ctx)
{
	__u32 tid = ((struct task_struct *)ctx[0])->pid;
	struct cpu_slot *slot = bpf_map_lookup_elem(&cpu_slots, &tid);

	if (slot && slot->out_ns)
		slot->woken_ns = bpf_ktime_get_ns();
	else if (slot)
		slot->wait.waker = CPU_WAKER_UNKNOWN; /* it was about to wait, and does not */
	return 0;
}

/*
 * void (task). In the context of the waker, where sched_wakeup may be in that of the woken thread's CPU. It may come
 * while the thread is still leaving.
 */
SEC("tp_btf/sched_waking")
int cpu_waking(__u64 *ctx)
{
	__u32 tid = ((struct task_struct *)ctx[0])->pid;
	struct cpu_slot *slot = bpf_map_lookup_elem(&cpu_slots, &tid);

	if (slot)
		wait_waker(&slot->wait);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
