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
#include "probes/net/net_count.bpf.h"
#include "probes/net/net_policy.bpf.h"
#include "probes/net/net_tell.bpf.h"

enum { BPF_F_INNER_MAP = 1u << 12 };	/* UAPI, 5.10: inner arrays may differ in length */

const volatile __u32 net_policy_tell;	/* NET_TELL_* */
const volatile __u32 net_policy_words = SONDE_POLICY_WORDS;	/* that a set has room for */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);	/* index of the active generation */
} inst_net_policy SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct sonde_policy_head);
} inst_net_policy_head SEC(".maps");

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct cgroup_subsys_state {
	struct cgroup_subsys_state *parent;
};

struct cgroup___tree {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};

struct sock_cgroup_data {
	struct cgroup *cgroup;	/* 5.16 */
};

struct sock_cgroup_data___old {
	__u64 val;
};

struct sock___cgroup {
	struct sock_cgroup_data sk_cgrp_data;
};

#pragma clang attribute pop

/* Inner maps are made by user space; these say of what kind they are. */
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

/* Sets that a rule must be in. What nobody asks about stands for itself: the first set, once more. */
enum { IN_KIND, IN_PROTO, IN_ASKS, IN__MAX = IN_ASKS + SONDE_POLICY_ASKS };

/*
 * A packet and what was found about it. It stands in map memory, of which the verifier remembers nothing: else it
 * would follow every way through the headers through every question too. Programs of a CPU do not interrupt each
 * other.
 */
struct policy_work {
	struct policy_look look;
	__u32 in[IN__MAX];	/* numbers of sets; of cgroups the set is `bits` */
	__u32 number;		/* of the rule that decided, 0 = none */
	__u64 bits[SONDE_POLICY_WORDS];	/* what the cgroups of all depths say, put together */
	__u64 addr;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct policy_work);
} net_policy_work SEC(".maps");

/* The generation that a packet asks. */
struct policy_ask {
	__u32 at;
	__u8 dir;		/* 0 in, 1 out */
	const struct sonde_policy_head *head;
	void *sets;
};

static __always_inline const __u64 *set_number(const struct policy_ask *a, __u32 number)
{
	return bpf_map_lookup_elem(a->sets, &number);
}

static __always_inline bool asks(const struct policy_ask *a, __u32 what)
{
	return a->head->asks & 1u << what;
}

static __always_inline bool asks_process(const struct policy_ask *a)
{
	return asks(a, SONDE_POLICY_COMM) || asks(a, SONDE_POLICY_PID);
}

/* A table is missing only before a generation holds; set 0 is as good as another then. */
static __always_inline __u32 by_address(const struct policy_ask *a, const struct policy_look *look, __u8 what)
{
	void *trie = bpf_map_lookup_elem(&inst_net_policy_trie, &a->at);
	struct sonde_policy_prefix key = {
		.bits = SONDE_POLICY_PREFIX + (look->family == 6 ? 128 : 32), .ask = what, .family = look->family,
	};
	__u32 *set;

	__builtin_memcpy(key.addr, what == SONDE_POLICY_SRC ? look->src : look->dst, sizeof(key.addr));
	set = trie ? bpf_map_lookup_elem(trie, &key) : NULL;
	return set ? *set : 0;
}

static __always_inline __u32 by_port(const struct policy_ask *a, __u32 what, __u16 port)
{
	void *ports = bpf_map_lookup_elem(&inst_net_policy_ports, &a->at);
	__u32 row = what == SONDE_POLICY_DPORT, *sets;

	sets = ports ? bpf_map_lookup_elem(ports, &row) : NULL;
	return sets ? sets[port] : 0;
}

static __always_inline __u32 exact_set(const struct policy_ask *a, const struct sonde_policy_exact *key, __u32 none)
{
	void *hash = bpf_map_lookup_elem(&inst_net_policy_hash, &a->at);
	__u32 *set = hash ? bpf_map_lookup_elem(hash, key) : NULL;

	return set ? *set : none;
}

/* ---- processes ---- */

static __always_inline void room_add(__u64 *room, const __u64 *set, __u32 n)
{
	for (__u32 w = 0; w < net_policy_words; w++) {
		if (w >= n)
			break;
		room[w] |= set[w];
	}
}

static __always_inline void room_add_cgroup(const struct policy_ask *a, __u64 *room, __u64 id)
{
	struct sonde_policy_exact key = { .ask = SONDE_POLICY_CGROUP };
	const __u64 *set;

	__builtin_memcpy(key.key, &id, sizeof(id));
	set = set_number(a, exact_set(a, &key, a->head->none[SONDE_POLICY_CGROUP]));
	if (set)
		room_add(room, set, a->head->n_words);
}

