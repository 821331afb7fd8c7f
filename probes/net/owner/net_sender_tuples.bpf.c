// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Records the sender of each tuple, in every network namespace: remembers the tuple of a packet with a socket when
 * the stack hands it to a device, so that a drop on the receiving side finds the sender. Emits no records. Skips
 * namespaces whose tc programs do the same.
 */
#include "bpf/kernel.h"

#include "probes/net/flow/net_flow_direction.bpf.h"

/* Connected sockets fed recently, by the last bits of their cookies: most packets end here. */
#define FEED_HEAD_BYTES 48	/* options of IPv4, or ports behind IPv6 */

#define FED_SLOTS 256
#define FED_TICKS 64	/* jiffies, so 64 to 640 ms: less than FLOW_FEED_NS, which then decides */

struct fed {
	__u64 cookie;
	__u64 at; /* jiffies: a few ns to read */
};

MAP(feed_lately, PERCPU_ARRAY, FED_SLOTS, __u32, struct fed);

/* True if it is too early to feed the one tuple of a connected socket again. */
static __always_inline bool fed_lately(const struct sock *sk, __u64 cookie)
{
	__u64 now = bpf_jiffies64();
	__u32 slot = cookie % FED_SLOTS;
	struct fed *f = sk->__sk_common.skc_dport ? bpf_map_lookup_elem(&feed_lately, &slot) : NULL;

	if (!f)
		return false;
	if (f->cookie == cookie && now - f->at < FED_TICKS)
		return true;
	f->cookie = cookie;
	f->at = now;
	return false;
}

/* Flows are counted, and the redirection functions cannot be traced. */
const volatile bool feed_turns;

struct sk_buff___redirected {
	__u8 redirected : 1;
} __attribute__((preserve_access_index));

/*
 * A packet that a program or an action redirected here from the interface it came in on (6.x; before, mirred only).
 */
static __always_inline bool is_redirected(struct sk_buff *skb)
{
	const struct sk_buff___redirected *s = (const void *)skb;

	/* most packets originate here and have no such interface: they cost a load */
	return skb->skb_iif && bpf_core_field_exists(s->redirected) && BPF_CORE_READ_BITFIELD(s, redirected);
}

/* Too large for the stack. Softirqs are off at the hook: no other packet uses it meanwhile. */
struct feed_scratch {
	__u8 head[NET_HEAD_BYTES];
	struct sonde_tuple tuple, origin;
};

MAP(feed_scratch, PERCPU_ARRAY, 1, __u32, struct feed_scratch);

/* False without an IP header, and for errors about other flows. */
static __always_inline bool read_tuple(struct sk_buff *skb, __u32 netns, struct feed_scratch *s)
{
	struct net_head kind;

	__builtin_memset(s->head, 0, NET_HEAD_BYTES);
	return !bpf_probe_read_kernel(s->head, FEED_HEAD_BYTES, skb->head + skb->network_header) &&
	       head_tuple(s->head, SONDE_LINK_RAW, netns, &s->tuple, &kind) && !kind.turned;
}

/* A forwarded packet that connection tracking translated: the tuple it came with leads to its sender. */
static __always_inline void feed_translated(struct sk_buff *skb, struct feed_scratch *s)
{
	unsigned long nfct = flow_nfct(skb);
	const struct nf_conn *ct = (const struct nf_conn *)(nfct & ~NFCT_BITS);
	struct net_end e = {};

	if (!nfct || !(BPF_CORE_READ(ct, status) & (IPS_SRC_NAT | IPS_DST_NAT)))
		return;
	if (!read_tuple(skb, dev_netns(skb->dev), s))
		return;
	flow_origin(nfct, &s->tuple, &s->origin);
	if (end_exact(&e, &s->origin, SONDE_HOW_CONNTRACK) || end_remote(&e, &s->origin, SONDE_HOW_CONNTRACK))
		sender_set(&s->tuple, e.cookie);
}

static __always_inline void feed_sender(struct sk_buff *skb, struct sock *sk, struct feed_scratch *s)
{
	__u64 cookie = sk->__sk_common.skc_cookie.counter, now;
	struct sonde_owner *owner;
	__u32 netns;

	/* what a listener sends is a reset, for a connection that has its tuple */
	if (!cookie || sk->__sk_common.skc_state == TCP_LISTEN || fed_lately(sk, cookie))
		return;
	netns = sk_netns(sk);
	owner = owner_by_cookie(cookie);
	if (!netns || netns == net_want_netns || !owner)
		return;
	now = bpf_ktime_get_ns();
	/* a connected socket has one tuple: the packet itself need not be read */
	if (sk->__sk_common.skc_dport && now - owner->fed_ns < FLOW_FEED_NS)
		return;
	if (read_tuple(skb, netns, s) && flow_feed_due(owner, flow_hash(&s->tuple), now))
		sender_set(&s->tuple, cookie);
}

/* void (skb) */
SEC("tp_btf/net_dev_queue")
int feed_tuple(__u64 *ctx)
{
	struct sk_buff *skb = (struct sk_buff *)ctx[0];
	struct sock *sk = skb->sk;
	__u32 zero = 0;
	struct feed_scratch *s = bpf_map_lookup_elem(&feed_scratch, &zero);

	if (!s)
		return 0;
	if (feed_turns && is_redirected(skb))
		turn_redirected(skb, skb->skb_iif, s->head, &s->tuple);
	if (sk)
		feed_sender(skb, sk, s);
	else if (skb->skb_iif)
		feed_translated(skb, s);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
