/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Sockets that share an address (SO_REUSEPORT): which of them receives a packet. Tc programs only: they may ask the
 * kernel for the socket that it will choose. A connection request knows the listener that was chosen.
 *
 * The kernel's look-up has no packet, so it ignores a program that chooses (SO_ATTACH_REUSEPORT_*BPF): the member of
 * such a group is unknown until the packet is delivered.
 */
#ifndef NET_GROUP_BPF_H
#define NET_GROUP_BPF_H

#include "probes/net/packet/net_packet.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock_reuseport___group {
	void *prog;
};

struct sock___group {
	struct sock_reuseport___group *sk_reuseport_cb;
};

struct sock_common___group {
	struct sock *skc_listener;	/* of a request */
};

struct sk_buff___group {
	struct sock *sk;
};

#pragma clang attribute pop

static __always_inline bool group_is_steered(struct sock *sk)
{
	struct sock_reuseport___group *group = BPF_CORE_READ((struct sock___group *)sk, sk_reuseport_cb);

	return group && BPF_CORE_READ(group, prog);
}

/* The listener of the request @req. */
static __always_inline bool end_of_request(struct net_end *e, struct sock *req)
{
	struct sock *sk = BPF_CORE_READ((struct sock_common___group *)req, skc_listener);

	return sk && end_set(e, BPF_CORE_READ(sk, __sk_common.skc_cookie.counter), SONDE_HOW_LISTENER, false);
}

/* @sk: the answer of the look-up. */
static __always_inline bool end_of_socket(struct net_end *e, struct sock *sk, __u8 proto)
{
	__u8 state = BPF_CORE_READ(sk, __sk_common.skc_state), how = SONDE_HOW_LOOKUP;

	if (state == TCP_TIME_WAIT)	/* not a whole socket */
		return false;
	if (state == TCP_NEW_SYN_RECV)
		return end_of_request(e, sk);
	if (proto == IPPROTO_TCP && state == TCP_LISTEN)
		how = SONDE_HOW_LISTENER;
	if (group_is_steered(sk))
		return false;
	return end_set(e, BPF_CORE_READ(sk, __sk_common.skc_cookie.counter), how, false);
}

static __always_inline struct bpf_sock *group_lookup(struct __sk_buff *skb, const struct sonde_tuple *sent)
{
	struct bpf_sock_tuple t;

	tuple_to_query(&t, sent);
	if (sent->proto == IPPROTO_UDP)
		return sent->family == SONDE_IPV4 ?
		       bpf_sk_lookup_udp(skb, &t, sizeof(t.ipv4), BPF_F_CURRENT_NETNS, 0) :
		       bpf_sk_lookup_udp(skb, &t, sizeof(t.ipv6), BPF_F_CURRENT_NETNS, 0);
	return sent->family == SONDE_IPV4 ?
	       bpf_skc_lookup_tcp(skb, &t, sizeof(t.ipv4), BPF_F_CURRENT_NETNS, 0) :
	       bpf_skc_lookup_tcp(skb, &t, sizeof(t.ipv6), BPF_F_CURRENT_NETNS, 0);
}

/* Completes the receiver @e of a packet with the tuples of @s, if it is one of a group. */
static __always_inline void receiver_of_group(struct __sk_buff *skb, const struct net_scratch *s, struct net_end *e)
{
	struct sock *addr = NULL;
	struct bpf_sock *sk;

	if (e->how != SONDE_HOW_GROUP || s->is_error ||
	    (s->sent.proto != IPPROTO_UDP && s->sent.proto != IPPROTO_TCP))
		return;
	sk = group_lookup(skb, &s->sent);
	if (!sk)
		return;
	bpf_probe_read_kernel(&addr, sizeof(addr), &sk);	/* the verifier allows no field of this pointer */
	end_of_socket(e, addr, s->sent.proto);
	bpf_sk_release(sk);
}

/* Completes the sender @e of a SYN-ACK, if it is one of a group: the packet's socket is the request. */
static __always_inline void sender_of_group(struct __sk_buff *skb, struct net_end *e)
{
	struct sock *sk = NULL;

	if (e->how != SONDE_HOW_GROUP)
		return;
	bpf_probe_read_kernel(&sk, sizeof(sk), (void *)skb + bpf_core_field_offset(struct sk_buff___group, sk));
	if (sk && BPF_CORE_READ(sk, __sk_common.skc_state) == TCP_NEW_SYN_RECV)
		end_of_request(e, sk);
}

#endif
