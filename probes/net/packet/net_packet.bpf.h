/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Shared by the net programs: read-only configuration, the scratch record of each CPU, tuples from packet headers,
 * and the owner of a packet.
 */
#ifndef NET_PACKET_BPF_H
#define NET_PACKET_BPF_H

#include "bpf/kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bpf/compat.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/ident.bpf.h"
#include "bpf/ident_flow.bpf.h"
#include "bpf/ident_sock.bpf.h"
#include "bpf/ring.bpf.h"
#include "bpf/typed.bpf.h"
#include "sonde/pktfilter_wire.h"
#include "sonde/ratelimit.bpf.h"
#include "probes/net/net_wire.h"

#define NET_HEAD_BYTES 128	/* enough for Ethernet, two tags, IPv6 with options, ports */

/* Set before load; the verifier knows the values. */
const volatile __u32 net_snaplen[NET_KIND__MAX] = { 128, 128, 128, 128 };
const volatile __u32 net_snap_limit = NET_SNAP_MAX; /* maximum of all lengths here; sizes net_scratch */
/* Tokens per interval, 0 = no limit; see struct ratelimit_conf. */
const volatile __u64 net_rate[NET_KIND__MAX], net_burst[NET_KIND__MAX], net_interval_ns[NET_KIND__MAX];
const volatile __u32 net_want_netns;	/* the namespace these programs are attached in; 0 = any */
const volatile __u32 net_stack_depth;	/* 0 = no stack */
const volatile __u32 net_undecided_snaplen = 128; /* bytes for the packet filter in user space */

/* Properties of an skb for tracing programs (net_skb.bpf.h). Pointers are kernel addresses to be probed. */
struct net_skb {
	struct net_device *dev; /* NULL = none, or the field holds something else */
	struct net_device *out; /* if dev is NULL: device of the route */
	__u32 netns, ifindex;
	__u32 link;		/* SONDE_LINK_*, 0 = the packet cannot be located in it */
	__u32 start;		/* of the packet, offset from head */
	__u32 orig_len, linear_len; /* from start: all bytes, and the bytes readable in one piece */
	__u32 pulled;		/* from start to skb->data, VLAN tag included */
	__u32 dev_type;		/* ARPHRD_* */
	__u8 tagged;
	__u8 verdict;		/* PKTFILTER_* */
	__u8 pad[6];
};

/* struct net_end without the pointer, which memory cannot hold, for another function to the verifier. */
struct net_end_kept {
	__u64 cookie;
	__u8 how, foreign;
	__u8 pad[6];
};

/* One record under construction per CPU; value_size and max_entries are set before load. */
struct net_scratch {
	__u64 busy; /* a program that interrupts another on this CPU must not use the rest */
	struct net_skb skb;
	struct sonde_tuple sent, received; /* of the packet, seen from its sender and from its receiver */
	struct sonde_tuple origin;	   /* sent, before connection tracking translated it; family 0: it was not */
	__u64 is_error;		/* an ICMP error: sender and receiver are those of the flow it reports on */
	__u64 begins;		/* a TCP handshake: closed sockets have no part in the connection */
	struct net_end_kept sender, receiver; /* end_keep() */
	__u64 addr;		/* address_number() */
	struct net_rec rec;	/* then packet bytes and addresses */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct net_scratch) + NET_STACK_MAX * 8 + NET_SNAP_MAX + NET_PULLED_MAX +
			   sizeof(struct sonde_tuple));
} net_scratch SEC(".maps");

MAP(net_buckets, ARRAY, NET_KIND__MAX, __u32, struct ratelimit);

/* Addresses of the watched namespaces; user space writes them. */
MAP_FLAGS(inst_net_local, HASH, BPF_F_NO_PREALLOC, 65536, struct net_addr, __u8);

/* Tuples of all namespaces, key.netns = 0: senders of packets that arrive in another namespace of this host. */
struct net_remote {
	__u64 cookie;	/* 0: two namespaces use this tuple at the same time, so the sender is ambiguous */
	__u64 seen_ns;	/* with cookie 0: when the other namespace used it last */
	__u32 netns;
	__u32 pad;
};

