/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The user stack of the current task: the one place that decides how it is walked.
 */
#ifndef CPU_USER_BPF_H
#define CPU_USER_BPF_H

#include "probes/cpu/cpu_common.bpf.h"
#include "probes/cpu/cpu_unwind.bpf.h"

/*
 * Writes at most cpu_user_depth addresses to @ips, innermost first, which has room for CPU_USER_MAX. Returns how
 * many; *ret_end says why there are no more (SONDE_STACK_*). @class: whose scratch memory may be used.
 */
static __always_inline __u32 walk_user(void *ctx, __u32 class, __u64 *ips, __u8 *ret_end)
{
	return unwind_user(class, ips, cpu_user_depth, ret_end);
}

_Static_assert(CPU_USER_MAX >= CPU_UNWIND_FRAMES, "a walk fits a record");

#endif
