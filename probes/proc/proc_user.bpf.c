// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Users of sockets: the process that sends or receives on a socket owns it from then on, so that packets of prefork
 * servers, of sockets passed over a unix socket and of forked children have the worker's name.
 *
 * Since 6.3 two tracepoints see every way to send or receive. Older kernels show a reader of TCP, and a writer by its
 * packet in process context; sockets of other protocols keep their maker until the process sends.
 */
#include "probes/proc/proc_sock.bpf.h"

#define PREEMPT_UNIT user
#include "bpf/preempt.bpf.h"
#include "bpf/ring.bpf.h"

#include <bpf/bpf_tracing.h>

static __always_inline void use_record(const struct sock *sk, __u64 cookie)
{
	struct sonde_ledger *l = ledger_seen(PROC_CLASS_USE);
	struct proc_socket_rec *r;
	struct sonde_tuple t;

	if (!l)
		return;
	r = rec_reserve(l, LANE_BULK, sizeof(*r));
	if (!r)
		return;
	sock_tuple(&t, sk);
	rec_init_keys(&r->hdr, l, PROC_REC_SOCKET, sizeof(*r), PROC_CLASS_USE | SONDE_RF_IDENT, 0, 0, 0);
	sock_record(r, &t, cookie, owner_by_cookie(cookie));
	r->what = PROC_SOCK_USE;
	r->state = sk->__sk_common.skc_state;
	rec_submit(l, LANE_BULK, &r->hdr);
}

static __always_inline bool sock_is_inet(const struct sock *sk)
{
	return sk->__sk_common.skc_family != AF_PACKET;
}

/* The first use by @task, or one after a while. */
static __noinline int use_changed(struct sock *sk, struct task_struct *task)
{
	struct sock_user u = { .told = bpf_jiffies64(), .execs = task->self_exec_id }, *have;
	bool is_new;

	if (sock_is_kernels(sk, task))
		return 0;
	u.cookie = bpf_get_socket_cookie(sk);
	u.tgid = task->tgid;
	u.start_ns = task->group_leader->start_boottime;
	u.changes = owner_use(u.cookie, task, &is_new);
	have = bpf_sk_storage_get(&sonde_sock_user, sk, NULL, 0);
	/* the packet of the first use may have changed the owner already (net_emit.bpf.h) */
	is_new |= have && (have->cookie != u.cookie || have->tgid != u.tgid || have->start_ns != u.start_ns);
	have = have ?: bpf_sk_storage_get(&sonde_sock_user, sk, &u, BPF_SK_STORAGE_GET_F_CREATE);
	if (have)
		*have = u;
	if (is_new && sock_is_inet(sk))
		use_record(sk, u.cookie);
	return 0;
}

static __always_inline int used(struct sock *sk, int ret)
{
	struct task_struct *task;
	struct sock_user *u;

	if (ret < 0 || !sock_sends_packets(sk))
		return 0;
	u = bpf_sk_storage_get(&sonde_sock_user, sk, NULL, 0);
	task = bpf_get_current_task_btf();
	if (u && u->tgid == task->tgid && u->start_ns == task->group_leader->start_boottime &&
	    u->execs == task->self_exec_id && u->cookie == sk->__sk_common.skc_cookie.counter &&
	    bpf_jiffies64() - u->told < USER_REFRESH_TICKS)
		return 0;
	return use_changed(sk, task);
}

/* Since 6.3, after the call of the protocol. */
TP_PROG(sock_send_length, 5, proc_send, struct sock *sk, int ret)
{
	return used(sk, ret);
}

TP_PROG(sock_recv_length, 6, proc_recv, struct sock *sk, int ret)
{
	return used(sk, ret);
}

/* ---- before 6.3: no storage either (5.12) ---- */

static __always_inline int used_plain(struct sock *sk)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u64 cookie = BPF_CORE_READ(sk, __sk_common.skc_cookie.counter);
	struct sonde_owner *have = owner_by_cookie(cookie);
	bool is_new;

	if (!cookie || (have && have->tgid == bpf_get_current_pid_tgid() >> 32 && have->cookie == cookie))
		return 0;
	if (sock_is_kernels(sk, task))
		return 0;
	owner_use(cookie, task, &is_new);
	if (is_new && sock_is_inet(sk))
		use_record(sk, cookie);
	return 0;
}

/* In recvmsg(2) of TCP; other callers read in softirqs. */
SEC("tp_btf/tcp_rcv_space_adjust")
int BPF_PROG_NOPREEMPT(proc_read_tcp, struct sock *sk)
{
	return in_process_context((void *)bpf_get_current_task()) ? used_plain(sk) : 0;
}

/* A packet of the running process. */
SEC("tp_btf/net_dev_queue")
int BPF_PROG(proc_write_packet, struct sk_buff *skb)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct sock *sk = skb->sk;

	if (!sk || !in_process_context(task) || !sock_sends_packets(sk) || !sock_sends_now(sk, task))
		return 0;
	return used_plain(sk);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
