// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Socket operations on kernels without their tracepoints (before 6.3), at the ends of system calls. Every system call
 * of the host runs this code: its number is looked at first, then the selection, then what its descriptor is.
 *
 * Neither the socket nor the task has a type here, which socket storage (5.11) needs: state is in a table by the
 * inode of the socket, whose numbers are not used again soon.
 */
#define CALL_OP_OLD
#define PREEMPT_UNIT syscalls
#include "bpf/kernel.h"
#include "bpf/filter.bpf.h"
#include "bpf/preempt.bpf.h"
#include "bpf/task_file.bpf.h"
#include "probes/call/bpf/call_op.bpf.h"
#include "probes/call/bpf/call_regs.bpf.h"
#include "probes/call/bpf/call_state.bpf.h"
#include "probes/call/call_wire.h"
#include "sonde/ident_wire.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define MSG_PEEK 2
#define MSG_ERRQUEUE 0x2000
#define MESSAGES_MAX 4		/* of sendmmsg and recvmmsg */
#define MMSGHDR_BYTES 64
#define MMSGHDR_LEN 56		/* offset of msg_len */

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);	/* 1 where the hook is not in use */
	__type(key, __u64);	/* inode */
	__type(value, struct call_sock);
} call_inodes SEC(".maps");

/* How a system call moves bytes. */
#define OP_NONE 0
#define OP_RX 1
#define OP_TX 2
#define OP_FLAGS(n) ((n) << 2)	/* the argument with MSG_*, 0 = none */
#define OP_MESSAGES 16		/* its result counts messages */
#define OP_SPLICE 32		/* from argument 0 to argument 2 */

static __always_inline __u32 op_of_nr(long nr)
{
	switch (nr) {
	case NR_read:
	case NR_readv:
	case NR_preadv2: return OP_RX;
	case NR_recvfrom: return OP_RX | OP_FLAGS(3);
	case NR_recvmsg: return OP_RX | OP_FLAGS(2);
	case NR_recvmmsg: return OP_RX | OP_FLAGS(3) | OP_MESSAGES;
	case NR_write:
	case NR_writev:
	case NR_pwritev2:
	case NR_sendfile:
	case NR_sendto:
	case NR_sendmsg: return OP_TX;
	case NR_sendmmsg: return OP_TX | OP_MESSAGES;
	case NR_splice: return OP_SPLICE;
	}
	return OP_NONE;
}

static __always_inline __u64 arg_at(const struct pt_regs *regs, __u32 n)
{
	return n == 2 ? regs_arg(regs, 2) : regs_arg(regs, 3);
}

/* Sets socket and state. False: the file is not a socket. */
static __always_inline bool find_socket(struct call_op *op, __u32 fd, bool create)
{
	struct file___fd *file = task_file_at(fd);
	struct call_sock fresh = { 0 };
	struct socket___fd *socket;
	struct sock *sk;
	__u64 ino;

	if (!file || !task_file_is(file, S_IFSOCK))
		return false;
	socket = BPF_CORE_READ(file, private_data);
	op->sk = sk = BPF_CORE_READ(socket, sk);
	ino = BPF_CORE_READ(file, f_inode, i_ino);
	op->s = bpf_map_lookup_elem(&call_inodes, &ino);
	if (op->s || !create)
		return op->s != NULL;
	fresh.cookie = BPF_CORE_READ(sk, __sk_common.skc_cookie.counter);
	if (!fresh.cookie)
		fresh.cookie = SONDE_ID_SOCK_INODE | ino;
	bpf_map_update_elem(&call_inodes, &ino, &fresh, BPF_NOEXIST);
	op->s = bpf_map_lookup_elem(&call_inodes, &ino);
	return op->s != NULL;
}

static __always_inline int operate(struct call_op *op, __u32 size)
{
	op->size = size;
	op->s->bytes[op->dir & 1] += size;
	return op->s->class == CLASS_IGNORED ? 0 : op_run(op);
}

/* Each message of an array of them is an operation, as at the tracepoints. */
static __always_inline int operate_messages(struct call_op *op, __u32 n)
{
	__u64 at = regs_arg(op->regs, 1) + MMSGHDR_LEN;

	for (__u32 i = 0; i < MESSAGES_MAX && i < n; i++) {
		__u32 size = 0;

		if (bpf_probe_read_user(&size, sizeof(size), (void *)(at + (__u64)i * MMSGHDR_BYTES)) || !size)
			break;
		op->s->nth = i;
		operate(op, size);
	}
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG_NOPREEMPT(call_sys_exit, struct pt_regs *regs, long ret)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 what = op_of_nr(regs_nr(regs)), flags = what >> 2 & 3;
	struct call_op op = { .regs = regs, .tgid = id >> 32, .tid = (__u32)id };
	struct task_struct *task;

	if (!what || ret < 0 || !select_task_of(op.tgid))
		return 0;
	if (flags && arg_at(regs, flags) & (MSG_PEEK | MSG_ERRQUEUE))
		return 0;
	task = (void *)bpf_get_current_task();
	if (BPF_CORE_READ(task, REGS_STATUS) & REGS_32BIT)
		return 0;	/* other numbers */
	op.dir = what & OP_TX ? CALL_TX : CALL_RX;
	if (!find_socket(&op, regs_arg(regs, 0), ret)) {
		if (!(what & OP_SPLICE) || !find_socket(&op, regs_arg(regs, 2), ret))
			return 0;
		op.dir = CALL_TX;
	}
	op.start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	if (!ret)
		return op.dir == CALL_RX && !(what & OP_MESSAGES) ? op_end(&op) : 0;
	return what & OP_MESSAGES ? operate_messages(&op, ret) : operate(&op, ret);
}
