// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Dropped packets: tracepoint kfree_skb, which has two arguments (until 5.16), three (the reason, 5.17) or four (the
 * receiving socket, 6.11). Exactly one of the three programs is loaded.
 *
 * Normal frees are not drops: user space finds the reasons "consumed" and "socket closed" by name in the running
 * kernel's BTF.
 */
#include "bpf/kernel.h"
#include "bpf/preempt.bpf.h"

#include "probes/net/count/net_count.bpf.h"
#include "probes/net/flow/net_flow_direction.bpf.h"
#include "probes/net/packet/net_select.bpf.h"
#include "probes/net/packet/net_skb.bpf.h"

#define DROP_REASONS 256	/* of the kernel's core; subsystems number from 65536 up */

/* 1 = not a drop. */
const volatile __u8 drop_normal[DROP_REASONS];

/*
 * Functions that free a closed socket's queue, and similar ones. The location identifies these frees on kernels
 * without a better reason than "not specified" (all before 6.0, some paths of all). End 0 = end of the list.
 */
#define DROP_PLACES 32
const volatile __u64 drop_range_start[DROP_PLACES], drop_range_end[DROP_PLACES];
const volatile __u32 drop_unspecified;	/* the number of that reason */

static __always_inline bool is_normal_place(__u64 location, __u32 reason)
{
	if (reason != drop_unspecified)
		return false;
#pragma unroll
	for (int i = 0; i < DROP_PLACES; i++)
		if (location >= drop_range_start[i] && location < drop_range_end[i])
			return true;
	return false;
}

/*
 * The kernel offers an echo reply to raw sockets first and to ping sockets last, and frees it as a drop (ping_rcv,
 * NO_SOCKET) without a ping socket, although a raw socket has a copy. So it is a drop only if no socket of this
 * namespace sent a request with that identifier, to any address (ping -b).
 */
const volatile __u64 drop_ping_start, drop_ping_end;

static __always_inline bool is_echo_place(__u64 location)
{
	return location >= drop_ping_start && location < drop_ping_end;
}

static __always_inline bool is_delivered_echo(__u64 location, const struct net_ends *ends)
{
	return is_echo_place(location) && ends->owner.known && !ends->owner.foreign &&
	       ends->owner.how != SONDE_HOW_SKB;
}

/* Ranges of ip_forward() and ip6_forward(), and their reason for a packet without hops left. */
const volatile __u64 drop_forward_start[2], drop_forward_end[2];
const volatile __u32 drop_header_reason;

/* The kernel has one reason for all bad IP headers: the packet shows which. */
static __always_inline bool is_out_of_hops(struct sk_buff *skb, __u64 location, __u32 reason)
{
	__u8 hops;

	if (reason != drop_header_reason)
		return false;
#pragma unroll
	for (int i = 0; i < 2; i++)
		if (location >= drop_forward_start[i] && location < drop_forward_end[i])
			return !bpf_probe_read_kernel(&hops, sizeof(hops),
						      skb->head + skb->network_header +
						      (i ? 7 : 8) /* ipv6hdr.hop_limit, iphdr.ttl */) &&
			       hops <= 1;
	return false;
}

#define DROP_TIME_WAIT 6	/* include/net/tcp_states.h */

/*
 * The kernel frees the last acknowledgement of a connection in TIME-WAIT as a drop without a reason, after processing
 * it. Kernels that do not pass the socket (before 6.11) cannot be asked.
 */
static __always_inline bool is_last_ack(struct sock *rx_sk, __u32 reason)
{
	return rx_sk && reason == drop_unspecified && rx_sk->__sk_common.skc_state == DROP_TIME_WAIT;
}

static __always_inline bool is_normal(__u32 reason)
{
	if (reason >= DROP_REASONS)
		return false;
	barrier_var(reason);
	return drop_normal[reason & (DROP_REASONS - 1)];
}

static __always_inline __u64 sk_cookie(struct sock *sk)
{
	return sk ? sk->__sk_common.skc_cookie.counter : 0;
}

static __always_inline bool sk_listens(struct sock *sk)
{
	return sk && sk->__sk_common.skc_state == TCP_LISTEN;
}

/*
 * A packet found bad when it is read (UDP checksums) has lost device and namespace, but its reader is running. The
 * task's namespace counts as the packet's only if a socket of that very process receives packets for this address
 * there.
 */
