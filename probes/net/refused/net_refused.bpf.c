// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Connections that listeners refuse. The kernel frees a refused SYN like an answered SYN (consume_skb), and
 * only raises a counter; the last segment of a handshake that finds no room is a drop (kfree_skb).
 * Both tracepoints compare the counters of this CPU and namespace (struct linux_mib, those of nstat) with the last
 * reading.
 *
 * TCP raises a counter in the call that frees the packet, on the same CPU: at the next packet freed there the
 * difference to the last reading says whether that packet was refused, and why. No other CPU takes part, so the count
 * is exact. Readings exist for the namespaces of the start (mib_walk()); those made later begin with zeroes.
 */
#include "bpf/kernel.h"

#include "bpf/ident_listen.bpf.h"
#include "bpf/preempt.bpf.h"
#include "probes/net/count/net_count.bpf.h"
#include "probes/net/packet/net_select.bpf.h"
#include "probes/net/packet/net_skb.bpf.h"
#include "probes/net/refused/net_refused_wire.h"

/* ---- counters ---- */

/* Counters, by number of this kernel (include/uapi/linux/snmp.h; the numbers change). */
enum { MIB_DROPS, MIB_OVERFLOWS, MIB_SYN_FULL, MIB__MAX };
const volatile __u32 mib_number[MIB__MAX];

struct mib_key {
	__u32 netns;		/* inode */
	__u32 cpu;
};

struct mib_reading {
	__u64 counters;		/* address of the namespace's counters: an inode is used again */
	__u64 first;		/* MIB_DROPS at the start */
	__u64 seen;		/* refused packets since */
	__u64 last[MIB__MAX];
};

/* Sized before load. */
MAP(net_mib, HASH, 1, struct mib_key, struct mib_reading);

/* Only for the distance between the memory of this CPU and the address that all share. */
MAP(net_mib_percpu, PERCPU_ARRAY, 1, __u32, __u64);

#define MIB_CPUS 4096		/* refused packets of CPUs beyond are unexplained */

bool mib_running[MIB_CPUS];	/* readings of the CPU are complete */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common___mib {
	const void *ops;
	unsigned int inum;
};

struct netns_mib___mib {
	void *net_statistics;
};

struct net___mib {
	struct ns_common___mib ns;
	struct list_head list;
	struct netns_mib___mib mib;
};

struct bpf_array___mib {
	void *pptrs[1];
};

#pragma clang attribute pop

/* Symbols of per-CPU variables are not for every kernel: the kernel's own map has both addresses. */
static __always_inline __u64 mib_percpu_offset(void)
{
	void *map = &net_mib_percpu, *value;
	__u64 array = 0, shared = 0, mine = 0;
	__u32 zero = 0;

	value = bpf_map_lookup_elem(map, &zero);
	if (!value)
		return 0;
	bpf_probe_read_kernel(&array, sizeof(array), &map);
	bpf_probe_read_kernel(&mine, sizeof(mine), &value);
	bpf_probe_read_kernel(&shared, sizeof(shared),
			      (void *)array + bpf_core_field_offset(struct bpf_array___mib, pptrs));
	return mine - shared;
}

static __always_inline __u64 mib_read(__u64 counters, __u64 offset, __u32 which)
{
	__u64 n = 0;

	bpf_probe_read_kernel(&n, sizeof(n), (void *)(counters + offset + mib_number[which] * sizeof(n)));
	return n;
}

static __always_inline __u64 mib_counters(const void *net)
{
	return (__u64)BPF_CORE_READ((const struct net___mib *)net, mib.net_statistics);
}

/* Increase since the last reading. */
struct mib_change {
	__u64 drops, overflows, syn_full;
};

/* The reading of this CPU and namespace; NULL: readings have not begun, or the map is full. */
static __always_inline struct mib_reading *mib_reading_of(__u32 netns, __u64 counters)
{
	struct mib_key key = { .netns = netns, .cpu = bpf_get_smp_processor_id() };
	struct mib_reading *r = bpf_map_lookup_elem(&net_mib, &key), new = { .counters = counters };

	if (key.cpu >= MIB_CPUS || !mib_running[key.cpu & (MIB_CPUS - 1)])
		return NULL;
	if (r && r->counters == counters)
		return r;
	bpf_map_update_elem(&net_mib, &key, &new, BPF_ANY);
	return bpf_map_lookup_elem(&net_mib, &key);
}

