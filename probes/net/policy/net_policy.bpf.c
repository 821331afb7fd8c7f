// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Evaluates a rule file for each packet at the interfaces of one network namespace, counts the verdict and reports
 * it. The packet always continues: every program returns TC_NEXT.
 *
 * The tables (sonde/policy_wire.h) are inner maps of two generations. inst_net_policy holds the index of the active
 * generation; each packet reads it once.
 */
#include "bpf/kernel.h"

#include "bpf/conntrack.bpf.h"
#include "probes/net/count/net_count.bpf.h"
#include "probes/net/flow/net_flow_packet.bpf.h"
#include "probes/net/packet/net_emit.bpf.h"
#include "probes/net/policy/net_policy_wire.h"

/* ---- headers that rules match: doc/policy.md defines invalid, fragment, truncated ---- */

#define POLICY_EXT_MAX 8 /* IPv6 extension headers to skip */

struct policy_packet {
	__u8 src[16], dst[16];
	__u16 sport, dport; /* host order; ICMP: 0 and the type */
	__u8 family;	    /* 4, 6; 0 = the IP header is invalid: no rule matches */
	__u8 proto;
	__u8 state; /* SONDE_POLICY_STATE_* */
	__u8 pad;
};

/* Sets to intersect; an unused criterion repeats the first set. */
enum { SET_KIND, SET_PROTO, SET_CRITERIA, SET__MAX = SET_CRITERIA + SONDE_POLICY_ASKS };

/*
 * State of one packet. It is in map memory because the verifier does not track values there; on the stack, every path
 * through the headers would multiply with every path through the lookups. Per CPU: tc programs of one CPU do not
 * interrupt each other.
 */
struct policy_scratch {
	struct policy_packet packet;
	__u32 sets[SET__MAX];	/* numbers of sets; for cgroups, `bits` replaces the set */
	__u32 number;		/* of the matching rule, from 1; 0 = none */
	__u64 bits[SONDE_POLICY_WORDS];	/* union of the sets of the cgroup and its ancestors */
	__u64 addr;
	struct sonde_policy_rule rule;	/* that decides; this and the next for report_rule() */
	__u32 generation;
};

MAP(net_policy_scratch, PERCPU_ARRAY, 1, __u32, struct policy_scratch);

/* Smallest transport header in bytes; 0 = rules match no field of it. */
static __always_inline __u32 transport_need(__u8 proto)
{
	switch (proto) {
	case IPPROTO_TCP: return 20;
	case IPPROTO_UDP: return 8;
	case IPPROTO_SCTP: return 12;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6: return 8;
	default: return 0;
	}
}

static __always_inline void policy_parse_transport(struct __sk_buff *skb, struct policy_packet *p, __u32 off,
						   __u32 end)
{
	__u8 head[16] __attribute__((aligned(8)));
	__u16 *ports = (__u16 *)head;
	__u32 need = transport_need(p->proto);

	p->state = SONDE_POLICY_STATE_WHOLE;
	if (!need)
		return;
	if (off + need > end || load(skb, off, head, 8)) {
		p->state = SONDE_POLICY_STATE_CUT;
		return;
	}
	if (p->proto == IPPROTO_ICMP || p->proto == IPPROTO_ICMPV6) {
		p->dport = head[0];
		return;
	}
	p->sport = bpf_ntohs(ports[0]);
	p->dport = bpf_ntohs(ports[1]);
	if (p->proto != IPPROTO_TCP)
		return;
	if (load(skb, off + 8, head, 8))
		p->state = SONDE_POLICY_STATE_CUT;
	else if (head[5] & 0x14) /* ACK, RST */
		p->state = SONDE_POLICY_STATE_ESTABLISHED;
}

static __always_inline void policy_parse_v4(struct __sk_buff *skb, struct policy_packet *p, __u32 off)
{
	__u8 ip[20] __attribute__((aligned(8)));
	__u32 head, total, end = skb->len;

	if (load(skb, off, ip, sizeof(ip)))
		return;
	head = (ip[0] & 15) * 4;
	total = ip[2] << 8 | ip[3];
	if (total && off + total < end) /* 0: GSO packet above 64 KiB */
		end = off + total;
	if (ip[0] >> 4 != 4 || head < sizeof(ip) || off + head > end)
		return;
	p->family = SONDE_IPV4;
	p->proto = ip[9];
	__builtin_memcpy(p->src, ip + 12, 4);
	__builtin_memcpy(p->dst, ip + 16, 4);
	if ((ip[6] & 0x1f) | ip[7])
		p->state = SONDE_POLICY_STATE_FRAGMENT;
	else
		policy_parse_transport(skb, p, off + head, end);
}

