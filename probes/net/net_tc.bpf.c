// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Packets at the interfaces of one network namespace: tcx or clsact, ingress and egress. An observer: the
 * verdict is always "next", no byte is changed and nothing is pulled. One object is loaded per namespace.
 *
 * A program exists per direction and per start of the packet (Ethernet header or IP header), so that the
 * packet filter is compiled for the bytes it will see.
 */
#include "bpf/kernel.h"

#include "probes/net/net_count.bpf.h"
#include "probes/net/net_load.bpf.h"
#include "probes/net/net_packet.bpf.h"

struct net_point {
	__u8 in, out;	/* NET_POINT_* */
};

/* Interfaces of this namespace, written before a program is attached to them. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, struct net_point);
} net_points SEC(".maps");

/* Fills head and packet bytes. Returns what a record carries, or negative. */
static __always_inline long fill_packet(struct __sk_buff *skb, struct net_rec *r, bool tagged, int verdict)
{
	__u32 snap = snaplen(NET_KIND_TRACE, verdict), want = snap > NET_HEAD_BYTES ? snap : NET_HEAD_BYTES;
	__u32 len = skb->len + (tagged ? 4 : 0);

	if (len < NET_HEAD_BYTES)
		__builtin_memset(r->data, 0, NET_HEAD_BYTES);
	r->orig_len = len;
	if (want > len)
		want = len;
	/* Before 6.8 the verifier learns nothing from a comparison with zero, hence one less than what is wanted. */
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

static __always_inline struct sonde_owner *find_owner(struct __sk_buff *skb, struct net_scratch *s, __u8 dir,
						      bool is_ip)
{
	__u64 cookie = bpf_get_socket_cookie(skb);
	struct sonde_owner *proc = NULL;

	if (owner_from_cookie(&s->rec, cookie, NET_OWNER_SKB_SK, &proc) && proc) {
		/* sockets without a process (the kernel's own, which answer for others) would only mislead */
		if (dir == NET_DIR_OUT && is_ip && tuple_feed_due(proc, tuple_hash(&s->sent), bpf_ktime_get_ns())) {
			tuple_set(&s->sent, cookie);
			remote_set(&s->sent, cookie);
		}
		return proc;
	}
	if (!is_ip)
		return NULL;
	return dir == NET_DIR_OUT ? owner_by_sender(s) : owner_by_packet(s, false);
}

static __always_inline void fill_rec(struct __sk_buff *skb, struct net_rec *r, __u8 dir, __u32 link)
{
	__u32 ifindex = skb->ifindex;
	struct net_point *p = bpf_map_lookup_elem(&net_points, &ifindex);

	rec_set_task(r);
	r->location = 0;
	r->netns = net_want_netns;
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

	if (fill_packet(skb, r, tagged, verdict) < 0) {
		rec_lost(l, SONDE_LOST_COPY);
		return;
	}
	o = find_owner(skb, s, dir, scratch_tuples(s, link, net_want_netns));
	if (!owner_pass(l, o))
		return;
	if (net_counting && selects_process() && count_packet(skb, dir, link))
		return;
	if (!rate_pass(l, NET_KIND_TRACE))
		return;
	rec_begin(r, l, NET_EV_TRACE, rec_flags(class, verdict, r->cap_len < r->orig_len), o);
	fill_rec(skb, r, dir, link);
	r->hdr.len += r->cap_len;
	if (r->cap_len <= net_snap_limit)
		rec_output(l, LANE_BULK, &r->hdr, sizeof(*r) + r->cap_len);
	else /* cannot happen, which the verifier does not know */
		rec_lost(l, SONDE_LOST_COPY);
}

static __always_inline int packet(struct __sk_buff *skb, __u8 dir, __u32 link)
{
	struct sonde_ledger *l = ledger_seen(dir == NET_DIR_IN ? NET_CLASS_INGRESS : NET_CLASS_EGRESS);
	struct net_scratch *s;
	int verdict;

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