MAP(inst_net_remote, LRU_HASH, 65536, struct sonde_tuple, struct net_remote);

#define NET_REMOTE_FRESH_NS 60000000000ULL /* after that the tuple may belong to another socket */

static __always_inline struct net_scratch *scratch_of_cpu(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&net_scratch, &cpu);
}

static __always_inline struct net_scratch *scratch_take(struct sonde_ledger *l)
{
	struct net_scratch *s = scratch_of_cpu();

	if (!s || s->busy) {
		rec_lost(l, SONDE_LOST_RECURSION);
		return NULL;
	}
	s->busy = 1;
	return s;
}

static __always_inline void scratch_give(struct net_scratch *s)
{
	s->busy = 0;
}

/* Runs with --max-cpu only: of flow programs the verifier would need 5 MB more. */
const volatile bool net_limited = false;

/* Events are reported 1 in this many, a power of two. User space changes it. */
MAP(inst_net_one_in, ARRAY, 1, __u32, __u32);

static __always_inline bool is_left_out(void)
{
	__u32 zero = 0, *one_in = bpf_map_lookup_elem(&inst_net_one_in, &zero);

	return one_in && *one_in > 1 && (bpf_get_prandom_u32() & (*one_in - 1));
}

static __always_inline bool rate_pass(struct sonde_ledger *l, __u32 kind)
{
	struct ratelimit_conf c = {
		.interval_ns = net_interval_ns[kind], .rate = net_rate[kind], .burst = net_burst[kind],
	};
	struct ratelimit *b;

	if (net_limited && is_left_out()) {
		rec_sampled(l);
		return false;
	}
	if (!c.rate)
		return true;
	b = bpf_map_lookup_elem(&net_buckets, &kind);
	if (!b || ratelimit_pass(b, &c, bpf_ktime_get_ns()))
		return true;
	rec_sampled(l);
	return false;
}

/* ---- headers ---- */

#define NET_P_IP 0x0800
#define NET_P_IPV6 0x86dd
#define NET_P_8021Q 0x8100
#define NET_P_8021AD 0x88a8

#define TCP_SYN 2	/* byte 13 of the header */

/* Types, RFC 792 and RFC 4443. */
enum {
	ICMP_ECHO_REPLY = 0,
	ICMP_UNREACHABLE = 3,
	ICMP_SOURCE_QUENCH = 4,
	ICMP_REDIRECT = 5,
	ICMP_ECHO = 8,
	ICMP_TIME_EXCEEDED = 11,
	ICMP_PARAMETER = 12,
	ICMPV6_UNREACHABLE = 1,
	ICMPV6_PARAMETER = 4,
	ICMPV6_ECHO = 128,
	ICMPV6_ECHO_REPLY = 129,
};

/* One byte; the mask is for the verifier, callers have checked the offset. */
static __always_inline __u8 head_u8(const __u8 *head, __u32 off)
{
	barrier_var(off);
	off &= NET_HEAD_BYTES - 1;
	return head[off];
}

static __always_inline __u16 head_u16(const __u8 *head, __u32 off)
{
	return (__u16)(head_u8(head, off) << 8 | head_u8(head, off + 1));
}

/* Offset of the IP header in @head, 0xff if it has none. */
static __always_inline __u32 head_l3(const __u8 *head, __u32 link, __u16 *ret_proto)
{
	__u32 off = 12;

	if (link != SONDE_LINK_ETHERNET) {
		*ret_proto = head[0] >> 4 == 6 ? NET_P_IPV6 : NET_P_IP;
		return 0;
	}
	*ret_proto = head_u16(head, off);
	if (*ret_proto == NET_P_8021Q || *ret_proto == NET_P_8021AD) {
		off += 4;
		*ret_proto = head_u16(head, off);
	}
	if (*ret_proto == NET_P_8021Q) {
		off += 4;
		*ret_proto = head_u16(head, off);
	}
	return *ret_proto == NET_P_IP || *ret_proto == NET_P_IPV6 ? off + 2 : 0xff;
}

static __always_inline bool has_ports(__u8 proto)
{
	return proto == IPPROTO_TCP || proto == IPPROTO_UDP || proto == IPPROTO_SCTP || proto == IPPROTO_DCCP ||
	       proto == IPPROTO_UDPLITE;
}