static __always_inline void receiver_by_reader(struct net_scratch *s, struct net_end *e)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	s->received.netns = net_inode_probed(BPF_CORE_READ(task, nsproxy, net_ns));
	if (!s->received.netns)
		return;
	if (!end_exact(e, &s->received, SONDE_HOW_TUPLE) && !end_bound(e, &s->received, true))
		return;
	if (!e->proc || e->proc->tgid != bpf_get_current_pid_tgid() >> 32)
		*e = (struct net_end){};
	else
		s->skb.netns = s->received.netns;
}

/* The sender by the packet's socket. */
static __always_inline bool sender_by_socket(struct net_end *e, struct sock *sk, __u32 netns)
{
	__u16 family = sk ? BPF_CORE_READ(sk, __sk_common.skc_family) : 0;

	if (family != AF_INET && family != AF_INET6)
		return false;
	return end_set(e, BPF_CORE_READ(sk, __sk_common.skc_cookie.counter), SONDE_HOW_SKB,
		       net_inode_probed(BPF_CORE_READ(sk, __sk_common.skc_net.net)) != netns) &&
	       e->known;
}

/*
 * The ends of the packet in this CPU's scratch: the receiver that the kernel names, else the sender by its socket,
 * else both by addresses. Each step is a function of its own to the verifier, which takes longest for these look-ups:
 * ways through one would multiply with those through the next. @addr: of a struct sk_buff.
 */
__noinline int drop_tuples(__u64 addr)
{
	struct net_scratch *s = scratch_of_cpu();
	bool is_ip = s && scratch_tuples(s->skb.link, s->skb.netns);

	if (s)
		s->origin.family = 0;
	if (is_ip)
		find_origin(s, (struct sk_buff *)addr);
	return is_ip;
}

/*
 * Returns whether the addresses have to say who the sender is. @rx_listens: the kernel names a listener; a late
 * packet of a closed connection ends there, too.
 */
__noinline int drop_receiver(__u64 addr, __u64 rx_cookie, __u32 rx_listens, __u32 is_ip)
{
	struct sk_buff *skb = (struct sk_buff *)addr;
	struct net_scratch *s = scratch_of_cpu();
	struct net_end e = {};
	bool named;

	if (!s)
		return 0;
	e.begins = s->begins;
	named = rx_listens && is_ip && end_exact(&e, &s->received, SONDE_HOW_TUPLE) && e.known;
	named = named || (end_set(&e, rx_cookie, SONDE_HOW_STORAGE, false) && e.known);
	if (!named && is_ip && !s->skb.netns)
		receiver_by_reader(s, &e);
	else if (!named && is_ip)
		receiver_by_tuple(&e, s, skb_is_local(skb, bpf_ntohs(BPF_CORE_READ(skb, protocol))) ||
					 skb_is_for_device(&s->skb, &s->sent));
	end_keep(&s->receiver, &e);
	return !named && is_ip && s->skb.netns;
}

/* Returns whether the packet's socket says it. */
__noinline int drop_sender(__u64 addr, __u32 by_tuple)
{
	struct sk_buff *skb = (struct sk_buff *)addr;
	struct net_scratch *s = scratch_of_cpu();
	struct net_end e = {};
	bool by_socket;

	if (!s)
		return 0;
	by_socket = sender_by_socket(&e, BPF_CORE_READ(skb, sk), s->skb.netns);
	e.begins = s->begins;
	if (!by_socket && by_tuple && !sender_by_translation(&e, s))
		sender_by_tuple(&e, s);
	end_keep(&s->sender, &e);
	return by_socket;
}

static __always_inline void find_ends(struct net_scratch *s, __u64 addr, struct sock *rx_sk, struct net_ends *ret)
{
	bool by_tuple = drop_receiver(addr, sk_cookie(rx_sk), sk_listens(rx_sk), drop_tuples(addr));
	bool by_socket = drop_sender(addr, by_tuple);
	struct net_end sender, receiver;

	end_kept(&sender, &s->sender);
	end_kept(&receiver, &s->receiver);
	ends_order(ret, &sender, &receiver, by_socket && receiver.how != SONDE_HOW_STORAGE);
}

static __always_inline void fill_rec(struct net_rec *r, struct sk_buff *skb,
				     const struct net_skb *k, __u32 reason)
{
	struct net_device *out = k->out;

	r->netns = r->id.netns = k->netns;
	r->ifindex = k->ifindex;
	r->reason = reason;
	r->prog_id = 0;
	r->mark = skb->mark;
	r->hash = skb->hash;
	r->link = k->link;
	r->n_stack = 0;
	r->point = NET_POINT_NONE;
	r->dir = NET_DIR_NONE;
	r->error = 0;
	__builtin_memset(r->ifname, 0, sizeof(r->ifname));
	if (k->dev)
		bpf_probe_read_kernel(r->ifname, sizeof(r->ifname), k->dev->name);
	else if (out)
		BPF_CORE_READ_INTO(&r->ifname, out, name);
}

