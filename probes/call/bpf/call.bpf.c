// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Bytes of calls at sockets. Two tracepoints (6.3) see every socket operation of every program and nothing else; they
 * run in the caller's context, so its registers lead to the bytes. State per connection is socket storage: it ends
 * with the socket.
 *
 * Every socket operation of the host runs this code: connections of no interest cost a look-up and two counters.
 */
#include "bpf/kernel.h"
#include "bpf/filter.bpf.h"
#include "probes/call/bpf/call_op.bpf.h"
#include "probes/call/bpf/call_regs.bpf.h"
#include "probes/call/bpf/call_state.bpf.h"
#include "probes/call/call_wire.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define MSG_PEEK 2

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct call_sock);
} call_socks SEC(".maps");

static __always_inline bool is_selected(const struct task_struct *task)
{
	return !(task->flags & PF_KTHREAD) && select_task_of(task->tgid);
}

static __always_inline int operated(struct sock *sk, int ret, __u32 dir)
{
	struct call_op op = { .sk = sk, .size = ret, .dir = dir };
	struct task_struct *task;

	if (ret < 0)
		return 0;
	task = bpf_get_current_task_btf();
	if (!is_selected(task))
		return 0;
	op.s = bpf_sk_storage_get(&call_socks, sk, NULL, ret ? BPF_SK_STORAGE_GET_F_CREATE : 0);
	if (!op.s)
		return 0;
	op.s->bytes[dir] += ret;
	if (op.s->class == CLASS_IGNORED)
		return 0;
	op.tgid = task->tgid;
	op.tid = task->pid;
	op.start_ns = task->group_leader->start_boottime;
	if (!ret)
		return dir == CALL_RX ? op_end(&op) : 0;
	if (op.s->class == CLASS_NEW)
		op.s->cookie = bpf_get_socket_cookie(sk);
	op.regs = (const struct pt_regs *)bpf_task_pt_regs(task);
	op.is_32bit = task->REGS_STATUS & REGS_32BIT;
	return op_run(&op);
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(call_send, struct sock *sk, int ret, int flags)
{
	return operated(sk, ret, CALL_TX);
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(call_recv, struct sock *sk, int ret, int flags)
{
	return flags & MSG_PEEK ? 0 : operated(sk, ret, CALL_RX);
}

/* Bytes arrived; attached for --show queue only. The first ones of a connection come before its state. */
SEC("tp_btf/sk_data_ready")
int BPF_PROG(call_ready, struct sock *sk)
{
	struct call_sock *s = bpf_sk_storage_get(&call_socks, sk, NULL, 0);

	if (s && s->class == CLASS_WATCHED && !s->ready_ns)
		s->ready_ns = bpf_ktime_get_boot_ns();
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