static __always_inline void set_ports(struct sonde_tuple *t, const __u8 *head, __u32 off)
{
	if (!has_ports(t->proto) || off > NET_HEAD_BYTES - 4)
		return;
	t->lport = head_u16(head, off);
	t->rport = head_u16(head, off + 2);
}

/* An echo and its reply are one flow: the identifier serves as both ports (ping sockets use it the same way). */
static __always_inline void set_echo(struct sonde_tuple *t, const __u8 *head, __u32 off)
{
	if (off <= NET_HEAD_BYTES - 8)
		t->lport = t->rport = head_u16(head, off + 4);
}

static __always_inline bool is_echo(__u8 proto, __u8 type)
{
	if (proto == IPPROTO_ICMP)
		return type == ICMP_ECHO || type == ICMP_ECHO_REPLY;
	return type == ICMPV6_ECHO || type == ICMPV6_ECHO_REPLY;
}

/* ICMP errors, which carry the packet they report on. */
static __always_inline bool is_icmp_error(__u8 proto, __u8 type)
{
	if (proto == IPPROTO_ICMP)
		return type == ICMP_UNREACHABLE || type == ICMP_SOURCE_QUENCH || type == ICMP_REDIRECT ||
		       type == ICMP_TIME_EXCEEDED || type == ICMP_PARAMETER;
	return type >= ICMPV6_UNREACHABLE && type <= ICMPV6_PARAMETER;
}

/* Fills in addresses and protocol. Returns the offset of the transport header, NET_HEAD_BYTES if unknown. */
static __always_inline __u32 tuple_v4(struct sonde_tuple *t, const __u8 *head, __u32 off)
{
	if (off > NET_HEAD_BYTES - 20)
		return NET_HEAD_BYTES;
	t->family = SONDE_IPV4;
	t->proto = head_u8(head, off + 9);
#pragma unroll
	for (int i = 0; i < 4; i++) {
		t->laddr[i] = head_u8(head, off + 12 + i);
		t->raddr[i] = head_u8(head, off + 16 + i);
	}
	/* only the first fragment has ports */
	if ((head_u8(head, off + 6) & 0x1f) | head_u8(head, off + 7))
		return NET_HEAD_BYTES;
	return off + (head_u8(head, off) & 15) * 4;
}

/* Skips hop-by-hop, routing and destination options, as many as fit into the head. */
static __always_inline __u32 tuple_v6(struct sonde_tuple *t, const __u8 *head, __u32 off)
{
	__u32 pos = off + 40;

	if (off > NET_HEAD_BYTES - 40)
		return NET_HEAD_BYTES;
	t->family = SONDE_IPV6;
	t->proto = head_u8(head, off + 6);
#pragma unroll
	for (int i = 0; i < 16; i++) {
		t->laddr[i] = head_u8(head, off + 8 + i);
		t->raddr[i] = head_u8(head, off + 24 + i);
	}
#pragma unroll
	for (int i = 0; i < 3; i++) {
		if (t->proto != IPPROTO_HOPOPTS && t->proto != IPPROTO_ROUTING && t->proto != IPPROTO_DSTOPTS)
			break;
		if (pos > NET_HEAD_BYTES - 2)
			return NET_HEAD_BYTES;
		t->proto = head_u8(head, pos);
		pos += (head_u8(head, pos + 1) + 1) * 8;
	}
	return pos;
}

static __always_inline void tuple_turn(struct sonde_tuple *to, const struct sonde_tuple *from)
{
	to->netns = from->netns;
	to->family = from->family;
	to->proto = from->proto;
	to->lport = from->rport;
	to->rport = from->lport;
	to->pad = 0;
	__builtin_memcpy(to->laddr, from->raddr, 16);
	__builtin_memcpy(to->raddr, from->laddr, 16);
}