static __always_inline bool is_extension(__u8 proto)
{
	return proto == IPPROTO_HOPOPTS || proto == IPPROTO_ROUTING || proto == IPPROTO_DSTOPTS ||
	       proto == IPPROTO_FRAGMENT;
}

/*
 * Where the header behind the extension header at @at is; 0 if the packet or this fragment has none. Of the packet in
 * scratch memory, as a function of its own to the verifier.
 */
__noinline int policy_skip(struct __sk_buff *skb, __u32 at, __u32 end)
{
	__u8 ext[8] __attribute__((aligned(8)));
	__u32 zero = 0, len;
	struct policy_scratch *w = bpf_map_lookup_elem(&net_policy_scratch, &zero);
	struct policy_packet *p;

	if (!w || at + 8 > end || load(skb, at, ext, sizeof(ext)))
		return 0;
	p = &w->packet;
	if (p->proto == IPPROTO_FRAGMENT && ((ext[2] << 8 | ext[3]) & 0xfff8)) {
		p->proto = ext[0];
		p->state = SONDE_POLICY_STATE_FRAGMENT;
		return 0;
	}
	len = p->proto == IPPROTO_FRAGMENT ? 8 : (ext[1] + 1) * 8;
	if (at + len > end)
		return 0;
	p->proto = ext[0];
	return at + len;
}

static __always_inline void policy_parse_v6(struct __sk_buff *skb, struct policy_packet *p, __u32 off)
{
	__u8 ip[40] __attribute__((aligned(8)));
	__u32 at = off + sizeof(ip), len, end = skb->len;

	if (load(skb, off, ip, sizeof(ip)) || ip[0] >> 4 != 6)
		return;
	len = ip[4] << 8 | ip[5];
	if (len && at + len < end)
		end = at + len;
	p->family = SONDE_IPV6;
	p->proto = ip[6];
	__builtin_memcpy(p->src, ip + 8, 16);
	__builtin_memcpy(p->dst, ip + 24, 16);
	p->state = SONDE_POLICY_STATE_CUT;
	for (int i = 0; i < POLICY_EXT_MAX && is_extension(p->proto); i++) {
		at = policy_skip(skb, at, end);
		if (!at)
			return;
	}
	if (!is_extension(p->proto))
		policy_parse_transport(skb, p, at, end);
}

/* False: neither IPv4 nor IPv6, so rules do not apply. */
static __always_inline bool policy_parse_packet(struct __sk_buff *skb, struct policy_packet *p, __u32 link)
{
	__u32 off = link == SONDE_LINK_ETHERNET ? ETH_LEN : 0;
	__u16 proto = bpf_ntohs(skb->protocol);
	__u16 tag[2];

	__builtin_memset(p, 0, sizeof(*p));
	for (int i = 0; i < 2 && (proto == NET_P_8021Q || proto == NET_P_8021AD); i++) {
		if (bpf_skb_load_bytes(skb, off, tag, sizeof(tag)))
			return false;
		proto = bpf_ntohs(tag[1]);
		off += 4;
	}
	if (proto == NET_P_IP)
		policy_parse_v4(skb, p, off);
	else if (proto == NET_P_IPV6)
		policy_parse_v6(skb, p, off);
	else
		return false;
	return true;
}

/* ---- tables ---- */

enum { BPF_F_INNER_MAP = 1u << 12 };	/* UAPI of Linux 5.10: inner arrays may have different lengths */

const volatile __u32 net_policy_report;	/* NET_REPORT_* */
const volatile __u32 net_policy_words = SONDE_POLICY_WORDS;	/* size of a set in 64-bit words */

MAP(inst_net_policy, ARRAY, 1, __u32, __u32 /* index of the active generation */);

MAP(inst_net_policy_head, ARRAY, 2, __u32, struct sonde_policy_head);

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct cgroup_subsys_state {
	struct cgroup_subsys_state *parent;
};

struct cgroup___tree {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};

struct sock_cgroup_data {
	struct cgroup *cgroup;	/* since Linux 5.16 */
};

struct sock_cgroup_data___old {
	__u64 val;
};

struct sock___cgroup {
	struct sock_cgroup_data sk_cgrp_data;
};

