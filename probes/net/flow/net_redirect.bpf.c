// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Packets that a program or an action behind our tc programs redirects: counted with their flow at the redirection.
 * Where these functions cannot be traced, net_sender_tuples.bpf.c counts the packets that leave again. Emits no
 * records.
 */
#include "bpf/kernel.h"

#include "probes/net/flow/net_flow_direction.bpf.h"

#define MIRRED_EGRESS_REDIR 1	/* UAPI, TCA_* */
#define MIRRED_INGRESS_REDIR 3

struct tcf_mirred {
	int tcfm_eaction;
} __attribute__((preserve_access_index));

static __always_inline int redirected(struct sk_buff *skb)
{
	struct net_device *dev = skb_device(skb);
	__u8 head[NET_HEAD_BYTES];
	struct sonde_tuple t;

	if (dev)
		turn_redirected(skb, dev->ifindex, head, &t);
	return 0;
}

/* int (skb): carries out the helpers bpf_redirect(), bpf_redirect_peer() and bpf_redirect_neigh(). */
SEC("fentry/skb_do_redirect")
int redirect_bpf(__u64 *ctx)
{
	return redirected((struct sk_buff *)ctx[0]);
}

/* int (skb, action, result); a mirror copies, which is not a redirection */
SEC("fentry/tcf_mirred_act")
int redirect_mirred(__u64 *ctx)
{
	int action = BPF_CORE_READ((const struct tcf_mirred *)ctx[1], tcfm_eaction);

	if (action != MIRRED_EGRESS_REDIR && action != MIRRED_INGRESS_REDIR)
		return 0;
	return redirected((struct sk_buff *)ctx[0]);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
