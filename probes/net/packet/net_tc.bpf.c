// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Packets at the interfaces of one network namespace: tcx or clsact, ingress and egress. An observer: the verdict is
 * always "next", and the packet stays unchanged. Each namespace loads an object of its own.
 *
 * A program exists per direction and per first header (Ethernet or IP), so that the packet filter is compiled for
 * that layout.
 */
#include "bpf/kernel.h"

#include "bpf/conntrack.bpf.h"
#include "bpf/pktfilter.bpf.h"
#include "probes/net/count/net_count.bpf.h"
#include "probes/net/packet/net_emit.bpf.h"

/* ---- state of a packet in its flow ---- */

/*
 * Evaluated for reported packets only: by connection tracking where it knows the packet (bpf/conntrack.bpf.h), else
 * by a table of the packets reported before.
 *
 * New: no answer yet; established: from the initiator, after an answer; reply: from the other end; related: an ICMP
 * error about a known flow, or the start of a flow that connection tracking expects.
 */
#define STATE_IDLE_NS 60000000000ULL /* without a handshake: longer silence starts a new flow */

#define STATE_SYN 0x02
#define STATE_ACK 0x10

const volatile bool net_query_state = true;

struct net_conn_state {
	__u64 last_ns;
	__u64 answered;
};

/* By the tuple of the initiator. */
MAP(inst_net_convs, LRU_HASH, 65536, struct sonde_tuple, struct net_conn_state);

/* ---- state by connection tracking ---- */

/* Status of the flow in connection tracking, -1 if it has none. *ret_reply: @t is the tuple of the reply. */
static __always_inline long ct_status(struct __sk_buff *skb, const struct sonde_tuple *t, bool *ret_reply)
{
	struct bpf_sock_tuple tuple;
	struct nf_conn *ct;
	unsigned long status;
	__u8 dir = 0;

	tuple_to_query(&tuple, t);
	ct = t->family == SONDE_IPV4 ? conntrack_find_dir(skb, &tuple, sizeof(tuple.ipv4), t->proto, &dir)
			    : conntrack_find_dir(skb, &tuple, sizeof(tuple.ipv6), t->proto, &dir);
	if (!ct)
		return -1;
	status = BPF_CORE_READ(ct, status);
	bpf_ct_release(ct);
	*ret_reply = dir;
	return (long)status;
}

/* State according to netfilter. Behind a translation packets match only the reversed reply tuple. */
static __always_inline __u32 state_by_ct(struct __sk_buff *skb, const struct net_scratch *s)
{
	bool reply = false;
	long status;

	if (!bpf_ksym_exists(bpf_skb_ct_lookup) || !bpf_ksym_exists(bpf_ct_release))
		return NET_STATE_NONE;
	if (s->sent.proto != IPPROTO_TCP && s->sent.proto != IPPROTO_UDP)
		return NET_STATE_NONE;
	status = ct_status(skb, &s->sent, &reply);
	if (status < 0) {
		status = ct_status(skb, &s->received, &reply);
		reply = !reply;
	}
	if (status < 0)
		return NET_STATE_NONE;
	if (s->is_error)
		return NET_STATE_RELATED;
	if (reply)
		return NET_STATE_REPLY;
	if (status & IPS_SEEN_REPLY)
		return NET_STATE_ESTABLISHED;
	return status & IPS_EXPECTED ? NET_STATE_RELATED : NET_STATE_NEW;
}

/* ---- state by packets seen before ---- */

static __always_inline __u8 tcp_flags_of(const __u8 *head, __u32 link)
{
	__u16 proto = 0;
	__u32 off = head_l3(head, link, &proto);

	if (off > 22)
		return 0;
	if (proto == NET_P_IP)
		off += (head_u8(head, off) & 15) * 4;
	else if (head_u8(head, off + 6) == 6)
		off += 40;
	else /* behind options: not parsed */
		return 0;
	return off < NET_HEAD_BYTES - 13 ? head_u8(head, off + 13) : 0;
}

static __always_inline void state_set(const struct sonde_tuple *t, __u64 now, __u64 answered)
{
	struct net_conn_state v = { .last_ns = now, .answered = answered };

	bpf_map_update_elem(&inst_net_convs, t, &v, BPF_ANY);
}

static __always_inline struct net_conn_state *state_find(const struct sonde_tuple *t, __u64 now)
{
	struct net_conn_state *c = bpf_map_lookup_elem(&inst_net_convs, t);

	if (!c || (t->proto != IPPROTO_TCP && now - c->last_ns > STATE_IDLE_NS))
		return NULL;
	c->last_ns = now;
	return c;
}

/* A SYN identifies the initiator; a connection without a seen SYN stays unknown. */
static __always_inline __u32 state_by_handshake(const struct net_scratch *s, __u8 flags, __u64 now)
{
	if ((flags & (STATE_SYN | STATE_ACK)) == STATE_SYN) {
		bpf_map_delete_elem(&inst_net_convs, &s->received);
		state_set(&s->sent, now, 0);
		return NET_STATE_NEW;
	}
	bpf_map_delete_elem(&inst_net_convs, &s->sent);
	state_set(&s->received, now, 1);
	return NET_STATE_REPLY;
}

