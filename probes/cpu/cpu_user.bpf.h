/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The user stack of the current task: the one place that decides how it is walked.
 */
#ifndef CPU_USER_BPF_H
#define CPU_USER_BPF_H

#include "probes/cpu/cpu_common.bpf.h"

/*
 * Writes at most cpu_user_depth addresses to @ips, innermost first, which has room for CPU_USER_MAX. Returns how
 * many; *ret_end says why there are no more (SONDE_STACK_*). @class: whose scratch memory may be used.
 */
static __always_inline __u32 walk_user(void *ctx, __u32 class, __u64 *ips, __u8 *ret_end)
{
	long n = bpf_get_stack(ctx, ips, cpu_user_depth * sizeof(__u64), BPF_F_USER_STACK);

	*ret_end = n <= 0 ? SONDE_STACK_MEMORY : SONDE_STACK_FP;
	if (n <= 0)
		return 0;
	if (n >= cpu_user_depth * sizeof(__u64))
		*ret_end = SONDE_STACK_DEPTH;
	return (__u32)n / sizeof(__u64);
}

#endif
