// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Events of a task beside its system calls: context switch, signal, page fault, exit; and io_uring requests, which
 * the system call tracepoints do not see. This object is loaded only if one of these events is selected.
 */
#include "bpf/kernel.h"
#include "bpf/filter.bpf.h"
#include "bpf/preempt.bpf.h"
#include "bpf/ring.bpf.h"
#include "probes/sys/bpf/sys_mm.bpf.h"
#include "probes/sys/bpf/sys_select.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define SIGCHLD 17
#define SI_USER 0
#define SI_QUEUE -1
#define SI_MESGQ -3
#define SI_TKILL -6
#define SI_KERNEL 0x80

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sender___sys { int _pid; unsigned int _uid; };
struct child___sys { int _status; long _utime, _stime; };
struct fault___sys { void *_addr; };
union sifields___sys { struct sender___sys _kill; struct child___sys _sigchld; struct fault___sys _sigfault; };

struct kernel_siginfo {
	int si_code;
	union sifields___sys _sifields;
};

struct sigaction___sys { void *sa_handler; };
struct k_sigaction { struct sigaction___sys sa; };

struct io_cqe___sys { __u64 user_data; };
struct io_kiocb {
	__u8 opcode;
	__u32 flags;		/* 64 bits since 6.8; user space sets the lowest */
	struct io_cqe___sys cqe;
	struct io_ring_ctx *ctx;
};
struct io_uring_cqe { __u64 user_data; __s32 res; __u32 flags; };

struct pt_regs___ip { unsigned long ip; };
struct pt_regs___pc { __u64 pc; };

#pragma clang attribute pop

/* ---- switches ---- */

static __always_inline bool admit(struct sonde_ledger *l, __u32 tgid)
{
	if (l && select_caller(tgid))
		return true;
	if (l)
		rec_filtered(l);
	return false;
}

/* When the current task got this CPU; 0 before the first switch. */
MAP(sys_switched, PERCPU_ARRAY, 1, __u32, __u64);

/*
 * Microseconds that the current task has had the CPU. Every switch calls it, also those of unselected tasks, to
 * restart the clock.
 */
static __always_inline __u32 slice_us(void)
{
	__u64 now = bpf_ktime_get_ns(), before;
	__u32 zero = 0;
	__u64 *since = bpf_map_lookup_elem(&sys_switched, &zero);

	if (!since)
		return 0;
	before = *since;
	*since = now;
	return before ? (now - before) / 1000 : 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sys_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u32 tgid = prev->tgid, ran_us = slice_us();
	struct sys_switch_rec *r;
	struct sonde_ledger *l;

	if (drops_excluded(tgid, SYS_LEDGER_TRACE))
		return 0;
	l = ledger_seen(SYS_LEDGER_TRACE);
	if (!admit(l, tgid))
		return 0;
	r = rec_reserve(l, LANE_BULK, sizeof(*r));
	if (!r)
		return 0;
	rec_init_keys(&r->hdr, l, SYS_REC_SWITCH, sizeof(*r), SYS_LEDGER_TRACE, tgid, prev->pid,
		      BPF_CORE_READ(prev, group_leader, start_boottime));
	r->next_tgid = next->tgid;
	r->next_tid = next->pid;
	r->preempted = preempt;
	r->ran_us = ran_us;
	mm_read((void *)prev, &r->maj_faults, &r->min_faults, &r->vm_size_kb, &r->vm_rss_kb, &r->vm_swap_kb);
	BPF_CORE_READ_STR_INTO(&r->next_comm, next, comm);
	rec_submit(l, LANE_BULK, r);
	return 0;
}

/* ---- signals ---- */

/* Does siginfo carry a sender here? */
static __always_inline bool has_sender(int code)
{
	return code == SI_USER || code == SI_QUEUE || code == SI_MESGQ || code == SI_TKILL;
}

static __always_inline bool of_child(int signo, int code)
{
	return signo == SIGCHLD && code > 0 && code < 7;
}

