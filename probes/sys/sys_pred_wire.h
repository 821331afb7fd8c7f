/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Conditions on a call that the kernel side checks: read-only data of the programs, worked out from the filter
 * expression. No record holds any of this.
 */
#ifndef SYS_PRED_WIRE_H
#define SYS_PRED_WIRE_H

#include "sonde/wire.h"

#define SYS_SET_MOST 16		/* members of a set: more stay in user space */
#define SYS_ERRNO_MAX 4096

/* What is checked: bits of `on`; in `not` for "not one of these". */
#define SYS_PRED_RET 1		/* the result lies between ret_min and ret_max */
#define SYS_PRED_LATENCY 2	/* it is known, and between latency_min and latency_max */
#define SYS_PRED_ERRNO 4	/* by error number; 0 = it did not fail */
#define SYS_PRED_TGID 8
#define SYS_PRED_TID 16
#define SYS_PRED_COMM 32	/* of the process, not of the thread */
#define SYS_PRED_CGROUP 64

struct sys_pred {
	__u32 on, not;
	__s64 ret_min, ret_max;
	__u64 latency_min, latency_max;
	__u32 n_tgids, n_tids, n_comms, n_cgroups;
	__u32 tgids[SYS_SET_MOST], tids[SYS_SET_MOST];
	__u64 cgroups[SYS_SET_MOST];
	__u64 comms[SYS_SET_MOST][2];	/* 16 bytes, zero behind the name */
	__u8 errnos[SYS_ERRNO_MAX / 8];	/* a bit for each that may pass */
};

#endif
