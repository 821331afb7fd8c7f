// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Packets at the interfaces of one network namespace: tcx or clsact, ingress and egress. An observer: the
 * verdict is always "next", no byte is changed and nothing is pulled. One object is loaded per namespace.
 *
 * A program exists per direction and per start of the packet (Ethernet header or IP header), so that the
 * packet filter is compiled for the bytes it will see.
 */
#include "bpf/kernel.h"

#include "probes/net/flow/net_conn_state.bpf.h"
#include "probes/net/count/net_count.bpf.h"
#include "probes/net/packet/net_emit.bpf.h"

/* True: nothing is to be told of it. */
static __always_inline bool count_packet(struct __sk_buff *skb, __u8 dir, __u32 link)
{
	struct net_count_key key = {
		.netns = net_want_netns, .ifindex = skb->ifindex, .kind = NET_COUNT_PASS, .dir = dir,
	};
	__u32 ifindex = skb->ifindex;
	struct net_point *p;

	p = bpf_map_lookup_elem(&net_points, &ifindex);
	key.point = !p ? NET_POINT_NONE : dir == NET_DIR_IN ? p->in : p->out;
	return count_add(&key, skb->len + (link == SONDE_LINK_ETHERNET && skb->vlan_present ? 4 : 0));
}

static __always_inline void observe(struct __sk_buff *skb, struct sonde_ledger *l, struct net_scratch *s, __u8 dir,
				    __u32 link, int verdict)
{
	__u16 class = dir == NET_DIR_IN ? NET_CLASS_INGRESS : NET_CLASS_EGRESS;
	bool tagged = link == SONDE_LINK_ETHERNET && skb->vlan_present;
	struct net_rec *r = &s->rec;
	struct sonde_owner *o;
	bool is_ip;

	if (fill_packet(skb, r, tagged, verdict) < 0) {
		rec_lost(l, SONDE_LOST_COPY);
		return;
	}
	is_ip = scratch_tuples(s, link, net_want_netns);
	o = find_owner(skb, s, dir, is_ip);
	if (!owner_pass(l, o))
		return;
	if (net_counting && selects_process() && count_packet(skb, dir, link))
		return;
	if (!rate_pass(l, NET_KIND_TRACE))
		return;
	rec_begin(r, l, NET_EV_TRACE, rec_flags(class, verdict, r->cap_len < r->orig_len), o);
	fill_rec(skb, r, dir, link);
	r->reason = conv_state(skb, s, link, is_ip);
	r->hdr.len += r->cap_len;
	if (r->cap_len <= net_snap_limit)
		rec_output(l, LANE_BULK, &r->hdr, sizeof(*r) + r->cap_len);
	else /* cannot happen, which the verifier does not know */
		rec_lost(l, SONDE_LOST_COPY);
}

static __always_inline int packet(struct __sk_buff *skb, __u8 dir, __u32 link)
{
	struct sonde_ledger *l;
	struct net_scratch *s;
	int verdict;

	if (dir == NET_DIR_IN && is_looped_copy(skb))
		return TC_NEXT;
	l = ledger_seen(dir == NET_DIR_IN ? NET_CLASS_INGRESS : NET_CLASS_EGRESS);
	if (!l)
		return TC_NEXT;
	verdict = pktfilter_tc(skb, link);
	if (verdict == PKTFILTER_REJECT) {
		rec_filtered(l);
		return TC_NEXT;
	}
	/* before all that costs more; whose packet it is only a selection asks */
	if (net_counting && !selects_process() && count_packet(skb, dir, link))
		return TC_NEXT;
	s = scratch_take(l);
	if (!s)
		return TC_NEXT;
	observe(skb, l, s, dir, link, verdict);
	scratch_give(s);
	return TC_NEXT;
}

SEC("tc")
int sonde_in_l2(struct __sk_buff *skb)
{
	return packet(skb, NET_DIR_IN, SONDE_LINK_ETHERNET);
}

SEC("tc")
int sonde_out_l2(struct __sk_buff *skb)
{
	return packet(skb, NET_DIR_OUT, SONDE_LINK_ETHERNET);
}

SEC("tc")
int sonde_in_l3(struct __sk_buff *skb)
{
	return packet(skb, NET_DIR_IN, SONDE_LINK_RAW);
}

SEC("tc")
int sonde_out_l3(struct __sk_buff *skb)
{
	return packet(skb, NET_DIR_OUT, SONDE_LINK_RAW);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
