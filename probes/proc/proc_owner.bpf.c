// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Owners of sockets: fills the maps of bpf/ident_sock.bpf.h and bpf/ident_flow.bpf.h.
 *
 * TCP sockets get theirs at state changes: connect() and listen() run in the process that becomes the owner, an
 * accepted connection takes the listener's. All others get theirs in cgroup hooks at creation, bind and release.
 * Those hooks emit no records: they are preemptible, so a per-CPU ledger would not balance. A process that uses the
 * socket later becomes its owner (proc_user.bpf.c).
 */
#include "bpf/ident_listen.bpf.h"
#include "probes/proc/proc_sock.bpf.h"

#define PREEMPT_UNIT owner
#include "bpf/preempt.bpf.h"
#include "bpf/ring.bpf.h"

#include <bpf/bpf_tracing.h>

/* Inode of a network namespace by its cookie, the only id that a cgroup hook has. */
MAP(proc_netns, LRU_HASH, 1024, __u64, __u32);

/* Tuple of a bound socket in sonde_senders, removed on release: cookie -> tuple. */
MAP(proc_bound, LRU_HASH, 16384, __u64, struct sonde_tuple);

/* ---- TCP ---- */

static __always_inline void tcp_record(struct sonde_ledger *l, const struct sonde_tuple *t, __u64 cookie,
				       __u64 listener, __u8 what, __u8 state)
{
	struct proc_socket_rec *r = rec_reserve(l, LANE_BULK, sizeof(*r));

	if (!r)
		return;
	rec_init_keys(&r->hdr, l, PROC_REC_SOCKET, sizeof(*r), PROC_CLASS_TCP | SONDE_RF_IDENT, 0, 0, 0);
	sock_record(r, t, cookie, owner_by_cookie(cookie));
	r->what = what;
	r->state = state;
	r->listener = listener;
	rec_submit(l, LANE_BULK, &r->hdr);
}

/* The owner of @from is the owner of @to until a process uses that; o.cookie remains @from. */
static __always_inline void owner_copy(__u64 from, __u64 to)
{
	struct sonde_owner *have = owner_by_cookie(from), o;

	if (!have)
		return;
	o = *have;
	o.cookie = from;
	o.ended = 0;
	bpf_map_update_elem(&sonde_sock_owner, &to, &o, BPF_ANY);
}

/* Cookie of the listener that the new connection @t came through, by its addresses. */
static __always_inline __u64 listener_by_tuple(const struct sonde_tuple *t)
{
	struct sonde_sender *s = flow_listener(t);

	return s ? s->cookie : 0;
}

static __always_inline int tcp_state(const struct sock *sk, int from, int to, __u64 cookie, __u64 listener)
{
	struct sonde_ledger *l;
	struct sonde_tuple t;
	__u8 what;

	if (!cookie || !sock_tuple(&t, sk) || t.proto != IPPROTO_TCP)
		return 0;
	if (to == TCP_SYN_SENT) {
		/* In connect(), before a port is chosen: the record waits for the outcome. */
		owner_set(cookie, (void *)bpf_get_current_task());
		return 0;
	} else if (to == TCP_LISTEN) {
		what = PROC_SOCK_LISTEN;
		owner_set(cookie, (void *)bpf_get_current_task());
		tuple_set_dual(&t, cookie, BPF_CORE_READ_BITFIELD_PROBED(sk, __sk_common.skc_ipv6only));
		listen_add(sk, cookie);
	} else if (to == TCP_ESTABLISHED && from == TCP_SYN_RECV) {
		what = PROC_SOCK_ACCEPT;
		listener = listener ?: listener_by_tuple(&t);
		owner_copy(listener, cookie);
		flow_set(&t, cookie, t.netns);
	} else if (to == TCP_ESTABLISHED) {
		what = PROC_SOCK_CONNECT;
		flow_set(&t, cookie, t.netns);
	} else if (to == TCP_CLOSE) {
		/* A connection stays known: late packets of it belong to whoever had it. A port does not. */
		what = PROC_SOCK_CLOSE;
		owner_end(cookie, SONDE_ENDED_TCP);
		if (from == TCP_LISTEN) {
			tuple_unset_dual(&t, cookie);
			listen_remove(cookie);
		} else if (from == TCP_SYN_SENT && t.lport) {
			flow_set(&t, cookie, t.netns);
		}
	} else {
		return 0;
	}
	l = ledger_seen(PROC_CLASS_TCP);
	if (l)
		tcp_record(l, &t, cookie, listener, what, from);
	return 0;
}

/* The process that makes @sk uses it first; connections inherit the value of their listener. */
static __always_inline void user_set(struct sock *sk, __u64 cookie)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct sock_user u = { .cookie = cookie, .told = bpf_jiffies64() }, *have;

	u.tgid = BPF_CORE_READ(task, tgid);
	u.start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	u.execs = BPF_CORE_READ(task, self_exec_id);
	have = bpf_sk_storage_get(&sonde_sock_user, sk, &u, BPF_SK_STORAGE_GET_F_CREATE);
	if (have)
		*have = u;
}

