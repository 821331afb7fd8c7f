// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The user's buffers of the running system call, by its registers: socket tracepoints name the socket, not the bytes.
 */
#include "bpf/kernel.h"
#include "probes/call/bpf/call_unit.bpf.h"
#include "probes/call/call_wire.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define CALL_SEGMENTS 8 /* of an iovec that are read */

/* Numbers: arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h. */
#if defined(__TARGET_ARCH_x86)
#define TS_COMPAT 2 /* arch/x86/include/asm/thread_info.h: 32-bit system call */
enum {
	NR_read = 0,
	NR_write = 1,
	NR_readv = 19,
	NR_writev = 20,
	NR_sendto = 44,
	NR_recvfrom = 45,
	NR_sendmsg = 46,
	NR_recvmsg = 47,
	NR_sendmmsg = 307,
	NR_preadv2 = 327,
	NR_pwritev2 = 328,
};

bool call_user_is_32bit(const struct task_struct *task)
{
	return task->thread_info.status & TS_COMPAT;
}

static __always_inline long call_nr(const struct pt_regs *regs)
{
	return (long)regs->orig_ax;
}

static __always_inline __u64 call_arg1(const struct pt_regs *regs)
{
	return regs->si;
}

static __always_inline __u64 call_arg2(const struct pt_regs *regs)
{
	return regs->dx;
}
#elif defined(__TARGET_ARCH_arm64)
#define TIF_32BIT 22 /* arch/arm64/include/asm/thread_info.h */
enum {
	NR_read = 63,
	NR_write = 64,
	NR_readv = 65,
	NR_writev = 66,
	NR_sendto = 206,
	NR_recvfrom = 207,
	NR_sendmsg = 211,
	NR_recvmsg = 212,
	NR_sendmmsg = 269,
	NR_preadv2 = 286,
	NR_pwritev2 = 287,
};

bool call_user_is_32bit(const struct task_struct *task)
{
	return task->thread_info.flags & 1ul << TIF_32BIT;
}

static __always_inline long call_nr(const struct pt_regs *regs)
{
	return regs->syscallno;
}

static __always_inline __u64 call_arg1(const struct pt_regs *regs)
{
	return regs->regs[1];
}

static __always_inline __u64 call_arg2(const struct pt_regs *regs)
{
	return regs->regs[2];
}
#endif

/* struct user_msghdr up to its iovec; a struct mmsghdr is 64 bytes. */
struct user_msg {
	__u64 name;
	__u32 name_len, pad;
	__u64 iov, n_iov;
};
#define MMSGHDR_BYTES 64

/* @nth: message of an array of them. */
static __always_inline void user_bytes_msg(struct call_user_bytes *b, __u64 addr, __u32 nth)
{
	struct user_msg m;

	if (bpf_probe_read_user(&m, sizeof(m), (void *)(addr + (__u64)nth * MMSGHDR_BYTES)))
		return;
	b->base = m.iov;
	b->n_iov = m.n_iov;
}

int call_user_find(struct call_user_bytes *b, const struct pt_regs *regs, __u32 nth)
{
	__u32 n_messages;

	__builtin_memset(b, 0, sizeof(*b));
	switch (call_nr(regs)) {
	case NR_read:
	case NR_write:
	case NR_sendto:
	case NR_recvfrom: b->base = call_arg1(regs); break;
	case NR_readv:
	case NR_writev:
	case NR_preadv2:
	case NR_pwritev2:
		b->base = call_arg1(regs);
		b->n_iov = call_arg2(regs);
		break;
	case NR_sendmsg:
	case NR_recvmsg: user_bytes_msg(b, call_arg1(regs), 0); break;
	case NR_sendmmsg:
		n_messages = call_arg2(regs);
		user_bytes_msg(b, call_arg1(regs), n_messages ? nth % n_messages : 0);
		break;
	}
	return 0;
}

int call_user_copy(const struct call_user_bytes *b, __u8 *to, __u32 most)
{
	__u32 done = 0;

	if (!b || !to || most > CALL_HEAD_MAX)
		return 0;
	if (!b->n_iov)
		return bpf_probe_read_user(to, most, (void *)b->base) ? 0 : most;
	for (__u32 i = 0; i < CALL_SEGMENTS; i++) {
		struct call_iovec v;
		__u32 n = most - done;

		if (i >= b->n_iov || done >= most || done > CALL_HEAD_MAX ||
		    bpf_probe_read_user(&v, sizeof(v), (void *)(b->base + i * sizeof(v))))
			break;
		if (v.len < n)
			n = v.len;
		if (n > CALL_HEAD_MAX || bpf_probe_read_user(to + done, n, (void *)v.base))
			break;
		done += n;
	}
	return done;
}
