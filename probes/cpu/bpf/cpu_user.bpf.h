/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The user stack of the current task: the one place that decides how it is walked.
 */
#ifndef CPU_USER_BPF_H
#define CPU_USER_BPF_H

#include "probes/cpu/bpf/cpu_common.bpf.h"
#include "probes/cpu/bpf/cpu_copy.bpf.h"
#include "probes/cpu/bpf/cpu_unwind.bpf.h"

/*
 * Writes at most cpu_user_depth addresses, innermost first, to the record of @class behind @at others. Returns how
 * many; *ret_end says why there are no more (SONDE_STACK_*). @class: whose desk may be used. @has_regs: registers
 * are there (regs_here).
 */
static __always_inline __u32 walk_user(__u32 class, __u32 at, bool has_regs, __u8 *ret_end)
{
	return unwind_user(class, at, has_regs, ret_end);
}

#endif
