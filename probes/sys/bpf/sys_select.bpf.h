/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Selection beyond the number of the call: result, caller, latency. The verifier removes code for unused criteria.
 */
#ifndef SYS_SELECT_BPF_H
#define SYS_SELECT_BPF_H

#include "bpf/filter.bpf.h"
#include "bpf/ring.bpf.h"
#include "probes/sys/bpf/sys_task.bpf.h"

#define SYS_RESULT_ALL 0
#define SYS_RESULT_FAILED 1
#define SYS_RESULT_SUCCESS 2
#define SYS_RESULT_UNUSUAL 3	/* failed, or at least sys_min_latency_ns long */

#define EINTR 4
#define EAGAIN 11
#define EINPROGRESS 115
#define ERESTARTSYS 512			/* include/linux/errno.h; user space sees EINTR, or none of them */
#define ERESTART_RESTARTBLOCK 516

const volatile __u8 sys_result = SYS_RESULT_ALL;
const volatile __u64 sys_min_latency_ns = 0;

/* Results from -4095 to -1 are errors; lower values are addresses. */
static __always_inline bool is_error(__s64 ret)
{
	return ret < 0 && ret >= -4095;
}

/* Errors of normal operation do not count: not ready yet, interrupted. */
static __always_inline bool is_failure(__s64 ret)
{
	if (!is_error(ret) || ret == -EINTR || ret == -EAGAIN || ret == -EINPROGRESS)
		return false;
	return ret > -ERESTARTSYS || ret < -ERESTART_RESTARTBLOCK;
}

static __always_inline bool select_result(__s64 ret, __u64 latency_ns)
{
	const bool is_slow = latency_ns >= sys_min_latency_ns;

	if (sys_result == SYS_RESULT_UNUSUAL)
		return (sys_min_latency_ns && is_slow) || is_failure(ret);
	return is_slow && (sys_result == SYS_RESULT_ALL || is_error(ret) == (sys_result == SYS_RESULT_FAILED));
}

/* Drops excluded processes. The ledger counts them as filtered, except the reader itself. */
static __always_inline bool drops_excluded(__u32 tgid, __u32 class)
{
	struct sonde_ledger *l;

	if (!is_excluded(tgid))
		return false;
	l = is_self(tgid) ? NULL : ledger_seen(class);
	if (l)
		rec_filtered(l);
	return true;
}

const volatile bool sys_suppress = false;	/* --suppress is in use */

SONDE_SET(sys_suppressed, struct sonde_comm);

/* Events dropped by --suppress; the ledger counts them as filtered. */
MAP(sys_suppressed_n, PERCPU_ARRAY, 1, __u32, __u64);

static __always_inline bool is_suppressed(void)
{
	struct sonde_comm comm = {};
	__u32 zero = 0;
	__u64 *n;

	bpf_get_current_comm(comm.name, sizeof(comm.name));
	if (!bpf_map_lookup_elem(&sys_suppressed, &comm))
		return false;
	n = bpf_map_lookup_elem(&sys_suppressed_n, &zero);
	if (n)
		(*n)++;
	return true;
}

static __always_inline bool select_caller(__u32 tgid)
{
	return select_pid(tgid) && select_tree(tgid) && !(sys_suppress && is_suppressed()) && select_groups();
}

#endif