/* Is it a fault of the task's own instruction? */
static __always_inline bool of_fault(int signo, int code)
{
	return code > 0 && code < SI_KERNEL && (signo == 4 || signo == 7 || signo == 8 || signo == 11);
}

/* A signal that kills the process reaches its other threads as SIGKILL without any siginfo. */
static __always_inline int killed_by(int signo)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	int by = signo == 9 ? BPF_CORE_READ(task, signal, group_exit_code) & 0x7f : 0;

	return by ? by : signo;
}

SEC("tp_btf/signal_deliver")
int BPF_PROG_NOPREEMPT(sys_signal, int signo, struct kernel_siginfo *info, struct k_sigaction *action)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct sys_signal_rec *r;
	struct sonde_ledger *l;

	if (drops_excluded(id >> 32, SYS_LEDGER_TRACE))
		return 0;
	l = ledger_seen(SYS_LEDGER_TRACE);
	if (!admit(l, id >> 32))
		return 0;
	r = rec_reserve(l, LANE_BULK, sizeof(*r));
	if (!r)
		return 0;
	rec_init(&r->hdr, l, SYS_REC_SIGNAL, sizeof(*r), SYS_LEDGER_TRACE);
	r->signo = info ? signo : killed_by(signo);
	r->code = BPF_CORE_READ(info, si_code);
	r->from_pid = r->from_uid = r->pad = 0;
	r->addr = r->utime = r->stime = 0;
	r->status = 0;
	if (of_fault(signo, r->code))
		r->addr = (__u64)BPF_CORE_READ(info, _sifields._sigfault._addr);
	if (of_child(signo, r->code)) {
		r->status = BPF_CORE_READ(info, _sifields._sigchld._status);
		r->utime = BPF_CORE_READ(info, _sifields._sigchld._utime);
		r->stime = BPF_CORE_READ(info, _sifields._sigchld._stime);
	}
	if (has_sender(r->code) || of_child(signo, r->code)) {
		r->from_pid = BPF_CORE_READ(info, _sifields._kill._pid);
		r->from_uid = BPF_CORE_READ(info, _sifields._kill._uid);
	}
	r->handler = (__u64)BPF_CORE_READ(action, sa.sa_handler);
	rec_submit(l, LANE_BULK, r);
	return 0;
}

/* ---- page faults ---- */

static __always_inline __u64 regs_ip(void *regs)
{
	struct pt_regs___ip *x86 = regs;
	struct pt_regs___pc *arm = regs;

	if (bpf_core_field_exists(x86->ip))
		return BPF_CORE_READ(x86, ip);
	return bpf_core_field_exists(arm->pc) ? BPF_CORE_READ(arm, pc) : 0;
}

static __always_inline int fault(__u64 addr, void *regs, __u64 error, bool kernel)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct sys_fault_rec *r;
	struct sonde_ledger *l;

	if (drops_excluded(id >> 32, SYS_LEDGER_FAULT))
		return 0;
	l = ledger_seen(SYS_LEDGER_FAULT);
	if (!admit(l, id >> 32))
		return 0;
	r = rec_reserve(l, LANE_BULK, sizeof(*r));
	if (!r)
		return 0;
	rec_init(&r->hdr, l, SYS_REC_FAULT, sizeof(*r), SYS_LEDGER_FAULT);
	r->addr = addr;
	r->ip = regs_ip(regs);
	r->error = error;
	r->kernel = kernel;
	r->pad = 0;
	rec_submit(l, LANE_BULK, r);
	return 0;
}

PROGRAM_NOPREEMPT("tp_btf/page_fault_user", sys_fault_user, fault(addr, regs, error, false), unsigned long addr,
	struct pt_regs *regs, unsigned long error)
PROGRAM_NOPREEMPT("tp_btf/page_fault_kernel", sys_fault_kernel, fault(addr, regs, error, true), unsigned long addr,
	struct pt_regs *regs, unsigned long error)

/* ---- the end ---- */

