/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Kernel sockets as keys: cookie, namespace, tuple. Shared by the tracepoint and the iterator of this probe.
 */
#ifndef PROC_SOCK_BPF_H
#define PROC_SOCK_BPF_H

#include "bpf/ident.bpf.h"
#include "bpf/ident_flow.bpf.h"
#include "bpf/ident_sock.bpf.h"
#include "probes/proc/proc_wire.h"

/* The port, also of a socket that gave it back a moment before it says that it is closed. */
static __always_inline __u16 sock_lport(const struct sock *sk)
{
	__u16 port = sk->__sk_common.skc_num;

	return port ? port : __builtin_bswap16(BPF_CORE_READ((const struct inet_sock *)sk, inet_sport));
}

/*
 * Addresses of @sk as seen from it; rport 0 for what is not connected. False for other families. @sk is an argument
 * of a tracepoint or comes from one, so it is loaded directly, but for pointers (proc_task.bpf.h says why).
 */
static __always_inline bool sock_tuple(struct sonde_tuple *t, const struct sock *sk)
{
	__u32 family = sk->__sk_common.skc_family;
	struct net *net = BPF_CORE_READ(sk, __sk_common.skc_net.net);

	__builtin_memset(t, 0, sizeof(*t));
	t->netns = BPF_CORE_READ(net, ns.inum);
	t->proto = sk->sk_protocol;
	t->lport = sock_lport(sk);
	t->rport = __builtin_bswap16(sk->__sk_common.skc_dport);
	if (family == AF_INET) {
		t->family = SONDE_IPV4;
		*(__u32 *)t->laddr = sk->__sk_common.skc_rcv_saddr;
		*(__u32 *)t->raddr = sk->__sk_common.skc_daddr;
		return true;
	}
	if (family != AF_INET6)
		return false;
	t->family = SONDE_IPV6;
	BPF_CORE_READ_INTO(&t->laddr, sk, __sk_common.skc_v6_rcv_saddr);
	BPF_CORE_READ_INTO(&t->raddr, sk, __sk_common.skc_v6_daddr);
	flow_unmap_v4(t);
	return true;
}

static __always_inline bool tuple_is_any_v6(const struct sonde_tuple *t)
{
	const __u32 *a = (const __u32 *)t->laddr;

	return t->family == SONDE_IPV6 && !(a[0] | a[1] | a[2] | a[3]) && !t->rport;
}

/*
 * As flow_set(); an IPv6 socket without address takes IPv4 as well, unless an IPv4 socket has the port. The second of
 * such sockets makes a group of both tuples.
 */
static __always_inline void tuple_set_dual(struct sonde_tuple *t, __u64 cookie, bool v6only)
{
	struct sonde_sender v = { .cookie = cookie, .netns = t->netns }, *have;
	__u64 before;

	if (!t->lport)
		return;
	have = flow_sender(t);
	before = have ? have->cookie : 0;
	flow_set(t, cookie, t->netns);
	if (!cookie || v6only || !tuple_is_any_v6(t))
		return;
	t->family = SONDE_IPV4;
	port_set_bound(t->lport);
	have = flow_sender(t);
	v.group = have && before && before != cookie && have->cookie == before;
	bpf_map_update_elem(&sonde_senders, t, &v, v.group ? BPF_ANY : BPF_NOEXIST);
	t->family = SONDE_IPV6;
}

static __always_inline void tuple_unset_dual(struct sonde_tuple *t, __u64 cookie)
{
	flow_unset(t, cookie);
	if (!tuple_is_any_v6(t))
		return;
	t->family = SONDE_IPV4;
	flow_unset(t, cookie);
	t->family = SONDE_IPV6;
}

static __always_inline void sock_record(struct proc_socket_rec *r, const struct sonde_tuple *t, __u64 cookie,
					const struct sonde_owner *o)
{
	r->hdr.tgid = r->hdr.tid = o ? o->tgid : 0;
	r->hdr.start_ns = o ? o->start_ns : 0;
	r->cgroup_id = o ? o->cgroup_id : 0;
	ident_keys(&r->id, o ? o->image : 0, r->cgroup_id, t->netns);
	r->id.sock = cookie;
	r->cookie = cookie;
	r->listener = 0;
	r->netns = t->netns;
	r->family = t->family;
	r->proto = t->proto;
	r->state = 0;
	r->lport = t->lport;
	r->rport = t->rport;
	__builtin_memcpy(r->laddr, t->laddr, sizeof(r->laddr));
	__builtin_memcpy(r->raddr, t->raddr, sizeof(r->raddr));
	__builtin_memset(r->comm, 0, sizeof(r->comm));
	if (o)
		__builtin_memcpy(r->comm, o->comm, sizeof(r->comm));
	r->pad = 0;
}

#endif