/* The socket that a packet on its way in is for, as the kernel would find it by these addresses. */
static __always_inline struct bpf_sock *receiver(struct __sk_buff *skb, const struct policy_look *p)
{
	struct bpf_sock_tuple t = {};
	__u32 len = sizeof(t.ipv4);

	if (p->state > SONDE_POLICY_STATE_ESTABLISHED)
		return NULL;
	if (p->family == 4) {
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
	if (p->proto == 6)
		return bpf_sk_lookup_tcp(skb, &t, len, BPF_F_CURRENT_NETNS, 0);
	return p->proto == 17 ? bpf_sk_lookup_udp(skb, &t, len, BPF_F_CURRENT_NETNS, 0) : NULL;
}

/* The cgroup that a socket was made in. @sk is an address: programs of this kind may not look into sockets. */
static __always_inline void *cgroup_of(__u64 sk)
{
	void *data = (void *)sk + bpf_core_field_offset(struct sock___cgroup, sk_cgrp_data);
	struct sock_cgroup_data___old *old = data;
	struct sock_cgroup_data *new = data;
	__u64 v;

	if (bpf_core_field_exists(new->cgroup))
		return BPF_CORE_READ(new, cgroup);
	v = BPF_CORE_READ(old, val);
	return v & 1 ? NULL : (void *)v;	/* then it holds numbers of the first version's classes */
}

/* That cgroup and all above it. */
static __always_inline void room_add_receiver(struct __sk_buff *skb, const struct policy_ask *a,
					     struct policy_work *w)
{
	struct bpf_sock *sk = receiver(skb, &w->look);
	struct cgroup___tree *cg;

	if (!sk)
		return;
	*(volatile __u64 *)&w->addr = (__u64)sk;	/* what comes back out of a map is a number */
	cg = cgroup_of(*(volatile __u64 *)&w->addr);
	for (int i = 0; i < SONDE_POLICY_LEVELS && cg; i++) {
		struct cgroup_subsys_state *up = BPF_CORE_READ(cg, self.parent);
		__u64 id = BPF_CORE_READ(cg, kn, id);

		room_add_cgroup(a, w->bits, id);
		cg = up ? (void *)up - bpf_core_field_offset(struct cgroup___tree, self) : NULL;
	}
	bpf_sk_release(sk);
}

static __always_inline void room_add_sender(struct __sk_buff *skb, const struct policy_ask *a, __u64 *room)
{
	for (__u32 i = 0; i < SONDE_POLICY_LEVELS; i++) {
		__u64 id;

		if (i >= a->head->n_levels)
			break;
		id = bpf_skb_ancestor_cgroup_id(skb, a->head->levels[i]);
		if (id)
			room_add_cgroup(a, room, id);
	}
}

static __always_inline void by_cgroup(struct __sk_buff *skb, const struct policy_ask *a, struct policy_work *w)
{
	const __u64 *none = set_number(a, a->head->none[SONDE_POLICY_CGROUP]);

	for (__u32 i = 0; i < net_policy_words; i++)
		w->bits[i] = 0;
	if (none)
		room_add(w->bits, none, a->head->n_words);
	if (a->dir)
		room_add_sender(skb, a, w->bits);
	else
		room_add_receiver(skb, a, w);
}

/* At this end: the sender of what leaves, the receiver of what comes. */
static __always_inline struct sonde_owner *local_process(struct __sk_buff *skb, struct net_scratch *s, __u8 dir,
							 __u32 link)
{
	struct sonde_owner *proc = NULL;
	bool is_ip = scratch_tuples(s, link, net_want_netns);
	const struct sonde_tuple *t = dir ? &s->sent : &s->received;

	/* a SYN-ACK carries the socket of a question, which no process opened: it is its listener's */
	if (dir && owner_from_cookie(&s->rec, bpf_get_socket_cookie(skb), NET_OWNER_SKB_SK, &proc) && proc)
		return proc;
	if (is_ip && !s->is_error && (owner_exact(&s->rec, t, &proc) || owner_bound(&s->rec, t, false, &proc)))
		return proc;
	return NULL;
}

static __always_inline void by_process(const struct policy_ask *a, struct policy_work *w, const struct sonde_owner *o)
{
	struct sonde_policy_exact key = { .ask = SONDE_POLICY_COMM };
	__u32 comm = a->head->none[SONDE_POLICY_COMM], pid = a->head->none[SONDE_POLICY_PID];

	if (o) {
		__builtin_memcpy(key.key, o->comm, sizeof(key.key));
		comm = exact_set(a, &key, comm);
		__builtin_memset(key.key, 0, sizeof(key.key));
		__builtin_memcpy(key.key, &o->tgid, sizeof(o->tgid));
		key.ask = SONDE_POLICY_PID;
		pid = exact_set(a, &key, pid);
	}
	w->in[IN_ASKS + SONDE_POLICY_COMM] = comm;
	w->in[IN_ASKS + SONDE_POLICY_PID] = pid;
}

/* ---- deciding ---- */

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

static __always_inline void find_sets(struct __sk_buff *skb, const struct policy_ask *a, struct policy_work *w)
{
	const struct sonde_policy_head *h = a->head;
	const struct policy_look *p = &w->look;

	w->in[IN_KIND] = h->kind[a->dir & 1][p->family == 6][p->state & 3];
	w->in[IN_PROTO] = h->proto[p->proto];
#pragma unroll
	for (int i = 0; i < SONDE_POLICY_ASKS; i++)
		w->in[IN_ASKS + i] = w->in[IN_KIND];
	if (asks(a, SONDE_POLICY_SRC))
		w->in[IN_ASKS + SONDE_POLICY_SRC] = by_address(a, p, SONDE_POLICY_SRC);
	if (asks(a, SONDE_POLICY_DST))
		w->in[IN_ASKS + SONDE_POLICY_DST] = by_address(a, p, SONDE_POLICY_DST);
	if (asks(a, SONDE_POLICY_SPORT))
		w->in[IN_ASKS + SONDE_POLICY_SPORT] = by_port(a, SONDE_POLICY_SPORT, p->sport);
	if (asks(a, SONDE_POLICY_DPORT))
		w->in[IN_ASKS + SONDE_POLICY_DPORT] = by_port(a, SONDE_POLICY_DPORT, p->dport);
	if (asks(a, SONDE_POLICY_CGROUP))
		by_cgroup(skb, a, w);
}

/* The number of the first rule that is in all sets; 0 = none is. */
static __always_inline __u32 first_rule(const struct policy_ask *a, const struct policy_work *w)
{
	const __u64 *in[IN__MAX];

#pragma unroll
	for (int i = 0; i < IN__MAX; i++) {
		in[i] = set_number(a, w->in[i]);
		if (!in[i])
			return 0;
	}
	if (asks(a, SONDE_POLICY_CGROUP))
		in[IN_ASKS + SONDE_POLICY_CGROUP] = w->bits;
	for (__u32 n = 0; n < net_policy_words; n++) {
		__u64 v = ~0ULL;

		if (n >= a->head->n_words)
			break;
#pragma unroll
		for (int i = 0; i < IN__MAX; i++)
			v &= in[i][n];
		if (v)
			return n * 64 + lowest_bit(v) + 1;
	}
	return 0;
}

/* ---- counting, reporting ---- */

static __always_inline void count_verdict(struct __sk_buff *skb, const struct policy_ask *a,
					  const struct sonde_policy_rule *rule, __u32 link)
{
	struct net_count_key key = {
		.location = a->head->generation, .netns = net_want_netns, .ifindex = skb->ifindex,
		.reason = rule->line, .kind = NET_COUNT_POLICY, .dir = a->dir ? NET_DIR_OUT : NET_DIR_IN,
		.point = NET_POINT_NONE,
		.verdict = rule->action == SONDE_POLICY_ALLOW ? NET_COUNT_ALLOW : NET_COUNT_AUDIT,
	};

	count_add(&key, skb->len + (link == SONDE_LINK_ETHERNET && skb->vlan_present ? 4 : 0));
}

static __always_inline bool is_told(const struct sonde_policy_rule *rule)
{
	return net_policy_tell == NET_TELL_ALL ||
	       (net_policy_tell == NET_TELL_DENIED && rule->action != SONDE_POLICY_ALLOW);
}

static __always_inline void tell_from(struct __sk_buff *skb, struct sonde_ledger *l, struct net_scratch *s,
				      const struct policy_ask *a, const struct policy_work *w,
				      const struct sonde_policy_rule *rule, __u32 link)
{
	__u8 dir = a->dir ? NET_DIR_OUT : NET_DIR_IN;
	__u16 class = a->dir ? NET_CLASS_EGRESS : NET_CLASS_INGRESS;
	struct net_rec *r = &s->rec;
	struct sonde_owner *o;

	if (fill_packet(skb, r, link == SONDE_LINK_ETHERNET && skb->vlan_present, PKTFILTER_PASS) < 0) {
		rec_lost(l, SONDE_LOST_COPY);
		return;
	}
	o = find_owner(skb, s, dir, scratch_tuples(s, link, net_want_netns));
	if (!owner_pass(l, o) || !rate_pass(l, NET_KIND_TRACE))
		return;
	rec_begin(r, l, NET_EV_VERDICT, rec_flags(class, PKTFILTER_PASS, r->cap_len < r->orig_len), o);
	fill_rec(skb, r, dir, link);
	r->reason = rule->line;
	r->prog_id = w->number;
	r->location = (__u64)a->head->generation << 32 | (__u32)rule->match << 8 | w->look.state << 4 |
		      rule->action;
	r->hdr.len += r->cap_len;
	if (r->cap_len <= net_snap_limit)
		rec_output(l, LANE_BULK, &r->hdr, sizeof(*r) + r->cap_len);
	else /* cannot happen, which the verifier does not know */
		rec_lost(l, SONDE_LOST_COPY);
}

static __always_inline void tell(struct __sk_buff *skb, struct sonde_ledger *l, const struct policy_ask *a,
				 const struct policy_work *w, const struct sonde_policy_rule *rule, __u32 link)
{
	struct net_scratch *s;

	if (!is_told(rule)) {
		rec_filtered(l);
		return;
	}
	s = scratch_take(l);
	if (!s)
		return;
	tell_from(skb, l, s, a, w, rule, link);
	scratch_give(s);
}

/* ---- one packet ---- */

/* Whose it is, for rules that ask; NULL = not known. */
static __always_inline struct sonde_owner *process_of(struct __sk_buff *skb, const struct policy_ask *a, __u32 link)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct net_scratch *s = bpf_map_lookup_elem(&net_scratch, &cpu);
	struct sonde_owner *o = NULL;

	if (!s || s->busy)
		return NULL;
	s->busy = 1;
	if (fill_packet(skb, &s->rec, link == SONDE_LINK_ETHERNET && skb->vlan_present, PKTFILTER_PASS) >= 0)
		o = local_process(skb, s, a->dir, link);
	scratch_give(s);
	return o;
}