#pragma clang attribute pop

/* User space creates the inner maps; the definitions below only give their type. */
#define GENERATIONS(name_, inner_) \
	struct { \
		__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS); \
		__uint(max_entries, 2); \
		__type(key, __u32); \
		__array(values, struct inner_); \
	} name_ SEC(".maps")

struct policy_sets {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_INNER_MAP);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, SONDE_POLICY_WORDS * 8);
};
GENERATIONS(inst_net_policy_sets, policy_sets);

struct policy_trie {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(struct sonde_policy_prefix));
	__uint(value_size, sizeof(__u32));
};
GENERATIONS(inst_net_policy_trie, policy_trie);

struct policy_hash {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(struct sonde_policy_exact));
	__uint(value_size, sizeof(__u32));
};
GENERATIONS(inst_net_policy_hash, policy_hash);

struct policy_ports {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, SONDE_POLICY_PORTS * 4);
};
GENERATIONS(inst_net_policy_ports, policy_ports);

struct policy_rules {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_INNER_MAP);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct sonde_policy_rule));
};
GENERATIONS(inst_net_policy_rules, policy_rules);

/*
 * Parses the packet into this CPU's scratch memory; 0 as policy_parse_packet(), and without that memory. A function
 * of its own to the verifier: each path through the headers would be followed by each path through the lookups.
 */
__noinline int policy_parse(struct __sk_buff *skb, __u32 link)
{
	__u32 zero = 0;
	struct policy_scratch *w = bpf_map_lookup_elem(&net_policy_scratch, &zero);

	return w && policy_parse_packet(skb, &w->packet, link);
}

/* The tables for the lookups of one packet. */
struct policy_query {
	__u32 slot;		/* of the active generation, 0 or 1 */
	__u8 dir;		/* 0 in, 1 out */
	const struct sonde_policy_head *head;
	void *sets;
};

/* Looks up the tables of a generation. False before the first one is installed. */
static __always_inline bool query_slot(struct policy_query *q, __u32 slot)
{
	q->slot = slot & 1;
	q->head = bpf_map_lookup_elem(&inst_net_policy_head, &q->slot);
	q->sets = bpf_map_lookup_elem(&inst_net_policy_sets, &q->slot);
	return q->head && q->sets;
}

static __always_inline bool query_init(struct policy_query *q)
{
	__u32 zero = 0;
	__u32 *active = bpf_map_lookup_elem(&inst_net_policy, &zero);

	return active && query_slot(q, *active);
}

static __always_inline const __u64 *set_lookup(const struct policy_query *q, __u32 number)
{
	return bpf_map_lookup_elem(q->sets, &number);
}

static __always_inline bool uses(const struct policy_query *q, __u32 what)
{
	return q->head->asks & 1u << what;
}

static __always_inline bool uses_process(const struct policy_query *q)
{
	return uses(q, SONDE_POLICY_COMM) || uses(q, SONDE_POLICY_PID);
}

/* A lookup returns set 0 when a table is missing, which happens only before the first generation is active. */
static __always_inline __u32 set_by_address(const struct policy_query *q, const struct policy_packet *p, __u8 what)
{
	void *trie = bpf_map_lookup_elem(&inst_net_policy_trie, &q->slot);
	struct sonde_policy_prefix key = {
		.bits = SONDE_POLICY_PREFIX + (p->family == SONDE_IPV6 ? 128 : 32), .ask = what, .family = p->family,
	};
	__u32 *set;

	__builtin_memcpy(key.addr, what == SONDE_POLICY_SRC ? p->src : p->dst, sizeof(key.addr));
	set = trie ? bpf_map_lookup_elem(trie, &key) : NULL;
	return set ? *set : 0;
}

static __always_inline __u32 set_by_port(const struct policy_query *q, __u32 what, __u16 port)
{
	void *ports = bpf_map_lookup_elem(&inst_net_policy_ports, &q->slot);
	__u32 row = what == SONDE_POLICY_DPORT, *sets;

	sets = ports ? bpf_map_lookup_elem(ports, &row) : NULL;
	return sets ? sets[port] : 0;
}

static __always_inline __u32 set_by_key(const struct policy_query *q, const struct sonde_policy_exact *key,
					__u32 none)
{
	void *hash = bpf_map_lookup_elem(&inst_net_policy_hash, &q->slot);
	__u32 *set = hash ? bpf_map_lookup_elem(hash, key) : NULL;

	return set ? *set : none;
}

