/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Fills the scratch record of a packet at tc: bytes, owner, observation point.
 */
#ifndef NET_EMIT_BPF_H
#define NET_EMIT_BPF_H

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

static __always_inline struct sonde_owner *find_owner(struct __sk_buff *skb, struct net_scratch *s, __u8 dir,
						      bool is_ip)
{
	__u64 cookie = bpf_get_socket_cookie(skb);
	struct sonde_owner *proc = NULL;

	if (owner_from_cookie(&s->rec, cookie, NET_OWNER_SKB_SK, &proc) && proc) {
		/* sockets without a process (the kernel's own, which reply for others) would only mislead */
		if (dir == NET_DIR_OUT && is_ip && tuple_feed_due(proc, tuple_hash(&s->sent), bpf_ktime_get_ns()))
			sender_set(&s->sent, cookie);
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

#endif
