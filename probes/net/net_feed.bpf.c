// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Who sent what, in every network namespace: where a packet with a socket is handed to a device, its tuple is
 * remembered, so that a drop on the receiving side knows the sender. Makes no records. Namespaces in which
 * the tc programs do the same are left out.
 */
#include "bpf/kernel.h"

#include "probes/net/net_skb.bpf.h"

/* void (skb) */
SEC("tp_btf/net_dev_queue")
int feed_tuple(__u64 *ctx)
{
	struct sk_buff *skb = (struct sk_buff *)ctx[0];
	struct sock *sk = skb->sk;
	struct sonde_owner *owner;
	struct sonde_tuple t;
	bool turned;
	__u8 head[NET_HEAD_BYTES];
	__u64 cookie, now;
	__u32 netns;

	if (!sk)
		return 0;
	cookie = sk->__sk_common.skc_cookie.counter;
	netns = sk_netns(sk);
	owner = owner_by_cookie(cookie);
	if (!netns || netns == net_want_netns || !owner)
		return 0;
	now = bpf_ktime_get_ns();
	/* a connected socket has one tuple: no need to look at the packet */
	if (sk->__sk_common.skc_dport && now - owner->fed_ns < TUPLE_FEED_NS)
		return 0;
	__builtin_memset(head, 0, sizeof(head));
	if (bpf_probe_read_kernel(head, 48, skb->head + skb->network_header))
		return 0;
	if (!head_tuple(head, SONDE_LINK_RAW, netns, &t, &turned) || turned)
		return 0;
	if (!tuple_feed_due(owner, tuple_hash(&t), now))
		return 0;
	tuple_set(&t, cookie);
	remote_set(&t, cookie);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
