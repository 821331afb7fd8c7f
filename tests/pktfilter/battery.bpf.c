// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The packet filter at each kind of hook. Programs note their verdict under the number in the packet's mark. The
 * ingress programs throw the packet away, so that the drop hook judges it too.
 */
#include "bpf/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/compat.bpf.h"
#include "bpf/pktfilter.bpf.h"
#include "kernel_wire.h"

#define TC_NEXT (-1)
#define TC_SHOT 2

const volatile __u32 mark_base = BATTERY_MARK;

__u8 verdicts[HOOK__MAX][BATTERY_PACKETS_MAX];	/* verdict + 1; 0 = was not there */
struct hook_count counts[HOOK__MAX];
__u32 current;	/* mark of the packet that is being written to the tun device */

static __always_inline void note(__u32 hook, __u32 mark, int verdict, bool nonlinear, bool tagged)
{
	__u32 i = mark & (BATTERY_PACKETS_MAX - 1);

	if (mark - i != mark_base)
		return;
	verdicts[hook][i] = (__u8)(verdict + 1);
	counts[hook].packets++;
	counts[hook].nonlinear += nonlinear;
	counts[hook].tagged += tagged;
}

static __always_inline bool is_nonlinear(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;

	return data + skb->len > end;
}

SEC("tc")
int verdict_l2(struct __sk_buff *skb)
{
	return pktfilter_tc(skb, SONDE_LINK_ETHERNET);
}

SEC("tc")
int verdict_l3(struct __sk_buff *skb)
{
	return pktfilter_tc(skb, SONDE_LINK_RAW);
}

SEC("tc")
int nothing(struct __sk_buff *skb)
{
	return 0;
}

SEC("tcx/egress")
int judge_egress(struct __sk_buff *skb)
{
	note(HOOK_EGRESS, skb->mark, pktfilter_tc(skb, SONDE_LINK_ETHERNET), is_nonlinear(skb), skb->vlan_present);
	return TC_NEXT;
}

SEC("tcx/ingress")
int judge_ingress(struct __sk_buff *skb)
{
	note(HOOK_INGRESS, skb->mark, pktfilter_tc(skb, SONDE_LINK_ETHERNET), is_nonlinear(skb), skb->vlan_present);
	return TC_SHOT;
}

SEC("tcx/ingress")
int judge_l3(struct __sk_buff *skb)
{
	skb->mark = current;
	note(HOOK_L3, current, pktfilter_tc(skb, SONDE_LINK_RAW), is_nonlinear(skb), skb->vlan_present);
	return TC_SHOT;
}

static __always_inline void judge_drop(struct sk_buff *skb, __u32 hook, __u32 link, __u32 start)
{
	bool tagged = skb_has_vlan(skb);
	struct pktfilter_packet p = {
		.skb = skb, .start = skb->head + start, .linear = skb->tail - start,
		.len = skb->len + (__u32)(skb->data - skb->head) - start, .link = link, .tagged = tagged,
		.vlan_proto = skb->vlan_proto, .vlan_tci = skb->vlan_tci,
	};

	note(hook, skb->mark, pktfilter_skb(&p), skb->data_len != 0, tagged);
}

SEC("tp_btf/kfree_skb")
int judge_drop_l2(__u64 *ctx)
{
	struct sk_buff *skb = (struct sk_buff *)ctx[0];

	if (skb->mac_header != skb->network_header)
		judge_drop(skb, HOOK_DROP, SONDE_LINK_ETHERNET, skb->mac_header);
	return 0;
}

SEC("tp_btf/kfree_skb")
int judge_drop_l3(__u64 *ctx)
{
	struct sk_buff *skb = (struct sk_buff *)ctx[0];

	if (skb->mac_header == skb->network_header)
		judge_drop(skb, HOOK_L3_DROP, SONDE_LINK_RAW, skb->network_header);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
