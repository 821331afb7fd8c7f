/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The user stack of the current task: the one place that decides how it is walked.
 */
#ifndef CPU_USER_BPF_H
#define CPU_USER_BPF_H

#include "probes/cpu/cpu_common.bpf.h"
#include "probes/cpu/cpu_copy.bpf.h"
#include "probes/cpu/cpu_unwind.bpf.h"

/*
 * Writes at most cpu_user_depth addresses, innermost first, to the record of @class behind @at others. Returns how
 * many; *ret_end says why there are no more (SONDE_STACK_*). @class: whose desk may be used.
 */
static __always_inline __u32 walk_user(__u32 class, __u32 at, __u8 *ret_end)
{
	return unwind_user(class, at, ret_end);
}

#endif