/* True if @net refused a packet on this CPU since the last call. */
static __always_inline bool mib_changed(const struct net *net, __u32 netns, struct mib_change *ret)
{
	__u64 counters = mib_counters(net), offset = mib_percpu_offset(), drops, overflows, syn_full;
	struct mib_reading *r = mib_reading_of(netns, counters);

	if (!r)
		return false;
	drops = mib_read(counters, offset, MIB_DROPS);
	if (drops == r->last[MIB_DROPS])
		return false;
	overflows = mib_read(counters, offset, MIB_OVERFLOWS);
	syn_full = mib_read(counters, offset, MIB_SYN_FULL);
	ret->drops = drops - r->last[MIB_DROPS];
	ret->overflows = overflows - r->last[MIB_OVERFLOWS];
	ret->syn_full = syn_full - r->last[MIB_SYN_FULL];
	r->last[MIB_DROPS] = drops;
	r->last[MIB_OVERFLOWS] = overflows;
	r->last[MIB_SYN_FULL] = syn_full;
	r->seen++;
	return true;
}

/* ---- begin and end ---- */

__u64 mib_home;		/* a namespace to begin with */
__u64 mib_at;		/* the next one; 0 = all are done */

#define MIB_NETS 16	/* namespaces per run of the program: older verifiers walk each of them */

/* True for a namespace, false for the head of the list that they are in. */
static __always_inline bool mib_is_net(__u64 net)
{
	return net == mib_home || BPF_CORE_READ((struct net___mib *)net, ns.ops) ==
				  BPF_CORE_READ((struct net___mib *)mib_home, ns.ops);
}

static __always_inline void mib_visit(__u64 net, __u64 offset, bool end)
{
	struct mib_key key = { .cpu = bpf_get_smp_processor_id() };
	struct mib_reading new = {}, *r;

	key.netns = BPF_CORE_READ((struct net___mib *)net, ns.inum);
	new.counters = mib_counters((void *)net);
	for (int i = 0; i < MIB__MAX; i++)
		new.last[i] = mib_read(new.counters, offset, i);
	new.first = new.last[MIB_DROPS];
	r = bpf_map_lookup_elem(&net_mib, &key);
	if (!end)
		bpf_map_update_elem(&net_mib, &key, &new, BPF_ANY);
	else if (r && r->counters == new.counters)
		r->last[MIB_DROPS] = new.last[MIB_DROPS];
}

/*
 * Reads the counters of all namespaces on this CPU: at the start, or at the @end. User space repeats it until mib_at
 * is 0. The run that finishes the list switches the CPU on or off.
 */
static __always_inline void mib_walk(bool end)
{
	__u64 net = mib_at ?: mib_home, offset = mib_percpu_offset();
	__u32 cpu = bpf_get_smp_processor_id();

	for (int i = 0; i < MIB_NETS; i++) {
		if (mib_is_net(net))
			mib_visit(net, offset, end);
		net = (__u64)BPF_CORE_READ((struct net___mib *)net, list.next) -
		      bpf_core_field_offset(struct net___mib, list);
		if (net == mib_home) {
			mib_running[cpu & (MIB_CPUS - 1)] = !end;
			mib_at = 0;
			return;
		}
	}
	mib_at = net;
}

/* ---- packets ---- */

/* Range of tcp_rcv_state_process(), which frees SYNs of listeners. */
const volatile __u64 refused_start, refused_end;

#define GROUP_MAX 64		/* sockets of a group that are compared */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct request_sock_queue___refused {
	atomic_t qlen;
};

struct inet_connection_sock___refused {
	struct request_sock_queue___refused icsk_accept_queue;
};

struct sock_reuseport___refused {
	__u16 num_socks;
	struct sock *socks[1];
};

struct sock___refused {
	__u32 sk_ack_backlog, sk_max_ack_backlog;
	struct sock_reuseport___refused *sk_reuseport_cb;
};

#pragma clang attribute pop

#define TCP_OFFSET_FLAGS 13
#define TCP_FLAG_SYN 2
#define TCP_FLAG_ACK 16

/* Flags of the TCP header, 0 = no TCP packet. */
static __always_inline __u8 tcp_flags(struct sk_buff *skb)
{
	const unsigned char *head = skb->head;
	__u16 proto = bpf_ntohs(skb->protocol);
	__u8 transport = 0, flags = 0;

	if (proto == NET_P_IP)
		bpf_probe_read_kernel(&transport, 1, head + skb->network_header + 9);
	else if (proto != NET_P_IPV6)
		return 0;
	if (proto == NET_P_IP && transport != IPPROTO_TCP)
		return 0;
	bpf_probe_read_kernel(&flags, 1, head + skb->transport_header + TCP_OFFSET_FLAGS);
	return flags;
}