/* An echo to oneself: request and reply have the same tuple. */
static __always_inline bool ends_equal(const struct sonde_tuple *t)
{
	const __u32 *a = (const __u32 *)t->laddr, *b = (const __u32 *)t->raddr;

	return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3] && t->lport == t->rport;
}

static __always_inline __u32 state_by_table(const struct net_scratch *s, __u32 link)
{
	const struct sonde_tuple *t = &s->sent;
	__u64 now = bpf_ktime_get_ns();
	struct net_conn_state *c;
	__u8 flags;

	if (has_ports(t->proto) && !t->lport && !t->rport) /* a fragment */
		return NET_STATE_NONE;
	if (ends_equal(t))
		return NET_STATE_NONE;
	if (s->is_error)
		return state_find(t, now) || state_find(&s->received, now) ? NET_STATE_RELATED : NET_STATE_NONE;
	flags = t->proto == IPPROTO_TCP ? tcp_flags_of(s->rec.data, link) : 0;
	if (flags & STATE_SYN)
		return state_by_handshake(s, flags, now);
	c = state_find(&s->received, now);
	if (c) {
		c->answered = 1;
		return NET_STATE_REPLY;
	}
	c = state_find(t, now);
	if (c) /* an acknowledgement implies an answer, reported or not */
		return c->answered || flags & STATE_ACK ? NET_STATE_ESTABLISHED : NET_STATE_NEW;
	if (t->proto == IPPROTO_TCP)
		return NET_STATE_NONE;
	state_set(t, now, 0);
	return NET_STATE_NEW;
}

/* NET_STATE_*; @is_ip: @s holds the packet's tuples. */
static __always_inline __u32 packet_state(struct __sk_buff *skb, const struct net_scratch *s, __u32 link, bool is_ip)
{
	__u32 state;

	if (!net_query_state || !is_ip)
		return NET_STATE_NONE;
	state = state_by_ct(skb, s);
	return state ? state : state_by_table(s, link);
}

/* ---- a packet ---- */

/* True: the packet is counted and not reported. */
static __always_inline bool count_packet(struct __sk_buff *skb, __u8 dir, __u32 link)
{
	struct net_count_key key = {
		.netns = net_want_netns, .ifindex = skb->ifindex, .kind = NET_COUNT_PASS, .dir = dir,
	};
	__u32 ifindex = skb->ifindex;
	struct net_point *p = bpf_map_lookup_elem(&net_points, &ifindex);

	key.point = !p ? NET_POINT_NONE : dir == NET_DIR_IN ? p->in : p->out;
	return count_add(&key, skb->len + (link == SONDE_LINK_ETHERNET && skb->vlan_present ? 4 : 0));
}

static __always_inline void observe(struct __sk_buff *skb, struct sonde_ledger *l, struct net_scratch *s, __u8 dir,
				    __u32 link, int verdict)
{
	__u16 class = dir == NET_DIR_IN ? NET_CLASS_INGRESS : NET_CLASS_EGRESS;
	bool tagged = link == SONDE_LINK_ETHERNET && skb->vlan_present;
	struct net_rec *r = &s->rec;
	struct net_ends ends;
	__u32 len;
	bool is_ip;

	if (fill_packet(skb, r, tagged, verdict) < 0) {
		rec_lost(l, SONDE_LOST_COPY);
		return;
	}
	is_ip = fill_tuples(s, link, net_want_netns);
	rec_happens(r);
	find_ends(skb, s, dir, is_ip, &ends);
	if (!owner_pass(l, ends.owner.proc))
		return;
	if (net_counting && selects_process() && count_packet(skb, dir, link))
		return;
	if (!rate_pass(l, NET_KIND_TRACE))
		return;
	rec_begin(r, l, NET_EV_TRACE, rec_flags(class, verdict, r->cap_len < r->orig_len), &ends);
	fill_rec(skb, r, dir, link);
	r->reason = packet_state(skb, s, link, is_ip);
	len = r->cap_len;
	if (len > net_snap_limit) { /* impossible, but the verifier does not know */
		rec_lost(l, SONDE_LOST_COPY);
		return;
	}
	len = rec_add_origin(s, len);
	r->hdr.len += len;
	rec_output(l, LANE_BULK, &r->hdr, sizeof(*r) + len);
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
	/* counts before the expensive steps; only a process selection needs the owner first */
	if (net_counting && !selects_process() && count_packet(skb, dir, link))
		return TC_NEXT;
	s = scratch_take(l);
	if (!s)
		return TC_NEXT;
	observe(skb, l, s, dir, link, verdict);
	scratch_give(s);
	return TC_NEXT;
}

PROGRAM("tc", sonde_in_l2, packet(skb, NET_DIR_IN, SONDE_LINK_ETHERNET), struct __sk_buff *skb)
PROGRAM("tc", sonde_out_l2, packet(skb, NET_DIR_OUT, SONDE_LINK_ETHERNET), struct __sk_buff *skb)
PROGRAM("tc", sonde_in_l3, packet(skb, NET_DIR_IN, SONDE_LINK_RAW), struct __sk_buff *skb)
PROGRAM("tc", sonde_out_l3, packet(skb, NET_DIR_OUT, SONDE_LINK_RAW), struct __sk_buff *skb)

char LICENSE[] SEC("license") = "Dual BSD/GPL";