/* ---- processes ---- */

static __always_inline void add_set(__u64 *bits, const __u64 *set, __u32 n)
{
	for (__u32 w = 0; w < net_policy_words; w++) {
		if (w >= n)
			break;
		bits[w] |= set[w];
	}
}

static __always_inline void add_cgroup(const struct policy_query *q, __u64 *bits, __u64 id)
{
	struct sonde_policy_exact key = { .ask = SONDE_POLICY_CGROUP };
	const __u64 *set;

	__builtin_memcpy(key.key, &id, sizeof(id));
	set = set_lookup(q, set_by_key(q, &key, q->head->none[SONDE_POLICY_CGROUP]));
	if (set)
		add_set(bits, set, q->head->n_words);
}

/* The socket that receives an incoming packet, by the kernel's lookup with its addresses and ports. Referenced. */
static __always_inline struct bpf_sock *receiver(struct __sk_buff *skb, const struct policy_packet *p)
{
	struct bpf_sock_tuple t = {};
	__u32 len = sizeof(t.ipv4);

	if (p->state > SONDE_POLICY_STATE_ESTABLISHED)
		return NULL;
	if (p->family == SONDE_IPV4) {
		__builtin_memcpy(&t.ipv4.saddr, p->src, 4);
		__builtin_memcpy(&t.ipv4.daddr, p->dst, 4);
		t.ipv4.sport = bpf_htons(p->sport);
		t.ipv4.dport = bpf_htons(p->dport);
	} else {
		__builtin_memcpy(t.ipv6.saddr, p->src, 16);
		__builtin_memcpy(t.ipv6.daddr, p->dst, 16);
		t.ipv6.sport = bpf_htons(p->sport);
		t.ipv6.dport = bpf_htons(p->dport);
		len = sizeof(t.ipv6);
	}
	if (p->proto == IPPROTO_TCP)
		return bpf_sk_lookup_tcp(skb, &t, len, BPF_F_CURRENT_NETNS, 0);
	return p->proto == IPPROTO_UDP ? bpf_sk_lookup_udp(skb, &t, len, BPF_F_CURRENT_NETNS, 0) : NULL;
}

/* The cgroup in which a socket was created. @sk is an address: tc programs cannot dereference struct sock. */
static __always_inline void *cgroup_of(__u64 sk)
{
	void *data = (void *)sk + bpf_core_field_offset(struct sock___cgroup, sk_cgrp_data);
	struct sock_cgroup_data___old *old = data;
	struct sock_cgroup_data *new = data;
	__u64 v;

	if (bpf_core_field_exists(new->cgroup))
		return BPF_CORE_READ(new, cgroup);
	v = BPF_CORE_READ(old, val);
	return v & 1 ? NULL : (void *)v;	/* then it holds net_cls and net_prio of cgroup v1 */
}

/* Adds the sets of the receiver's cgroup and of its ancestors. */
static __always_inline void add_receiver_cgroups(struct __sk_buff *skb, const struct policy_query *q,
						 struct policy_scratch *w)
{
	struct bpf_sock *sk = receiver(skb, &w->packet);
	struct cgroup___tree *cg;

	if (!sk)
		return;
	*(volatile __u64 *)&w->addr = (__u64)sk;	/* a load from the map yields a plain number */
	cg = cgroup_of(*(volatile __u64 *)&w->addr);
	for (int i = 0; i < SONDE_POLICY_LEVELS && cg; i++) {
		struct cgroup_subsys_state *up = BPF_CORE_READ(cg, self.parent);
		__u64 id = BPF_CORE_READ(cg, kn, id);

		add_cgroup(q, w->bits, id);
		cg = up ? (void *)up - bpf_core_field_offset(struct cgroup___tree, self) : NULL;
	}
	bpf_sk_release(sk);
}

static __always_inline void add_sender_cgroups(struct __sk_buff *skb, const struct policy_query *q, __u64 *bits)
{
	for (__u32 i = 0; i < SONDE_POLICY_LEVELS; i++) {
		__u64 id;

		if (i >= q->head->n_levels)
			break;
		id = bpf_skb_ancestor_cgroup_id(skb, q->head->levels[i]);
		if (id)
			add_cgroup(q, bits, id);
	}
}

static __always_inline void match_cgroups(struct __sk_buff *skb, const struct policy_query *q,
					  struct policy_scratch *w)
{
	const __u64 *none = set_lookup(q, q->head->none[SONDE_POLICY_CGROUP]);