/* ---- the listener ---- */

/*
 * In a group of listeners on one address (SO_REUSEPORT), the one whose count of losses rose since it was last
 * compared. @steps: by how much one refused packet raises it.
 */
static __always_inline __u64 group_member(const struct sock *any, __u32 steps)
{
	struct sock_reuseport___refused *group = BPF_CORE_READ((struct sock___refused *)any, sk_reuseport_cb);
	__u32 n = group ? BPF_CORE_READ(group, num_socks) : 0;
	void *socks = (void *)group + bpf_core_field_offset(struct sock_reuseport___refused, socks);

	for (__u32 i = 0; i < GROUP_MAX && i < n; i++) {
		struct sock *sk = NULL;
		struct listener *l;
		__u64 cookie;

		bpf_probe_read_kernel(&sk, sizeof(sk), socks + i * sizeof(sk));
		cookie = sk ? listen_cookie(sk) : 0;
		l = listen_find(cookie);
		if (!l)
			continue;
		if ((__s32)(listen_drops(sk) - l->drops) <= 0)
			continue;
		__sync_fetch_and_add(&l->drops, steps); /* two CPUs may take one for the other's: the sum is right */
		return cookie;
	}
	return 0;
}

/*
 * Listener and its process, by the packet's tuples in the scratch of this CPU. A function of its own to the verifier,
 * which would walk the group on each way to it.
 */
__noinline int refused_listener(__u32 steps)
{
	struct net_scratch *s = scratch_of_cpu();
	struct sonde_sender *bound;
	struct net_end e = {};
	struct listener *l;

	if (!s)
		return 0;
	bound = flow_listener(&s->received);
	if (bound && !bound->group) {
		end_set(&e, bound->cookie, SONDE_HOW_LOOKUP, false);
	} else if (bound) {
		l = listen_find(bound->cookie);
		if (!end_set(&e, l ? group_member((struct sock *)l->sk, steps) : 0, SONDE_HOW_LOOKUP, false))
			e.how = SONDE_HOW_GROUP;
	}
	end_keep(&s->receiver, &e);
	return 0;
}

static __always_inline void fill_queue(struct net_refused_rec *r, __u64 cookie)
{
	struct listener *l = listen_find(cookie);
	struct sock___refused *sk = l ? (void *)l->sk : NULL;

	if (!sk)
		return;
	r->known = true;
	r->limit = BPF_CORE_READ(sk, sk_max_ack_backlog);
	r->queue = r->cause == NET_REFUSED_SYN_QUEUE ?
		   BPF_CORE_READ((struct inet_connection_sock___refused *)sk, icsk_accept_queue.qlen.counter) :
		   BPF_CORE_READ(sk, sk_ack_backlog);
}

/* ---- the record ---- */

static __always_inline void fill_rec(struct net_refused_rec *r, const struct sonde_ledger *l,
				     const struct net_scratch *s, const struct net_end *e)
{
	const struct sonde_owner *o = e->proc;

	rec_init_keys(&r->hdr, l, NET_EV_REFUSED, sizeof(*r), NET_CLASS_REFUSED | SONDE_RF_IDENT, o ? o->tgid : 0, 0,
		      o ? o->start_ns : 0);
	ident_keys(&r->id, o ? o->image : 0, o ? o->cgroup_id : 0, s->skb.netns);
	r->id.sock = e->cookie;
	r->id.owner_how = e->how;
	r->id.flags = o && o->changes > 1 ? SONDE_ID_F_SHARED_OWNER : 0;
	r->netns = s->skb.netns;
	r->ifindex = s->skb.ifindex;
	r->sport = s->sent.lport;
	r->dport = s->sent.rport;
	r->family = s->sent.family;
	__builtin_memcpy(r->saddr, s->sent.laddr, sizeof(r->saddr));
	__builtin_memcpy(r->daddr, s->sent.raddr, sizeof(r->daddr));
	if (s->skb.dev)
		bpf_probe_read_kernel(r->ifname, sizeof(r->ifname), s->skb.dev->name);
}

static __always_inline __u8 cause_of(const struct mib_change *c)
{
	return c->overflows ? NET_REFUSED_ACCEPT_QUEUE : c->syn_full ? NET_REFUSED_SYN_QUEUE : NET_REFUSED_OTHER;
}