/* Bytes for the owner's tuple, at least; the record carries at most the snaplen of them. */
static __noinline int fill_packet(struct net_rec *r, struct sk_buff *skb, const struct net_skb *k)
{
	__u32 snap = snaplen(NET_KIND_DROP, k->verdict), want = snap > NET_HEAD_BYTES ? snap : NET_HEAD_BYTES, got;

	__builtin_memset(r->data, 0, NET_HEAD_BYTES);
	r->orig_len = k->orig_len + (k->tagged ? 4 : 0);
	if (want > r->orig_len)
		want = r->orig_len;
	got = skb_copy(skb, k, r->data, want);
	if (got == k->linear_len + (k->tagged ? 4 : 0))
		got = skb_copy_frags(skb, k, r->data, got, want);
	r->cap_len = got < snap ? got : snap;
	return 0;
}

static __always_inline void emit(void *ctx, struct sonde_ledger *l, struct net_scratch *s)
{
	struct net_rec *r = &s->rec;
	__u32 depth = net_stack_depth, len = r->cap_len;
	long n;

	if (len > net_snap_limit)
		goto lost;
	if (depth && depth <= NET_STACK_MAX) {
		len = (len + 7) & ~7u;
		n = bpf_get_stack(ctx, r->data + len, depth * 8, 0);
		if (n > 0 && n <= depth * 8) {
			r->n_stack = (__u32)n / 8;
			len += (__u32)n;
		}
	}
	if (len > net_snap_limit + 8 + depth * 8)
		goto lost;
	len = rec_add_origin(s, len);
	r->hdr.len = sizeof(*r) + len;
	rec_output(l, LANE_BULK, &r->hdr, sizeof(*r) + len);
	return;
lost: /* impossible, but the verifier does not know */
	rec_lost(l, SONDE_LOST_COPY);
}

/* True: the drop is counted and not reported. */
static __always_inline bool count_drop(const struct net_skb *k, __u32 len, __u64 location,
				       __u32 reason)
{
	struct net_count_key key = {
		.location = location, .netns = k->netns, .ifindex = k->ifindex, .reason = reason,
		.kind = NET_COUNT_DROP, .dir = NET_DIR_NONE, .point = NET_POINT_NONE,
	};

	if (count_is_new(&key))
		count_name(k->netns, k->ifindex, k->dev ? k->dev : k->out);
	return count_add(&key, len);
}

/* With flow counting on, looks up the packet in the flow table of its namespace. */
const volatile bool drop_turns;
const volatile bool drop_turns_only; /* and reports no drop but those of is_echo_place() */

/* As drop_tuples(). */
__noinline int drop_turn(__u64 addr, __u32 reason)
{
	struct sk_buff *skb = (struct sk_buff *)addr;
	struct net_scratch *s = scratch_of_cpu();
	struct net_flow_direction *turn;
	struct sonde_tuple origin;
	__u32 netns, ifindex;
	void *table;

	if (!s || !s->sent.family || s->is_error)
		return 0;
	netns = s->skb.netns;
	ifindex = s->skb.ifindex;
	table = bpf_map_lookup_elem(&net_flow_direction_tables, &netns);
	if (!table)
		return 0;
	turn = turn_find(table, skb, &s->sent, ifindex);
	if (!turn && turn_origin(skb, &s->sent, &origin))
		turn = turn_find(table, skb, &origin, ifindex);
	if (!turn)
		return 0;
	__sync_fetch_and_add(&turn->dropped, 1);
	turn->reason = reason;
	return 0;
}

/* For functions of their own to the verifier, which take no pointers: a load from the map yields a plain number. */
static __always_inline __u64 address_number(struct net_scratch *s, const void *p)
{
	*(volatile __u64 *)&s->addr = (__u64)p;
	return *(volatile __u64 *)&s->addr;
}

/* Sums need neither the ends of a packet nor its bytes, unless its owner decides whether it counts. */
static __always_inline bool is_summed(__u64 location)
{
	return net_counting && net_silent && !drop_turns && !selects_process() && !is_echo_place(location);
}

