/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * System calls that move bytes of sockets: numbers, and what their registers hold.
 *
 * Numbers: arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h.
 */
#ifndef CALL_REGS_BPF_H
#define CALL_REGS_BPF_H

#include "bpf/kernel.h"

#include <bpf/bpf_helpers.h>

#if defined(__TARGET_ARCH_x86)
/* Member of struct task_struct, and its bit that says that the system call is one of 32 bits. */
#define REGS_STATUS thread_info.status
#define REGS_32BIT 2 /* TS_COMPAT of arch/x86/include/asm/thread_info.h */

enum {
	NR_read = 0,
	NR_write = 1,
	NR_readv = 19,
	NR_writev = 20,
	NR_sendfile = 40,
	NR_sendto = 44,
	NR_recvfrom = 45,
	NR_sendmsg = 46,
	NR_recvmsg = 47,
	NR_splice = 275,
	NR_recvmmsg = 299,
	NR_sendmmsg = 307,
	NR_preadv2 = 327,
	NR_pwritev2 = 328,
};

static __always_inline long regs_nr(const struct pt_regs *regs)
{
	return (long)regs->orig_ax;
}

/* Argument @n, a constant from 0 to 3. */
static __always_inline __u64 regs_arg(const struct pt_regs *regs, __u32 n)
{
	switch (n) {
	case 0: return regs->di;
	case 1: return regs->si;
	case 2: return regs->dx;
	}
	return regs->r10;
}
#elif defined(__TARGET_ARCH_arm64)
#define REGS_STATUS thread_info.flags
#define REGS_32BIT (1ul << 22) /* TIF_32BIT of arch/arm64/include/asm/thread_info.h */

enum {
	NR_read = 63,
	NR_write = 64,
	NR_readv = 65,
	NR_writev = 66,
	NR_sendfile = 71,
	NR_splice = 76,
	NR_sendto = 206,
	NR_recvfrom = 207,
	NR_sendmsg = 211,
	NR_recvmsg = 212,
	NR_recvmmsg = 243,
	NR_sendmmsg = 269,
	NR_preadv2 = 286,
	NR_pwritev2 = 287,
};

static __always_inline long regs_nr(const struct pt_regs *regs)
{
	return regs->syscallno;
}

/* At the end of a call x0 holds the result. */
static __always_inline __u64 regs_arg(const struct pt_regs *regs, __u32 n)
{
	return n ? regs->regs[n] : regs->orig_x0;
}
#endif

#endif