/* True: the packet is counted and not reported. */
static __always_inline bool count_refused(const struct net_skb *k, __u8 cause)
{
	struct net_count_key key = {
		.netns = k->netns, .ifindex = k->ifindex, .reason = cause, .kind = NET_COUNT_REFUSED,
		.dir = NET_DIR_NONE, .point = NET_POINT_NONE,
	};

	if (count_is_new(&key))
		count_name(k->netns, k->ifindex, k->dev);
	return count_add(&key, k->orig_len + (k->tagged ? 4 : 0));
}

static __always_inline void report(struct sonde_ledger *l, struct net_scratch *s, struct sk_buff *skb,
				   const struct mib_change *change, __u8 step)
{
	struct net_refused_rec r = { .cause = cause_of(change), .step = step };
	struct net_end listener;

	__builtin_memset(s->rec.data, 0, NET_HEAD_BYTES);
	skb_copy(skb, &s->skb, s->rec.data, NET_HEAD_BYTES);
	if (!scratch_tuples(s->skb.link, s->skb.netns)) {
		rec_lost(l, SONDE_LOST_COPY);
		return;
	}
	refused_listener(step == NET_REFUSED_ACK ? 2 : 1); /* the drop of the packet counts, too */
	end_kept(&listener, &s->receiver);
	if (!select_netns(s->skb.netns) || !skb_select_iface(&s->skb)) {
		rec_filtered(l);
		return;
	}
	if (!owner_pass(l, listener.proc))
		return;
	if (net_counting && count_refused(&s->skb, r.cause))
		return;
	if (!rate_pass(l, NET_KIND_REFUSED))
		return;
	fill_queue(&r, listener.cookie);
	fill_rec(&r, l, s, &listener);
	rec_output(l, LANE_BULK, &r, sizeof(r));
}

static __always_inline void observe(struct sonde_ledger *l, struct net_scratch *s, struct sk_buff *skb,
				    const struct mib_change *change, __u8 step)
{
	int verdict;

	skb_examine(skb, NULL, &s->skb);
	verdict = skb_filter(skb, &s->skb);
	if (verdict == PKTFILTER_REJECT)
		rec_filtered(l);
	else if (verdict == PKTFILTER_UNDECIDED)	/* a filter on bytes that the record does not have */
		rec_lost(l, SONDE_LOST_COPY);
	else
		report(l, s, skb, change, step);
}

/* Namespace of a packet that TCP has received, which may have lost its device but not its route. */
static __always_inline const struct net *packet_net(struct sk_buff *skb)
{
	struct net_device *dev = skb_device(skb);
	struct dst_entry *dst = skb_route(skb);

	if (dev)
		return dev->nd_net.net;
	return dst ? BPF_CORE_READ(dst, dev, nd_net.net) : NULL;
}

static __always_inline int freed(struct sk_buff *skb, __u8 step)
{
	const struct net *net = packet_net(skb);
	struct mib_change change;
	struct sonde_ledger *l;
	struct net_scratch *s;

	if (!net || !mib_changed(net, net_inode_probed(net), &change))
		return 0;
	l = ledger_seen(NET_CLASS_REFUSED);
	s = l ? scratch_take(l) : NULL;
	if (!s)
		return 0;
	observe(l, s, skb, &change, step);
	scratch_give(s);
	return 0;
}

/* Since 6.3: void (skb, location) */
SEC("tp_btf/consume_skb")
int BPF_PROG_NOPREEMPT(refused_syn)
{
	if (ctx[1] < refused_start || ctx[1] >= refused_end)
		return 0;
	return freed((struct sk_buff *)ctx[0], NET_REFUSED_SYN);
}

/* Before: void (skb) */
SEC("tp_btf/consume_skb")
int BPF_PROG_NOPREEMPT(refused_syn_plain)
{
	struct sk_buff *skb = (struct sk_buff *)ctx[0];

	if ((tcp_flags(skb) & (TCP_FLAG_SYN | TCP_FLAG_ACK)) != TCP_FLAG_SYN)
		return 0;
	return freed(skb, NET_REFUSED_SYN);
}

/* void (skb, location, ...) */
SEC("tp_btf/kfree_skb")
int BPF_PROG_NOPREEMPT(refused_ack)
{
	struct sk_buff *skb = (struct sk_buff *)ctx[0];

	return tcp_flags(skb) & TCP_FLAG_ACK ? freed(skb, NET_REFUSED_ACK) : 0;
}

/* Run by user space on each CPU: begins readings, or ends them. void (end) */
SEC("raw_tp")
int refused_readings(__u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	if (!mib_home)
		mib_home = (__u64)BPF_CORE_READ(task, nsproxy, net_ns);
	if (mib_home)
		mib_walk(ctx[0]);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