static __always_inline void sum_up(struct sonde_ledger *l, const struct net_skb *k, __u64 location, __u32 reason)
{
	if (select_netns(k->netns) && skb_select_iface(k))
		count_drop(k, k->orig_len + (k->tagged ? 4 : 0), location, reason);
	else
		rec_filtered(l);
}

static __always_inline __u32 full_reason_of(void *ctx, struct sk_buff *skb, __u32 reason)
{
	return reason | (is_out_of_hops(skb, ((__u64 *)ctx)[1], reason) ? NET_REASON_TTL : 0);
}

/* Its flow alone counts it. An echo reply that a raw socket may have had goes the long way: its owner decides. */
static __always_inline void turn_only(void *ctx, struct sonde_ledger *l, struct net_scratch *s, struct sk_buff *skb,
				      __u32 reason)
{
	fill_packet(&s->rec, skb, &s->skb);
	drop_tuples(address_number(s, skb));
	drop_turn(address_number(s, skb), full_reason_of(ctx, skb, reason));
	rec_filtered(l);
}

static __always_inline void report(void *ctx, struct sonde_ledger *l, struct net_scratch *s, struct sk_buff *skb,
				   struct sock *rx_sk, __u32 reason)
{
	struct net_skb *k = &s->skb;
	struct net_rec *r = &s->rec;
	__u32 full_reason = full_reason_of(ctx, skb, reason);
	struct net_ends ends;

	fill_packet(r, skb, k);
	rec_happens(r);
	find_ends(s, address_number(s, skb), rx_sk, &ends);
	if (is_delivered_echo(((__u64 *)ctx)[1], &ends)) {
		l->seen--; /* not a drop: not in the ledger */
		return;
	}
	if (drop_turns)
		drop_turn(address_number(s, skb), full_reason);
	if (!select_netns(k->netns) || !skb_select_iface(k)) {
		rec_filtered(l);
		return;
	}
	if (!owner_pass(l, ends.owner.proc))
		return;
	if (net_counting && count_drop(k, r->orig_len, ((__u64 *)ctx)[1], reason))
		return;
	if (!rate_pass(l, NET_KIND_DROP))
		return;
	rec_begin(r, l, NET_EV_DROP, rec_flags(NET_CLASS_DROP, k->verdict, r->cap_len < r->orig_len), &ends);
	rec_set_task(r);
	r->location = ((__u64 *)ctx)[1];
	fill_rec(r, skb, k, full_reason);
	emit(ctx, l, s);
}

static __always_inline void observe(void *ctx, struct sonde_ledger *l, struct net_scratch *s, struct sk_buff *skb,
				    struct sock *rx_sk, __u32 reason)
{
	skb_examine(skb, rx_sk, &s->skb);
	s->skb.verdict = skb_filter(skb, &s->skb);
	if (s->skb.verdict == PKTFILTER_REJECT)
		rec_filtered(l);
	else if (is_summed(((__u64 *)ctx)[1]))
		sum_up(l, &s->skb, ((__u64 *)ctx)[1], reason);
	else if (drop_turns_only && !is_echo_place(((__u64 *)ctx)[1]))
		turn_only(ctx, l, s, skb, reason);
	else
		report(ctx, l, s, skb, rx_sk, reason);
}

static __always_inline int drop(void *ctx, struct sk_buff *skb, struct sock *rx_sk, __u32 reason)
{
	struct sonde_ledger *l;
	struct net_scratch *s;

	if (is_normal(reason) || is_normal_place(((__u64 *)ctx)[1], reason) || is_last_ack(rx_sk, reason) ||
	    !skb_is_packet(skb))
		return 0;
	l = ledger_seen(NET_CLASS_DROP);
	s = l ? scratch_take(l) : NULL;
	if (!s)
		return 0;
	observe(ctx, l, s, skb, rx_sk, reason);
	scratch_give(s);
	return 0;
}

/* void (skb, location), (skb, location, reason), (skb, location, reason, rx_sk) */
PROGRAM_NOPREEMPT("tp_btf/kfree_skb", drop_args2, drop(ctx, (struct sk_buff *)ctx[0], NULL, 0))
PROGRAM_NOPREEMPT("tp_btf/kfree_skb", drop_args3, drop(ctx, (struct sk_buff *)ctx[0], NULL, ctx[2]))
PROGRAM_NOPREEMPT("tp_btf/kfree_skb", drop_args4, drop(ctx, (struct sk_buff *)ctx[0], (struct sock *)ctx[3], ctx[2]))

char LICENSE[] SEC("license") = "Dual BSD/GPL";
