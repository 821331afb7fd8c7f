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
#include "bpf/preempt.bpf.h"
#include "probes/call/bpf/call_op.bpf.h"
#include "probes/call/bpf/call_regs.bpf.h"
#include "probes/call/bpf/call_state.bpf.h"
#include "probes/call/call_wire.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define MSG_PEEK 2
#define UNREAD_BUFFERS 8	/* of a local socket that are looked at */

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

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct inet_connection_sock___at {
	void *icsk_ulp_ops;
};

struct tcp_sock___at {
	struct inet_connection_sock___at inet_conn;
	__u32 copied_seq, write_seq;
};

struct unix_sock___at {
	struct sock *peer;
};

struct sk_buff_head___at {
	struct sk_buff *next;
	__u32 qlen;
};

struct sock___at {
	struct sk_buff_head___at sk_receive_queue;
};

struct sk_buff___at {
	struct sk_buff *next;
	__u32 len;
	char cb[48];
};

struct unix_skb_parms___at {
	__u32 consumed;
};

#pragma clang attribute pop

/* Where the process has read to, or written to. */
static __always_inline __u32 tcp_at(const struct tcp_sock___at *tp, __u32 dir)
{
	return dir == CALL_TX ? tp->write_seq : tp->copied_seq;
}

/* In the first operation on a connection. Under kernel TLS sequence numbers count more than the bytes. */
static __always_inline void count_begin(struct call_sock *s, struct sock *sk)
{
	const struct tcp_sock___at *tp = (const void *)bpf_skc_to_tcp_sock(sk);

	s->local = BPF_CORE_READ(sk, __sk_common.skc_family) == AF_UNIX && BPF_CORE_READ(sk, sk_type) == SOCK_STREAM;
	if (!tp || tp->inet_conn.icsk_ulp_ops)
		return;
	s->at[CALL_RX] = tcp_at(tp, CALL_RX);
	s->at[CALL_TX] = tcp_at(tp, CALL_TX);
	s->counted = 1;
}

/* A read that ends the stream counts the FIN, too. */
static __always_inline bool is_fin(const struct sock *sk, __u32 dir, __u32 missed)
{
	const struct sock___call *ended = (const void *)sk;

	return missed == 1 && dir == CALL_RX && ended->sk_shutdown & RCV_SHUTDOWN;
}

/* For the walks through the messages. */
static __always_inline void walk_missed(struct call_sock *s, __u32 dir, __u32 n)
{
	struct call_frames *f = &s->frames;

	if (s->guess == CALL_GUESS_HTTP && !call_head_pass(&s->heads.dir[dir], n))
		s->heads.dir[dir].phase = PHASE_UNKNOWN;
	if (s->guess != CALL_GUESS_HTTP2)
		return;
	if (!f->whole[dir] && f->left[dir] >= n)
		f->left[dir] -= n;
	else
		f->lost[dir] = 1;
}

/*
 * Counts bytes that no hook saw: those that splice(2) or a mapping read, and operations whose program the kernel
 * skipped (preempt.bpf.h). The offset of the next record shows the gap. Where TCP counts fewer bytes than the hooks,
 * they are not its own (BPF redirects them): such a connection is not compared.
 */
static __always_inline void count_missed(struct call_sock *s, struct sock *sk, __u32 dir, __u32 size)
{
	const struct tcp_sock___at *tp = (const void *)bpf_skc_to_tcp_sock(sk);
	__u32 at, missed;

	if (!tp)
		return;
	at = tcp_at(tp, dir);
	missed = at - s->at[dir] - size;
	s->at[dir] = at;
	if (!missed || is_fin(sk, dir, missed))
		return;
	if ((__s32)missed < 0) {
		s->counted = 0;
		return;
	}
	s->bytes[dir] += missed;
	walk_missed(s, dir, missed);
}

/* Bytes that wait in the socket; more than any where they are in too many buffers. */
static __always_inline __u64 unread(const struct sock *sk)
{
	const struct sock___at *at = (const void *)sk;
	const struct sk_buff___at *skb = (const void *)BPF_CORE_READ(at, sk_receive_queue.next);
	__u32 n = BPF_CORE_READ(at, sk_receive_queue.qlen);
	__u64 bytes = 0;

	if (n > UNREAD_BUFFERS)
		return ~0ull >> 1;
	for (__u32 i = 0; i < UNREAD_BUFFERS && i < n; i++) {
		const struct unix_skb_parms___at *parms = (const void *)&skb->cb;

		bytes += BPF_CORE_READ(skb, len) - BPF_CORE_READ(parms, consumed);
		skb = (const void *)BPF_CORE_READ(skb, next);
	}
	return bytes;
}

/*
 * The same of a local socket, of which the other end's count is the measure: it counts bytes after they are in the
 * queue, so that it may be behind, but not ahead.
 */
static __always_inline void local_missed(struct call_sock *s, struct sock *sk)
{
	const struct unix_sock___at *u = (const void *)bpf_skc_to_unix_sock(sk);
	const struct call_sock *peer;
	__s64 missed;

	if (!u || !u->peer)
		return;
	peer = bpf_sk_storage_get(&call_socks, u->peer, NULL, 0);
	if (!peer)
		return;
	missed = *(const volatile __u64 *)&peer->bytes[CALL_TX] - s->bytes[CALL_RX];
	if (missed <= 0)
		return;
	missed -= unread(sk);
	if (missed <= 0)
		return;
	s->bytes[CALL_RX] += missed;
	walk_missed(s, CALL_RX, missed);
}

static __always_inline int operated(struct sock *sk, int ret, __u32 dir)
{
	struct task_struct *task;
	struct call_sock *s;
	struct call_op op;

	if (ret < 0)
		return 0;
	task = bpf_get_current_task_btf();
	if (!is_selected(task))
		return 0;
	s = bpf_sk_storage_get(&call_socks, sk, NULL, ret ? BPF_SK_STORAGE_GET_F_CREATE : 0);
	if (!s)
		return 0;
	s->bytes[dir] += ret;
	if (s->class == CLASS_IGNORED)
		return 0;
	op = (struct call_op){
		.sk = sk, .s = s, .size = ret, .dir = dir,
		.tgid = task->tgid, .tid = task->pid, .start_ns = task->group_leader->start_boottime,
	};
	if (!ret)
		return dir == CALL_RX ? op_end(&op) : 0;
	if (s->class == CLASS_NEW) {
		s->cookie = bpf_get_socket_cookie(sk);
		count_begin(s, sk);
	} else if (s->counted && s->class != CLASS_TLS) {
		count_missed(s, sk, dir, ret);
	}
	/* At first: what a process that is not selected has read. */
	if (s->local && s->class != CLASS_TLS && (dir == CALL_RX || s->class == CLASS_NEW))
		local_missed(s, sk);
	op.regs = (const struct pt_regs *)bpf_task_pt_regs(task);
	op.is_32bit = task->REGS_STATUS & REGS_32BIT;
	return op_run(&op);
}

TP_PROG(sock_send_length, 0, call_send, struct sock *sk, int ret, int flags)
{
	return operated(sk, ret, CALL_TX);
}

TP_PROG(sock_recv_length, 1, call_recv, struct sock *sk, int ret, int flags)
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