/* Since 5.12: tracing programs may ask for a cookie and use socket storage. */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG_NOPREEMPT(proc_tcp, struct sock *sk, int from, int to)
{
	__u64 cookie, listener = 0;
	struct sock_user *u;

	if (to != TCP_SYN_SENT && to != TCP_LISTEN && to != TCP_ESTABLISHED && to != TCP_CLOSE)
		return 0;
	cookie = bpf_get_socket_cookie(sk);
	if (to == TCP_LISTEN || to == TCP_SYN_SENT) {
		user_set(sk, cookie);
	} else if (from == TCP_SYN_RECV) {
		u = bpf_sk_storage_get(&sonde_sock_user, sk, NULL, 0);
		listener = u ? u->cookie : 0;
	}
	return tcp_state(sk, from, to, cookie, listener);
}

/* Before: the cookie is there if the creation hook, proc_tcp_accept() or somebody else asked for it. */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG_NOPREEMPT(proc_tcp_plain, struct sock *sk, int from, int to)
{
	return tcp_state(sk, from, to, BPF_CORE_READ(sk, __sk_common.skc_cookie.counter), 0);
}

/*
 * Asks for the cookie of an accepted connection, just before its state changes. Replies to nothing, so that TCP does
 * as without it.
 */
SEC("sockops")
int proc_tcp_accept(struct bpf_sock_ops *ctx)
{
	if (ctx->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
		bpf_get_socket_cookie(ctx);
	return 1;
}

/* ---- everything else ---- */

/* Inode of the namespace that @ns_cookie names. The current task's is right unless it changed since socket(2). */
static __always_inline __u32 netns_inode(__u64 ns_cookie)
{
	__u32 *known = bpf_map_lookup_elem(&proc_netns, &ns_cookie), inum;
	struct task_struct *task = (void *)bpf_get_current_task();
	struct net *net;
	__u64 cookie;

	if (known)
		return *known;
	net = BPF_CORE_READ(task, nsproxy, net_ns);
	if (bpf_core_field_exists(struct net___plain, net_cookie))
		cookie = BPF_CORE_READ((struct net___plain *)net, net_cookie);
	else
		cookie = BPF_CORE_READ((struct net___atomic *)net, net_cookie.counter);
	if (cookie != ns_cookie)
		return 0;
	inum = BPF_CORE_READ(net, ns.inum);
	bpf_map_update_elem(&proc_netns, &ns_cookie, &inum, BPF_ANY);
	return inum;
}

/* In socket(2). Asking makes the cookie, which kernels before 5.12 need for TCP too. */
SEC("cgroup/sock_create")
int proc_sock_create(struct bpf_sock *ctx)
{
	__u64 cookie = bpf_get_socket_cookie(ctx);

	if (ctx->type == SOCK_STREAM)
		return 1;
	netns_inode(bpf_get_netns_cookie(ctx));
	owner_set(cookie, (void *)bpf_get_current_task());
	return 1;
}

static __always_inline void bound(struct bpf_sock *ctx, struct sonde_tuple *t)
{
	__u64 cookie = bpf_get_socket_cookie(ctx);

	t->netns = netns_inode(bpf_get_netns_cookie(ctx));
	t->proto = ctx->protocol;
	t->lport = ctx->src_port;
	if (!t->netns || !t->lport)
		return;
	owner_set(cookie, (void *)bpf_get_current_task());
	/* the context lies at the address of the socket */
	tuple_set_dual(t, cookie, BPF_CORE_READ_BITFIELD_PROBED((struct sock *)ctx, __sk_common.skc_ipv6only));
	bpf_map_update_elem(&proc_bound, &cookie, t, BPF_ANY);
}

SEC("cgroup/post_bind4")
int proc_bind4(struct bpf_sock *ctx)
{
	struct sonde_tuple t = { .family = SONDE_IPV4 };

	if (ctx->type == SOCK_STREAM)
		return 1;
	*(__u32 *)t.laddr = ctx->src_ip4;
	bound(ctx, &t);
	return 1;
}

SEC("cgroup/post_bind6")
int proc_bind6(struct bpf_sock *ctx)
{
	struct sonde_tuple t = { .family = SONDE_IPV6 };

	if (ctx->type == SOCK_STREAM)
		return 1;
	((__u32 *)t.laddr)[0] = ctx->src_ip6[0];
	((__u32 *)t.laddr)[1] = ctx->src_ip6[1];
	((__u32 *)t.laddr)[2] = ctx->src_ip6[2];
	((__u32 *)t.laddr)[3] = ctx->src_ip6[3];
	flow_unmap_v4(&t);
	bound(ctx, &t);
	return 1;
}

/* In close(2) of the last descriptor. */
SEC("cgroup/sock_release")
int proc_sock_release(struct bpf_sock *ctx)
{
	struct sonde_tuple *have, t;
	__u64 cookie;

	if (ctx->type == SOCK_STREAM)
		return 1;
	cookie = bpf_get_socket_cookie(ctx);
	owner_end(cookie, SONDE_ENDED_PORT);
	have = bpf_map_lookup_elem(&proc_bound, &cookie);
	if (!have)
		return 1;
	t = *have;
	tuple_unset_dual(&t, cookie);
	bpf_map_delete_elem(&proc_bound, &cookie);
	return 1;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