	for (__u32 i = 0; i < net_policy_words; i++)
		w->bits[i] = 0;
	if (none)
		add_set(w->bits, none, q->head->n_words);
	if (q->dir)
		add_sender_cgroups(skb, q, w->bits);
	else
		add_receiver_cgroups(skb, q, w);
}

/* The process on this host: the sender of an outgoing packet, the receiver of an incoming one. NULL = unknown. */
static __always_inline struct sonde_owner *local_process(struct __sk_buff *skb, struct net_scratch *s, __u8 dir,
							 __u32 link)
{
	struct net_end e = {};
	bool is_ip = scratch_tuples(link, net_want_netns);
	const struct sonde_tuple *t = dir ? &s->sent : &s->received;

	/* the request socket of a SYN-ACK has no owner; the lookup below finds the listener */
	if (dir && end_set(&e, bpf_get_socket_cookie(skb), SONDE_HOW_SKB, false) && e.known)
		return e.proc;
	if (!is_ip || s->is_error)
		return NULL;
	e.begins = s->begins;
	/* a connection before accept() has no process, its listener has one */
	return end_here(&e, t, false) && !e.foreign ? e.proc : NULL;
}

/* local_process() for a packet of which no header was copied yet. */
static __always_inline struct sonde_owner *process_of(struct __sk_buff *skb, __u8 dir, __u32 link)
{
	struct net_scratch *s = scratch_of_cpu();
	struct sonde_owner *o = NULL;

	if (!s || s->busy)
		return NULL;
	s->busy = 1;
	if (fill_packet(skb, &s->rec, link == SONDE_LINK_ETHERNET && skb->vlan_present, PKTFILTER_PASS) >= 0)
		o = local_process(skb, s, dir, link);
	scratch_give(s);
	return o;
}

static __always_inline void match_process(const struct policy_query *q, struct policy_scratch *w,
					  const struct sonde_owner *o)
{
	struct sonde_policy_exact key = { .ask = SONDE_POLICY_COMM };
	__u32 comm = q->head->none[SONDE_POLICY_COMM], pid = q->head->none[SONDE_POLICY_PID];

	if (o) {
		__builtin_memcpy(key.key, o->comm, sizeof(key.key));
		comm = set_by_key(q, &key, comm);
		__builtin_memset(key.key, 0, sizeof(key.key));
		__builtin_memcpy(key.key, &o->tgid, sizeof(o->tgid));
		key.ask = SONDE_POLICY_PID;
		pid = set_by_key(q, &key, pid);
	}
	w->sets[SET_CRITERIA + SONDE_POLICY_COMM] = comm;
	w->sets[SET_CRITERIA + SONDE_POLICY_PID] = pid;
}

/* The sets of the process, into scratch memory. A function of its own as policy_parse() is. */
__noinline int policy_process(struct __sk_buff *skb, __u32 slot, __u32 dir, __u32 link)
{
	__u32 zero = 0;
	struct policy_scratch *w = bpf_map_lookup_elem(&net_policy_scratch, &zero);
	struct policy_query q = { .dir = dir & 1 };

	if (w && query_slot(&q, slot))
		match_process(&q, w, process_of(skb, dir & 1, link));
	return 0;
}

/* ---- matching ---- */

static __always_inline __u32 lowest_bit(__u64 v)
{
	__u32 n = 0;

#pragma unroll
	for (__u32 half = 32; half; half /= 2) {
		__u32 skip = v & ((1ULL << half) - 1) ? 0 : half;

		n += skip;
		v >>= skip;
	}
	return n;
}

static __always_inline void find_sets(struct __sk_buff *skb, const struct policy_query *q, struct policy_scratch *w)
{
	const struct sonde_policy_head *h = q->head;
	const struct policy_packet *p = &w->packet;

	w->sets[SET_KIND] = h->kind[q->dir & 1][p->family == SONDE_IPV6][p->state & 3];
	w->sets[SET_PROTO] = h->proto[p->proto];
#pragma unroll
	for (int i = 0; i < SONDE_POLICY_ASKS; i++)
		w->sets[SET_CRITERIA + i] = w->sets[SET_KIND];
	if (uses(q, SONDE_POLICY_SRC))
		w->sets[SET_CRITERIA + SONDE_POLICY_SRC] = set_by_address(q, p, SONDE_POLICY_SRC);
	if (uses(q, SONDE_POLICY_DST))
		w->sets[SET_CRITERIA + SONDE_POLICY_DST] = set_by_address(q, p, SONDE_POLICY_DST);
	if (uses(q, SONDE_POLICY_SPORT))
		w->sets[SET_CRITERIA + SONDE_POLICY_SPORT] = set_by_port(q, SONDE_POLICY_SPORT, p->sport);
	if (uses(q, SONDE_POLICY_DPORT))
		w->sets[SET_CRITERIA + SONDE_POLICY_DPORT] = set_by_port(q, SONDE_POLICY_DPORT, p->dport);
	if (uses(q, SONDE_POLICY_CGROUP))
		match_cgroups(skb, q, w);
}