/* @t as the kernel's look-ups take it. */
static __always_inline void tuple_to_query(struct bpf_sock_tuple *to, const struct sonde_tuple *t)
{
	__builtin_memset(to, 0, sizeof(*to));
	if (t->family == SONDE_IPV4) {
		__builtin_memcpy(&to->ipv4.saddr, t->laddr, 4);
		__builtin_memcpy(&to->ipv4.daddr, t->raddr, 4);
		to->ipv4.sport = bpf_htons(t->lport);
		to->ipv4.dport = bpf_htons(t->rport);
	} else {
		__builtin_memcpy(to->ipv6.saddr, t->laddr, 16);
		__builtin_memcpy(to->ipv6.daddr, t->raddr, 16);
		to->ipv6.sport = bpf_htons(t->lport);
		to->ipv6.dport = bpf_htons(t->rport);
	}
}

struct net_head {
	bool turned;	/* an ICMP error, with the tuple of the packet it reports on: it belongs to its recipient */
	bool syn;
};

/*
 * The 5-tuple of the packet whose first bytes are @head (zeroed behind the captured part): source as local,
 * destination as remote. False if the packet is not IP, or if it has neither ports nor an identifier.
 */
static __always_inline bool head_tuple(const __u8 *head, __u32 link, __u32 netns, struct sonde_tuple *t,
				       struct net_head *ret)
{
	__u16 proto = 0;
	__u32 off = head_l3(head, link, &proto);
	__u8 type;

	*ret = (struct net_head){};
	__builtin_memset(t, 0, sizeof(*t));
	t->netns = netns;
	if (off > 22)
		return false;
	off = proto == NET_P_IP ? tuple_v4(t, head, off) : tuple_v6(t, head, off);
	if (t->proto != IPPROTO_ICMP && t->proto != IPPROTO_ICMPV6) {
		set_ports(t, head, off);
		ret->syn = t->proto == IPPROTO_TCP && off <= NET_HEAD_BYTES - 14 && head_u8(head, off + 13) & TCP_SYN;
		return true;
	}
	if (off > NET_HEAD_BYTES - 8)
		return false;
	type = head_u8(head, off);
	if (is_echo(t->proto, type)) {
		set_echo(t, head, off);
		return true;
	}
	if (!is_icmp_error(t->proto, type))
		return false;
	off = proto == NET_P_IP ? tuple_v4(t, head, off + 8) : tuple_v6(t, head, off + 8);
	set_ports(t, head, off);
	ret->turned = true;
	return true;
}

/* Fills both tuples of the scratch from the packet in its record. */
static __always_inline bool fill_tuples(struct net_scratch *s, __u32 link, __u32 netns)
{
	struct net_head head;

	s->is_error = s->begins = false;
	if (!head_tuple(s->rec.data, link, netns, &s->sent, &head))
		return false;
	tuple_turn(&s->received, &s->sent);
	s->is_error = head.turned;
	s->begins = head.syn;
	if (head.turned) {
		struct sonde_tuple t = s->sent;

		s->sent = s->received;
		s->received = t;
	}
	return true;
}

/* The same for this CPU's scratch: the verifier walks what follows once, not once per form of a header. */
__weak __noinline int scratch_tuples(__u32 link, __u32 netns)
{
	struct net_scratch *s = scratch_of_cpu();

	return s && fill_tuples(s, link, netns);
}

/* ---- sender and receiver ---- */

/* One end of a packet: the socket there and its user. */
struct net_end {
	struct sonde_owner *proc;	/* NULL = unknown */
	__u64 cookie;
	__u8 how;			/* SONDE_HOW_*; without a process 0, or SONDE_HOW_GROUP */
	__u8 foreign;			/* the socket is in another namespace than the packet */
	__u8 known;			/* proc is set; compilers combine tests of pointers, verifiers refuse that */
	__u8 ended;			/* SONDE_ENDED_*: the socket is closed */
	__u8 begins;			/* of the scratch; set before a look-up by tuple */
};

/* Look-ups return whether there is such a socket; its process may be unknown. */
static __always_inline bool end_set(struct net_end *e, __u64 cookie, __u8 how, bool foreign)
{
	struct sonde_owner *o = owner_by_cookie(cookie);

	if (!cookie)
		return false;
	e->proc = o;
	e->cookie = cookie;
	e->foreign = foreign;
	e->known = o != NULL;
	e->ended = o ? o->ended : 0;
	if (!o)
		e->how = SONDE_HOW_UNKNOWN;
	else if (o->cookie != cookie)	/* a connection that no process has used yet */
		e->how = SONDE_HOW_LISTENER;
	else
		e->how = o->by == SONDE_OWNER_SNAPSHOT && how != SONDE_HOW_LISTENER ? SONDE_HOW_SNAPSHOT : how;
	return true;
}

