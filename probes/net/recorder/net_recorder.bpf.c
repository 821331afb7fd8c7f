// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The flight recorder at the interfaces of one network namespace: stores each packet that passes the filter in a slot
 * of its CPU and direction, over the oldest one, without a wakeup. A dump finds the owner later: the socket's cookie
 * is enough here. An observer like net_tc.bpf.c.
 */
#include "bpf/kernel.h"

#include "bpf/pktfilter.bpf.h"
#include <bpf/bpf_helpers.h>

#include "probes/net/recorder/net_recorder_wire.h"
#include "probes/net/packet/net_load.bpf.h"
#include "probes/net/packet/net_packet.bpf.h"

const volatile __u32 net_recorder_mask;	     /* slots of a ring, a power of two, less one */
const volatile __u32 net_recorder_snap = 64; /* bytes of a packet that fit into a slot */

/* Shared by the namespaces of an instance. Sizes are set before load. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct net_slot) + NET_SNAP_MAX);
} inst_net_recorder_ring SEC(".maps");

MAP_FLAGS(inst_net_slot_pos, ARRAY, BPF_F_MMAPABLE, 1, __u32, struct net_recorder_pos);

/* The slot for the packet, marked as being written. */
static __always_inline struct net_slot *take_slot(__u8 dir, __u64 *ret_seq)
{
	__u32 ring = bpf_get_smp_processor_id() * NET_RECORDER_DIRS + (dir == NET_DIR_OUT), at;
	struct net_recorder_pos *pos = bpf_map_lookup_elem(&inst_net_slot_pos, &ring);
	struct net_slot *s;

	if (!pos)
		return NULL;
	*ret_seq = pos->n++;
	at = ring * (net_recorder_mask + 1) + (*ret_seq & net_recorder_mask);
	s = bpf_map_lookup_elem(&inst_net_recorder_ring, &at);
	if (s)
		*(volatile __u64 *)&s->seq = 0;
	barrier();
	return s;
}

static __always_inline long fill_slot(struct __sk_buff *skb, struct net_slot *s, __u32 link, int verdict)
{
	bool tagged = link == SONDE_LINK_ETHERNET && skb->vlan_present;
	__u32 len = skb->len + (tagged ? 4 : 0), want = net_recorder_snap;

	s->ts_ns = bpf_ktime_get_boot_ns();
	s->cookie = bpf_get_socket_cookie(skb);
	s->netns = net_want_netns;
	s->ifindex = skb->ifindex;
	s->orig_len = len;
	s->mark = skb->mark;
	s->hash = skb->hash;
	s->link = link;
	s->flags = (len > want ? SONDE_RF_CUT : 0) | (verdict == PKTFILTER_UNDECIDED ? SONDE_RF_UNDECIDED : 0);
	if (want > len)
		want = len;
	/* as in net_tc.bpf.c: older verifiers need it */
	want--;
	barrier_var(want);
	if (want >= net_recorder_snap)
		return -1;
	want++;
	s->cap_len = want;
	return load_packet(skb, s->data, want, tagged);
}

/* ---- senders, for the owners of drops ---- */

#define ETH_LEN 14

/* TCP after a SYN: the SYN recorded the owner. Most packets need no further look. */
static __always_inline bool follows_syn(struct __sk_buff *skb, __u32 link)
{
	const __u8 *ip = (const void *)(long)skb->data, *end = (const void *)(long)skb->data_end;

	if (link == SONDE_LINK_ETHERNET)
		ip += ETH_LEN;
	if (ip + 40 > end)
		return false;
	if (ip[0] == 0x45)	/* no options */
		return ip[9] == IPPROTO_TCP && !(ip[20 + 13] & TCP_SYN);
	return ip[0] >> 4 == 6 && ip[6] == IPPROTO_TCP && ip + 40 + 14 <= end && !(ip[40 + 13] & TCP_SYN);
}

static __always_inline void feed_from(struct __sk_buff *skb, struct net_scratch *s, struct sonde_owner *o,
				      __u64 cookie, __u32 link)
{
	struct net_end e = {};
	__u32 len = skb->len;

	__builtin_memset(s->rec.data, 0, NET_HEAD_BYTES);
	if (len > NET_HEAD_BYTES)
		len = NET_HEAD_BYTES;
	len--;
	barrier_var(len);
	if (len >= NET_HEAD_BYTES || bpf_skb_load_bytes(skb, 0, s->rec.data, len + 1))
		return;
	if (!fill_tuples(s, link, net_want_netns))
		return;
	e.begins = s->begins;
	end_exact(&e, &s->received, SONDE_HOW_TUPLE);	/* removes a closed socket that a drop would find there */
	if (flow_feed_due(o, flow_hash(&s->sent), bpf_ktime_get_ns()))
		sender_set(&s->sent, cookie);
}

/* Remembers the sender like net_tc.bpf.c, so that a drop on the receiving side finds it. */
static __always_inline void feed(struct __sk_buff *skb, __u32 link)
{
	struct net_scratch *s;
	struct sonde_owner *o;
	__u64 cookie;

	if (follows_syn(skb, link))
		return;
	cookie = bpf_get_socket_cookie(skb);
	o = owner_by_cookie(cookie);
	s = scratch_of_cpu();
	if (!o || !s || s->busy)
		return;
	s->busy = 1;
	feed_from(skb, s, o, cookie, link);
	scratch_give(s);
}

/* A stored packet is not delivered; a dump counts it again, as a record from user space. */
static __always_inline int keep(struct __sk_buff *skb, __u8 dir, __u32 link)
{
	struct sonde_ledger *l;
	struct net_slot *s;
	__u64 seq;
	int verdict;

	if (dir == NET_DIR_IN && is_looped_copy(skb))
		return TC_NEXT;
	l = ledger_seen(dir == NET_DIR_IN ? NET_CLASS_INGRESS : NET_CLASS_EGRESS);
	if (!l)
		return TC_NEXT;
	if (dir == NET_DIR_OUT)
		feed(skb, link);
	verdict = pktfilter_tc(skb, link);
	if (verdict == PKTFILTER_REJECT) {
		rec_filtered(l);
		return TC_NEXT;
	}
	s = take_slot(dir, &seq);
	if (!s || fill_slot(skb, s, link, verdict)) {
		rec_lost(l, SONDE_LOST_COPY);
		return TC_NEXT;
	}
	barrier();
	*(volatile __u64 *)&s->seq = seq + 1;
	rec_filtered(l);
	return TC_NEXT;
}

PROGRAM("tc", sonde_keep_i_l2, keep(skb, NET_DIR_IN, SONDE_LINK_ETHERNET), struct __sk_buff *skb)
PROGRAM("tc", sonde_keep_o_l2, keep(skb, NET_DIR_OUT, SONDE_LINK_ETHERNET), struct __sk_buff *skb)
PROGRAM("tc", sonde_keep_i_l3, keep(skb, NET_DIR_IN, SONDE_LINK_RAW), struct __sk_buff *skb)
PROGRAM("tc", sonde_keep_o_l3, keep(skb, NET_DIR_OUT, SONDE_LINK_RAW), struct __sk_buff *skb)

char LICENSE[] SEC("license") = "Dual BSD/GPL";
