// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Records the sender of each tuple, in every network namespace: remembers the tuple of a packet with a socket when
 * the stack hands it to a device, so that a drop on the receiving side finds the sender. Emits no records. Skips
 * namespaces whose tc programs do the same.
 */
#include "bpf/kernel.h"

#include "probes/net/flow/net_flow_direction.bpf.h"

/* Connected sockets fed recently, by the last bits of their cookies: most packets end here. */
#define FED_SLOTS 256
#define FED_TICKS 64	/* jiffies, so 64 to 640 ms: less than TUPLE_FEED_NS, which then decides */

struct fed {
	__u64 cookie;
	__u64 at; /* jiffies: a few ns to read */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, FED_SLOTS);
	__type(key, __u32);
	__type(value, struct fed);
} feed_lately SEC(".maps");

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

/* void (skb) */
SEC("tp_btf/net_dev_queue")
int feed_tuple(__u64 *ctx)
{
	struct sk_buff *skb = (struct sk_buff *)ctx[0];
	struct sock *sk = skb->sk;
	struct sonde_owner *owner;
	struct sonde_tuple t;
	bool turned;
	__u8 head[NET_HEAD_BYTES];
	__u64 cookie, now;
	__u32 netns;

	if (feed_turns && is_redirected(skb))
		turn_redirected(skb, skb->skb_iif, head, &t);
	if (!sk)
		return 0;
	cookie = sk->__sk_common.skc_cookie.counter;
	if (!cookie || fed_lately(sk, cookie))
		return 0;
	netns = sk_netns(sk);
	owner = owner_by_cookie(cookie);
	if (!netns || netns == net_want_netns || !owner)
		return 0;
	now = bpf_ktime_get_ns();
	/* a connected socket has one tuple: the packet itself need not be read */
	if (sk->__sk_common.skc_dport && now - owner->fed_ns < TUPLE_FEED_NS)
		return 0;
	__builtin_memset(head, 0, sizeof(head));
	if (bpf_probe_read_kernel(head, 48, skb->head + skb->network_header))
		return 0;
	if (!head_tuple(head, SONDE_LINK_RAW, netns, &t, &turned) || turned)
		return 0;
	if (!tuple_feed_due(owner, tuple_hash(&t), now))
		return 0;
	sender_set(&t, cookie);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