/*
 * Remembers a sender for packets that appear in another namespace; @t as in head_tuple(). It is the key meanwhile: a
 * copy would take stack that flow programs lack.
 */
static __always_inline void remote_set(struct sonde_tuple *t, __u64 cookie)
{
	struct net_remote v = { .cookie = cookie, .seen_ns = bpf_ktime_get_ns(), .netns = t->netns }, *have;
	struct sonde_owner *o;	/* of the other namespace's socket */
	bool fresh;

	t->netns = 0;
	have = bpf_map_lookup_elem(&inst_net_remote, t);
	fresh = have && v.seen_ns - have->seen_ns < NET_REMOTE_FRESH_NS;
	if (have && have->cookie == cookie) {
		have->seen_ns = v.seen_ns;
	} else if (!fresh || have->cookie || have->netns != v.netns) {
		o = fresh && have->netns != v.netns ? owner_by_cookie(have->cookie) : NULL;
		v.cookie = !fresh || have->netns == v.netns || (o && o->ended) ? cookie : 0;
		bpf_map_update_elem(&inst_net_remote, t, &v, BPF_ANY);
	}
	t->netns = v.netns;
}

/*
 * Remembers the sender of a packet; @t as in head_tuple(). Echo requests to a broadcast or multicast address get
 * their replies from other addresses: the identifier finds their sender as a port finds a listener.
 */
static __always_inline void sender_set(struct sonde_tuple *t, __u64 cookie)
{
	struct sonde_tuple any;

	flow_set(t, cookie, t->netns);
	remote_set(t, cookie);
	if (t->proto != IPPROTO_ICMP && t->proto != IPPROTO_ICMPV6)
		return;
	any = *t;
	any.rport = 0;
	__builtin_memset(any.raddr, 0, sizeof(any.raddr));
	flow_set(&any, cookie, t->netns);
}

static __always_inline bool end_remote(struct net_end *e, struct sonde_tuple *t, __u8 how)
{
	const __u32 netns = t->netns;
	struct net_remote *r;
	bool found;

	t->netns = 0;
	r = bpf_map_lookup_elem(&inst_net_remote, t);
	found = r && end_set(e, r->cookie, how, r->netns != netns);
	if (found && e->ended & e->begins) {
		bpf_map_delete_elem(&inst_net_remote, t);
		*e = (struct net_end){ .begins = true };
		found = false;
	}
	t->netns = netns;
	return found;
}

/* True if packets to @t's local address are known to end in its namespace. */
static __always_inline bool tuple_is_local(const struct sonde_tuple *t)
{
	struct net_addr key = { .netns = t->netns, .family = t->family };

	if (t->family == SONDE_IPV4 && (t->laddr[0] == 127 || t->laddr[0] >= 224))
		return true;
	if (t->family == SONDE_IPV6 && t->laddr[0] == 0xff)
		return true;
	__builtin_memcpy(key.addr, t->laddr, sizeof(key.addr));
	return bpf_map_lookup_elem(&inst_net_local, &key) != NULL;
}

/* The socket that sends on exactly @t in its namespace. Closed ones go when another connection begins. */
static __always_inline bool end_exact(struct net_end *e, const struct sonde_tuple *t, __u8 how)
{
	struct sonde_sender *s = flow_sender(t);

	if (!s || !end_set(e, s->cookie, how, s->netns != t->netns))
		return false;
	if (!(e->ended & e->begins))
		return true;
	bpf_map_delete_elem(&sonde_senders, t);
	*e = (struct net_end){ .begins = true };
	return false;
}

/*
 * A socket bound to the local end of @t, with any peer. A socket bound to the wildcard address would also match
 * forwarded packets, so the address must be known as local. Which socket of a group receives is unknown.
 */
