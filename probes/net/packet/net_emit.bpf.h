/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Fills the scratch record of a packet at tc: bytes, owner, observation point.
 */
#ifndef NET_EMIT_BPF_H
#define NET_EMIT_BPF_H

#include "probes/net/packet/net_group.bpf.h"
#include "probes/net/packet/net_load.bpf.h"
#include "probes/net/packet/net_packet.bpf.h"
#include "probes/net/packet/net_points.bpf.h"

/* Fills head and packet bytes. Returns the number of bytes in the record, or negative. */
static __always_inline long fill_packet(struct __sk_buff *skb, struct net_rec *r, bool tagged, int verdict)
{
	__u32 snap = snaplen(NET_KIND_TRACE, verdict), want = snap > NET_HEAD_BYTES ? snap : NET_HEAD_BYTES;
	__u32 len = skb->len + (tagged ? 4 : 0);

	if (len < NET_HEAD_BYTES)
		__builtin_memset(r->data, 0, NET_HEAD_BYTES);
	r->orig_len = len;
	if (want > len)
		want = len;
	/* Before 6.8 the verifier learns nothing from a comparison with zero: the length minus one is compared. */
	want--;
	barrier_var(want);
	if (want >= net_snap_limit)
		return -1;
	want++;
	if (load_packet(skb, r->data, want, tagged))
		return -1;
	r->cap_len = want < snap ? want : snap;
	return 0;
}

struct sk_buff___sk {
	struct sock *sk;
} __attribute__((preserve_access_index));

static __always_inline struct sock *packet_sock(struct __sk_buff *skb)
{
	struct sock *sk = NULL;

	bpf_probe_read_kernel(&sk, sizeof(sk), (void *)skb + bpf_core_field_offset(struct sk_buff___sk, sk));
	return sk;
}

static __always_inline bool packet_has_state(struct __sk_buff *skb, __u8 state)
{
	struct sock *sk = packet_sock(skb);

	return sk && BPF_CORE_READ(sk, __sk_common.skc_state) == state;
}

/* The first packet by a new user of the socket leaves before its call ends: the probe proc sees the user later. */
static __always_inline void sender_is_running(struct __sk_buff *skb, __u64 cookie, struct net_end *e)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct sock *sk;
	bool is_new;

	if (e->proc && e->proc->cookie == cookie && e->proc->tgid == BPF_CORE_READ(task, tgid))
		return;
	if (!in_process_context(task))
		return;
	sk = packet_sock(skb);
	if (!sk || !sock_sends_now(sk, task))
		return;
	owner_use(cookie, task, &is_new);
	end_set(e, cookie, SONDE_HOW_SKB, e->foreign);
}

/* A listener resets what is late for a closed connection, whose user the packet belongs to (6.13). */
static __always_inline void reset_by_listener(struct net_end *e, const struct net_scratch *s)
{
	struct net_end closed = {};

	if (end_exact(&closed, &s->sent, SONDE_HOW_TUPLE) && closed.known)
		*e = closed;
}

/*
 * The sender by the socket that the packet carries: always at egress, and at ingress behind a veth, where it is in
 * another namespace. False without a process: sockets of the kernel reply for others, connection requests have none.
 */
static __always_inline bool sender_by_socket(struct __sk_buff *skb, struct net_scratch *s, __u8 dir, bool is_ip,
					     struct net_end *e)
{
	__u64 cookie = bpf_get_socket_cookie(skb);

	if (!end_set(e, cookie, SONDE_HOW_SKB, dir == NET_DIR_IN))
		return false;
	if (dir == NET_DIR_OUT)
		sender_is_running(skb, cookie, e);
	if (!e->known)
		return false;
	if (!is_ip || s->is_error)
		return true;
	/* no process uses a listener: other packets do not get as far as its state */
	if (e->proc->by != SONDE_OWNER_USER && packet_has_state(skb, TCP_LISTEN)) {
		reset_by_listener(e, s);
		return true;
	}
	if (dir == NET_DIR_IN)	/* netns 0: of a socket elsewhere */
		flow_set(&s->sent, cookie, 0);
	else if (flow_feed_due(e->proc, flow_hash(&s->sent), bpf_ktime_get_ns()))
		sender_set(&s->sent, cookie);
	return true;
}

/*
 * A connection request answers with the cookie that its connection will have: packets to the connection find it as
 * soon as it is established.
 */
static __always_inline void feed_request(struct __sk_buff *skb, struct net_scratch *s)
{
	if (packet_has_state(skb, TCP_NEW_SYN_RECV))
		sender_set(&s->sent, bpf_get_socket_cookie(skb));
}

/* Owner and peer of a packet whose tuples are in @s (@is_ip). The local end comes first. */
static __always_inline void find_ends(struct __sk_buff *skb, struct net_scratch *s, __u8 dir, bool is_ip,
				      struct net_ends *ret)
{
	bool out = dir == NET_DIR_OUT, by_socket;
	struct net_end sender = {}, receiver = { .begins = s->begins };

	s->origin.family = 0;
	if (is_ip)
		find_origin(s, skb);
	by_socket = sender_by_socket(skb, s, dir, is_ip, &sender);
	sender.begins = s->begins;
	if (!by_socket && is_ip && !(out && sender_by_translation(&sender, s)))
		sender_by_tuple(&sender, s);
	if (out)
		sender_of_group(skb, &sender);
	if (!by_socket && is_ip && out && !s->is_error && s->sent.proto == IPPROTO_TCP)
		feed_request(skb, s);
	if (is_ip) {
		receiver_by_tuple(&receiver, s, false);
		receiver_of_group(skb, s, &receiver);
	}
	ends_order(ret, &sender, &receiver, out && !s->is_error);
}

static __always_inline void fill_rec(struct __sk_buff *skb, struct net_rec *r, __u8 dir, __u32 link)
{
	__u32 ifindex = skb->ifindex;
	struct net_point *p = bpf_map_lookup_elem(&net_points, &ifindex);

	rec_set_task(r);
	r->location = 0;
	r->netns = r->id.netns = net_want_netns;
	r->ifindex = ifindex;
	r->reason = 0;
	r->prog_id = 0;
	r->mark = skb->mark;
	r->hash = skb->hash;
	r->link = link;
	r->n_stack = 0;
	r->point = !p ? NET_POINT_NONE : dir == NET_DIR_IN ? p->in : p->out;
	r->dir = dir;
	r->error = 0;
}

#endif