/* find_sets(). A function of its own as policy_parse() is, with a stack of its own. */
__noinline int policy_sets(struct __sk_buff *skb, __u32 slot, __u32 dir)
{
	__u32 zero = 0;
	struct policy_scratch *w = bpf_map_lookup_elem(&net_policy_scratch, &zero);
	struct policy_query q = { .dir = dir & 1 };

	if (w && query_slot(&q, slot))
		find_sets(skb, &q, w);
	return 0;
}

/* The number, from 1, of the first rule in the intersection of all sets; 0 = the intersection is empty. */
static __always_inline __u32 first_rule(const struct policy_query *q, const struct policy_scratch *w)
{
	const __u64 *sets[SET__MAX];

#pragma unroll
	for (int i = 0; i < SET__MAX; i++) {
		sets[i] = set_lookup(q, w->sets[i]);
		if (!sets[i])
			return 0;
	}
	if (uses(q, SONDE_POLICY_CGROUP))
		sets[SET_CRITERIA + SONDE_POLICY_CGROUP] = w->bits;
	for (__u32 n = 0; n < net_policy_words; n++) {
		__u64 v = ~0ULL;

		if (n >= q->head->n_words)
			break;
#pragma unroll
		for (int i = 0; i < SET__MAX; i++)
			v &= sets[i][n];
		if (v)
			return n * 64 + lowest_bit(v) + 1;
	}
	return 0;
}

/* first_rule() of scratch memory, into it. A function of its own as policy_sets() is. */
__noinline int policy_first(__u32 slot)
{
	__u32 zero = 0;
	struct policy_scratch *w = bpf_map_lookup_elem(&net_policy_scratch, &zero);
	struct policy_query q = { .dir = 0 };

	if (w && query_slot(&q, slot))
		w->number = first_rule(&q, w);
	return 0;
}

/* ---- counting, reporting ---- */

static __always_inline void count_verdict(struct __sk_buff *skb, const struct policy_query *q,
					  const struct sonde_policy_rule *rule, __u32 link)
{
	struct net_count_key key = {
		.location = q->head->generation, .netns = net_want_netns, .ifindex = skb->ifindex,
		.reason = rule->line, .kind = NET_COUNT_POLICY, .dir = q->dir ? NET_DIR_OUT : NET_DIR_IN,
		.point = NET_POINT_NONE,
		.verdict = rule->action == SONDE_POLICY_ALLOW ? NET_COUNT_ALLOW : NET_COUNT_AUDIT,
	};

	count_add(&key, skb->len + (link == SONDE_LINK_ETHERNET && skb->vlan_present ? 4 : 0));
}

static __always_inline bool is_reported(const struct sonde_policy_rule *rule)
{
	return net_policy_report == NET_REPORT_ALL ||
	       (net_policy_report == NET_REPORT_DENIED && rule->action != SONDE_POLICY_ALLOW);
}

static __always_inline void report_verdict(struct __sk_buff *skb, struct sonde_ledger *l, struct net_scratch *s,
					   const struct policy_scratch *w, __u8 dir, __u16 class, __u32 link)
{
	const struct sonde_policy_rule *rule = &w->rule;
	struct net_rec *r = &s->rec;
	struct net_ends ends;

	if (fill_packet(skb, r, link == SONDE_LINK_ETHERNET && skb->vlan_present, PKTFILTER_PASS) < 0) {
		rec_lost(l, SONDE_LOST_COPY);
		return;
	}
	rec_happens(r);
	find_ends(skb, s, dir, scratch_tuples(link, net_want_netns), &ends);
	if (!owner_pass(l, ends.owner.proc) || !rate_pass(l, NET_KIND_TRACE))
		return;
	rec_begin(r, l, NET_EV_VERDICT, rec_flags(class, PKTFILTER_PASS, r->cap_len < r->orig_len), &ends);
	fill_rec(skb, r, dir, link);
	r->reason = rule->line;
	r->prog_id = w->number;
	r->location = (__u64)w->generation << 32 | (__u32)rule->match << 8 | w->packet.state << 4 |
		      rule->action;
	r->hdr.len += r->cap_len;
	if (r->cap_len <= net_snap_limit)
		rec_output(l, LANE_BULK, &r->hdr, sizeof(*r) + r->cap_len);
	else	/* unreachable; the verifier needs the check */
		rec_lost(l, SONDE_LOST_COPY);
}