/* Selected processes; user space decides which exits of a selected tree to report. */
static __always_inline bool select_ended(__u32 tgid)
{
	return select_pid(tgid) && !(sys_suppress && is_suppressed()) && select_groups();
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG_NOPREEMPT(sys_procexit, struct task_struct *task)
{
	struct sys_procexit_rec *r;
	__u32 tgid = task->tgid;
	struct sonde_ledger *l;

	if (drops_excluded(tgid, SYS_LEDGER_LIFE))
		return 0;
	l = ledger_seen(SYS_LEDGER_LIFE);
	if (!l)
		return 0;
	if (!select_ended(tgid)) {
		rec_filtered(l);
		return 0;
	}
	r = rec_reserve(l, LANE_LIFE, sizeof(*r));
	if (!r)
		return 0;
	rec_init(&r->hdr, l, SYS_REC_PROCEXIT, sizeof(*r), SYS_LEDGER_LIFE);
	r->code = task->exit_code;
	r->ran_us = slice_us();
	rec_submit(l, LANE_LIFE, r);
	return 0;
}

/* ---- io_uring ---- */

static __always_inline struct sys_uring_rec *uring_begin(struct sonde_ledger **ret_l, __u8 what)
{
	__u64 id = bpf_get_current_pid_tgid();
	struct sys_uring_rec *r;
	struct sonde_ledger *l;

	if (drops_excluded(id >> 32, SYS_LEDGER_URING))
		return NULL;
	l = ledger_seen(SYS_LEDGER_URING);
	if (!admit(l, id >> 32))
		return NULL;
	r = rec_reserve(l, LANE_BULK, sizeof(*r));
	if (!r)
		return NULL;
	rec_init(&r->hdr, l, SYS_REC_URING, sizeof(*r), SYS_LEDGER_URING);
	r->what = what;
	r->pad = 0;
	*ret_l = l;
	return r;
}

static __always_inline int uring_submit(struct io_kiocb *req)
{
	struct sonde_ledger *l;
	struct sys_uring_rec *r = uring_begin(&l, SYS_URING_SUBMIT);

	if (!r)
		return 0;
	r->ctx = (__u64)BPF_CORE_READ(req, ctx);
	r->req = (__u64)req;
	r->user_data = BPF_CORE_READ(req, cqe.user_data);
	r->res = 0;
	r->flags = BPF_CORE_READ(req, flags) & 0xff;
	r->opcode = BPF_CORE_READ(req, opcode);
	rec_submit(l, LANE_BULK, r);
	return 0;
}

/* Since 6.3; 6.0 to 6.2. */
PROGRAM_NOPREEMPT("tp_btf/io_uring_submit_req", sys_uring_submit, uring_submit(req), struct io_kiocb *req)
PROGRAM_NOPREEMPT("tp_btf/io_uring_submit_sqe", sys_uring_submit_sqe, uring_submit(req), struct io_kiocb *req)

static __always_inline int uring_complete(void *ctx, void *req, __u64 user_data, __s32 res, __u32 flags)
{
	struct sonde_ledger *l;
	struct sys_uring_rec *r = uring_begin(&l, SYS_URING_COMPLETE);

	if (!r)
		return 0;
	r->ctx = (__u64)ctx;
	r->req = (__u64)req;
	r->user_data = user_data;
	r->res = res;
	r->flags = flags;
	r->opcode = req ? BPF_CORE_READ((struct io_kiocb *)req, opcode) : 0;
	rec_submit(l, LANE_BULK, r);
	return 0;
}

/* 5.19 to 6.14; since 6.15. */
PROGRAM_NOPREEMPT("tp_btf/io_uring_complete", sys_uring_complete_plain,
	uring_complete(ring, req, user_data, res, flags), void *ring, void *req, __u64 user_data, int res,
	unsigned int flags)
PROGRAM_NOPREEMPT("tp_btf/io_uring_complete", sys_uring_complete,
	uring_complete(ring, req, cqe->user_data, cqe->res, cqe->flags), struct io_ring_ctx *ring, void *req,
	struct io_uring_cqe *cqe)

char LICENSE[] SEC("license") = "Dual BSD/GPL";