/* The rule that decides; the default where none fits or the IP header is broken. */
static __always_inline const struct sonde_policy_rule *judge(struct __sk_buff *skb, const struct policy_ask *a,
							     struct policy_work *w, __u32 link)
{
	void *rules = bpf_map_lookup_elem(&inst_net_policy_rules, &a->at);
	const struct sonde_policy_rule *r = NULL;
	__u32 at;

	w->number = 0;
	if (w->look.family) {
		find_sets(skb, a, w);
		if (asks_process(a))
			by_process(a, w, process_of(skb, a, link));
		w->number = first_rule(a, w);
	}
	at = w->number - 1;
	if (rules)
		r = bpf_map_lookup_elem(rules, &at);
	return r ? r : &a->head->fallback[a->dir & 1];
}

/* Finds the generation that holds. */
static __always_inline bool begin(struct policy_ask *a)
{
	__u32 zero = 0;
	__u32 *active = bpf_map_lookup_elem(&inst_net_policy, &zero);

	if (!active)
		return false;
	a->at = *active & 1;
	a->head = bpf_map_lookup_elem(&inst_net_policy_head, &a->at);
	a->sets = bpf_map_lookup_elem(&inst_net_policy_sets, &a->at);
	return a->head && a->sets;
}

static __always_inline int police(struct __sk_buff *skb, __u8 dir, __u32 link)
{
	struct sonde_ledger *l = ledger_seen(dir ? NET_CLASS_EGRESS : NET_CLASS_INGRESS);
	const struct sonde_policy_rule *rule;
	struct policy_ask a = { .dir = dir };
	struct policy_work *w;
	__u32 zero = 0;

	if (!l)
		return TC_NEXT;
	w = bpf_map_lookup_elem(&net_policy_work, &zero);
	if (!w || !policy_look_at(skb, &w->look, link) || !begin(&a)) {
		rec_filtered(l);
		return TC_NEXT;
	}
	rule = judge(skb, &a, w, link);
	count_verdict(skb, &a, rule, link);
	tell(skb, l, &a, w, rule, link);
	return TC_NEXT;
}

SEC("tc")
int sonde_rule_i_l2(struct __sk_buff *skb)
{
	return police(skb, 0, SONDE_LINK_ETHERNET);
}

SEC("tc")
int sonde_rule_o_l2(struct __sk_buff *skb)
{
	return police(skb, 1, SONDE_LINK_ETHERNET);
}

SEC("tc")
int sonde_rule_i_l3(struct __sk_buff *skb)
{
	return police(skb, 0, SONDE_LINK_RAW);
}

SEC("tc")
int sonde_rule_o_l3(struct __sk_buff *skb)
{
	return police(skb, 1, SONDE_LINK_RAW);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