/* Reports the rule in scratch memory. @out: a constant. */
static __always_inline int report_rule(struct __sk_buff *skb, bool out, __u32 link)
{
	__u16 class = out ? NET_CLASS_EGRESS : NET_CLASS_INGRESS;
	struct sonde_ledger *l = ledger_row(class);
	__u32 zero = 0;
	struct policy_scratch *w = bpf_map_lookup_elem(&net_policy_scratch, &zero);
	struct net_scratch *s = l && w ? scratch_take(l) : NULL;

	if (!l || !w || !s)
		return 0;
	report_verdict(skb, l, s, w, out ? NET_DIR_OUT : NET_DIR_IN, class, link);
	scratch_give(s);
	return 0;
}

/* Functions of their own as policy_parse() is, one for each direction: the other one's ways are not walked. */
__noinline int policy_report_in(struct __sk_buff *skb, __u32 link)
{
	return report_rule(skb, false, link);
}

__noinline int policy_report_out(struct __sk_buff *skb, __u32 link)
{
	return report_rule(skb, true, link);
}

/* ---- one packet ---- */

/* The first matching rule; the default if none matches or the IP header is invalid. */
static __always_inline const struct sonde_policy_rule *find_rule(struct __sk_buff *skb, const struct policy_query *q,
								 struct policy_scratch *w, __u32 link)
{
	void *rules = bpf_map_lookup_elem(&inst_net_policy_rules, &q->slot);
	const struct sonde_policy_rule *r = NULL;
	__u32 at;

	w->number = 0;
	if (w->packet.family) {
		policy_sets(skb, q->slot, q->dir);
		if (uses_process(q))
			policy_process(skb, q->slot, q->dir, link);
		policy_first(q->slot);
	}
	at = *(volatile __u32 *)&w->number - 1;	/* loaded: a number to the verifier, not each of its values */
	if (rules)
		r = bpf_map_lookup_elem(rules, &at);
	return r ? r : &q->head->fallback[q->dir & 1];
}

static __always_inline int audit_packet(struct __sk_buff *skb, __u8 dir, __u32 link)
{
	struct sonde_ledger *l = ledger_seen(dir ? NET_CLASS_EGRESS : NET_CLASS_INGRESS);
	const struct sonde_policy_rule *rule;
	struct policy_query q = { .dir = dir };
	struct policy_scratch *w;
	__u32 zero = 0;

	if (!l)
		return TC_NEXT;
	w = bpf_map_lookup_elem(&net_policy_scratch, &zero);
	if (!w || !policy_parse(skb, link) || !query_init(&q)) {
		rec_filtered(l);
		return TC_NEXT;
	}
	rule = find_rule(skb, &q, w, link);
	count_verdict(skb, &q, rule, link);
	if (!is_reported(rule)) {
		rec_filtered(l);
		return TC_NEXT;
	}
	w->rule = *rule;
	w->generation = q.head->generation;
	if (dir)
		policy_report_out(skb, link);
	else
		policy_report_in(skb, link);
	return TC_NEXT;
}

PROGRAM("tc", sonde_rule_i_l2, audit_packet(skb, 0, SONDE_LINK_ETHERNET), struct __sk_buff *skb)
PROGRAM("tc", sonde_rule_o_l2, audit_packet(skb, 1, SONDE_LINK_ETHERNET), struct __sk_buff *skb)
PROGRAM("tc", sonde_rule_i_l3, audit_packet(skb, 0, SONDE_LINK_RAW), struct __sk_buff *skb)
PROGRAM("tc", sonde_rule_o_l3, audit_packet(skb, 1, SONDE_LINK_RAW), struct __sk_buff *skb)

char LICENSE[] SEC("license") = "Dual BSD/GPL";