static __always_inline bool end_bound(struct net_end *e, const struct sonde_tuple *t, bool local)
{
	struct sonde_tuple key;
	struct sonde_sender *s;

	if (!port_was_bound(t->lport))
		return false;
	s = flow_bound(t, &key);
	if (!s && (local || tuple_is_local(t)))
		s = flow_bound_any(&key);
	if (!s)
		return false;
	if (!s->group)
		return end_set(e, s->cookie, t->proto == IPPROTO_TCP ? SONDE_HOW_LISTENER : SONDE_HOW_LOOKUP, false);
	*e = (struct net_end){ .how = SONDE_HOW_GROUP };
	return true;
}

/*
 * The socket of this namespace at the local end of @t. A closed one has late packets of its connection; without
 * connections the socket that is bound now gets them.
 */
static __always_inline bool end_here(struct net_end *e, const struct sonde_tuple *t, bool local)
{
	return (end_exact(e, t, SONDE_HOW_TUPLE) && e->known && e->ended != SONDE_ENDED_PORT) ||
	       end_bound(e, t, local) || e->known;
}

static __always_inline void end_by_tuple(struct net_end *e, struct sonde_tuple *t, bool local)
{
	if (!end_here(e, t, local))
		end_remote(e, t, SONDE_HOW_TUPLE);
}

/* The receiver by the packet's addresses; @local: the kernel delivers it here. */
static __always_inline void receiver_by_tuple(struct net_end *e, struct net_scratch *s, bool local)
{
	end_by_tuple(e, &s->received, local);
}

/*
 * The sender by the packet's addresses. A packet that the kernel sends for a listener (SYN-ACK) has no socket, but
 * the listener's address.
 */
static __always_inline void sender_by_tuple(struct net_end *e, struct net_scratch *s)
{
	end_by_tuple(e, &s->sent, false);
}

static __always_inline bool tuple_has_ends_of(const struct sonde_tuple *t, const struct sonde_tuple *other)
{
	const __u32 *a = (const __u32 *)t->laddr, *b = (const __u32 *)other->laddr;
	__u32 differ = (t->lport ^ other->lport) | (t->rport ^ other->rport);

#pragma unroll
	for (int i = 0; i < 8; i++)	/* laddr, raddr */
		differ |= a[i] ^ b[i];
	return !differ;
}

/* Fills s->origin. A packet on its way to its translation has the same tuple still. @skb: as in flow_nfct(). */
static __always_inline void find_origin(struct net_scratch *s, const void *skb)
{
	if (s->is_error || !flow_translated(skb, &s->sent, &s->origin) || tuple_has_ends_of(&s->origin, &s->sent))
		s->origin.family = 0;
}

/*
 * The sender of a forwarded packet that connection tracking translated, by the tuple it came with; the translated one
 * leads to it from now on.
 */
static __always_inline bool sender_by_translation(struct net_end *e, struct net_scratch *s)
{
	if (!s->origin.family)
		return false;
	if (!end_exact(e, &s->origin, SONDE_HOW_CONNTRACK) && !end_remote(e, &s->origin, SONDE_HOW_CONNTRACK))
		return false;
	sender_set(&s->sent, e->cookie);
	e->foreign = true;
	return true;
}

/* The owner of the packet is one end, its peer the other. */
struct net_ends {
	struct net_end owner, peer;
	__u8 end;	/* NET_END_*: of the owner */
};

/* The sender comes @first or the receiver; an end without a process last. */
static __always_inline void ends_order(struct net_ends *to, const struct net_end *sender,
				       const struct net_end *receiver, bool sender_first)
{
	if (sender->known && (sender_first || !receiver->known)) {
		to->owner = *sender;
		to->peer = *receiver;
		to->end = NET_END_SENDER;
	} else {
		to->owner = *receiver;
		to->peer = *sender;
		to->end = NET_END_RECEIVER;
	}
}

/* The ends across the border of a function of its own to the verifier. */
static __always_inline void end_keep(struct net_end_kept *to, const struct net_end *e)
{
	to->cookie = e->cookie;
	to->how = e->how;
	to->foreign = e->foreign;
}

