/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The conditions of the filter expression, on a call that returned (sys_pred_wire.h).
 */
#ifndef SYS_PRED_BPF_H
#define SYS_PRED_BPF_H

#include "probes/sys/sys_call.bpf.h"
#include "probes/sys/sys_pred_wire.h"
#include "probes/sys/sys_select.bpf.h"

#include <bpf/bpf_core_read.h>

const volatile struct sys_pred sys_pred = { 0 };

static __always_inline bool in_tgids(__u32 v)
{
	for (__u32 i = 0; i < SYS_SET_MOST; i++)
		if (i < sys_pred.n_tgids && sys_pred.tgids[i] == v)
			return true;
	return false;
}

static __always_inline bool in_tids(__u32 v)
{
	for (__u32 i = 0; i < SYS_SET_MOST; i++)
		if (i < sys_pred.n_tids && sys_pred.tids[i] == v)
			return true;
	return false;
}

static __always_inline bool in_cgroups(__u64 v)
{
	for (__u32 i = 0; i < SYS_SET_MOST; i++)
		if (i < sys_pred.n_cgroups && sys_pred.cgroups[i] == v)
			return true;
	return false;
}

static __always_inline bool in_comms(struct task_struct *task)
{
	__u64 comm[2] = { 0, 0 };

	BPF_CORE_READ_INTO(&comm, task, group_leader, comm);
	for (__u32 i = 0; i < SYS_SET_MOST; i++)
		if (i < sys_pred.n_comms && sys_pred.comms[i][0] == comm[0] && sys_pred.comms[i][1] == comm[1])
			return true;
	return false;
}

/* What is asked about who calls. */
static __noinline bool pred_caller(const struct call *c)
{
	__u32 on = sys_pred.on, not = sys_pred.not;

	if (on & SYS_PRED_TGID && in_tgids(c->tgid) == !!(not & SYS_PRED_TGID))
		return false;
	if (on & SYS_PRED_TID && in_tids(TASK_GET(c->task, pid)) == !!(not & SYS_PRED_TID))
		return false;
	if (on & SYS_PRED_COMM && in_comms(c->task) == !!(not & SYS_PRED_COMM))
		return false;
	return !(on & SYS_PRED_CGROUP) || in_cgroups(bpf_get_current_cgroup_id()) != !!(not & SYS_PRED_CGROUP);
}

/* What is asked about how the call ended. */
static __always_inline bool pred_result(const struct call *c)
{
	__u32 on = sys_pred.on, e = is_error(c->ret) ? -(__s64)c->ret : 0;

	if (on & SYS_PRED_RET && ((__s64)c->ret < sys_pred.ret_min || (__s64)c->ret > sys_pred.ret_max))
		return false;
	if (on & SYS_PRED_LATENCY && (!c->latency_ns || c->latency_ns < sys_pred.latency_min ||
				      c->latency_ns > sys_pred.latency_max))
		return false;
	if (!(on & SYS_PRED_ERRNO))
		return true;
	barrier_var(e); /* it is bounded where the verifier looks for it */
	e &= SYS_ERRNO_MAX - 1;
	return sys_pred.errnos[e >> 3] >> (e & 7) & 1;
}

#endif