static __always_inline void end_kept(struct net_end *e, const struct net_end_kept *from)
{
	__u32 known;

	e->proc = owner_by_cookie(from->cookie);
	e->cookie = from->cookie;
	e->how = from->how;
	e->foreign = from->foreign;
	known = e->proc != NULL;
	barrier_var(known);	/* else clang 19 takes the OR of two pointers for "one of both is known" */
	e->known = known;
}

/* Applies the selection by process and excludes our own processes; counts what it refuses. */
static __always_inline bool owner_pass(struct sonde_ledger *l, const struct sonde_owner *o)
{
	bool pass = o ? !is_excluded(o->tgid) && select_owner(o) : !selects_process();

	if (!pass)
		rec_filtered(l);
	return pass;
}

/* Maximum number of packet bytes in a record of @kind. */
static __always_inline __u32 snaplen(__u32 kind, int verdict)
{
	__u32 n = net_snaplen[kind];

	return verdict == PKTFILTER_UNDECIDED && n < net_undecided_snaplen ? net_undecided_snaplen : n;
}

static __always_inline __u16 rec_flags(__u16 class, int verdict, bool cut)
{
	return class | (cut ? SONDE_RF_CUT : 0) | (verdict == PKTFILTER_UNDECIDED ? SONDE_RF_UNDECIDED : 0);
}

static __always_inline void rec_set_peer(struct net_peer *p, const struct net_end *e)
{
	const struct sonde_owner *o = e->proc;

	__builtin_memset(p, 0, sizeof(*p));
	p->sock = e->cookie;
	p->how = e->how;
	p->foreign = e->foreign;
	if (!o)
		return;
	p->tgid = o->tgid;
	p->start_ns = o->start_ns;
	__builtin_memcpy(p->comm, o->comm, sizeof(p->comm));
}

/*
 * The time of the record, before the look-ups of its ends: however long something else has the CPU in between, the
 * answer may be newer than the packet, never older.
 */
static __always_inline void rec_happens(struct net_rec *r)
{
	r->hdr.ts_ns = bpf_ktime_get_boot_ns();
}

/* After rec_happens(). */
static __always_inline void rec_begin(struct net_rec *r, const struct sonde_ledger *l, __u16 type, __u16 flags,
				      const struct net_ends *ends)
{
	const struct net_end *e = &ends->owner;
	const struct sonde_owner *o = e->proc;

	rec_init_at(&r->hdr, r->hdr.ts_ns, l, type, sizeof(*r), flags | SONDE_RF_IDENT, o ? o->tgid : 0, 0,
		    o ? o->start_ns : 0);
	ident_keys(&r->id, o ? o->image : 0, o ? o->cgroup_id : 0, 0);
	r->id.sock = e->cookie;
	r->id.owner_how = e->how;
	r->id.flags = o && o->changes > 1 ? SONDE_ID_F_SHARED_OWNER : 0;
	r->owner_end = o ? ends->end : NET_END_UNKNOWN;
	r->owner_foreign = o && e->foreign;
	r->translated = false;
	rec_set_peer(&r->peer, &ends->peer);
}

/* Appends s->origin behind @len bytes of the record's data. Returns the new length; @len is checked. */
static __always_inline __u32 rec_add_origin(struct net_scratch *s, __u32 len)
{
	if (!s->origin.family)
		return len;
	len = (len + 7) & ~7u;
	__builtin_memcpy(s->rec.data + len, &s->origin, sizeof(s->origin));
	s->rec.translated = true;
	return len + sizeof(s->origin);
}

/*
 * Reads from the task struct: packet programs have the helpers for ids and name only since 6.10, and this helper
 * since 5.10.
 */
static __always_inline void rec_set_task(struct net_rec *r)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task(), *typed;

	if (HAS_TYPE(task_struct)) {
		typed = TYPED(task, task_struct);
		r->cur_tgid = typed->tgid;
		r->cur_tid = typed->pid;
	} else {
		r->cur_tgid = BPF_CORE_READ(task, tgid);
		r->cur_tid = BPF_CORE_READ(task, pid);
	}
	bpf_core_read(r->cur_comm, sizeof(r->cur_comm), &task->comm); /* a string read costs twice as much */
}

#endif
