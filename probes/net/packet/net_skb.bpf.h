/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Reads a packet from the kernel's struct sk_buff, for tracing programs: device, namespace, start, bytes, socket.
 * Fields of an skb that is being freed may be stale or reused, so each is checked before use.
 */
#ifndef NET_SKB_BPF_H
#define NET_SKB_BPF_H

#include "bpf/pktfilter.bpf.h"
#include "probes/net/packet/net_packet.bpf.h"

#define NET_HEADER_UNSET 0xffff /* skb->mac_header before the header is set */
#define NET_ARPHRD_ETHER 1
#define NET_ARPHRD_LOOPBACK 772
#define NET_ARPHRD_NETLINK 824
#define NET_ROUTE_LOCAL 0x80000000u	/* RTCF_LOCAL, RTF_LOCAL */

/* The device, or NULL. For skbs in a socket queue the field serves as scratch or as a tree node. */
static __always_inline struct net_device *skb_device(struct sk_buff *skb)
{
	struct net_device *dev = skb->dev;

	return dev_netns(dev) ? dev : NULL; /* typed: a load from an invalid address reads 0 */
}

static __always_inline struct dst_entry *skb_route(struct sk_buff *skb)
{
	return (struct dst_entry *)(BPF_CORE_READ(skb, _skb_refdst) & ~1UL);
}

static __always_inline __u32 sk_netns(struct sock *sk)
{
	return sk ? net_inode(sk->__sk_common.skc_net.net) : 0;
}

/* True if the route delivers the packet locally. */
static __always_inline bool skb_is_local(struct sk_buff *skb, __u16 proto)
{
	struct dst_entry *dst = skb_route(skb);

	if (!dst)
		return false;
	if (proto == NET_P_IPV6)
		return BPF_CORE_READ((struct rt6_info *)dst, rt6i_flags) & NET_ROUTE_LOCAL;
	return BPF_CORE_READ((struct rtable *)dst, rt_flags) & NET_ROUTE_LOCAL;
}

#define NET_ADDRS_MAX 8 /* of a device that are compared */

static __always_inline bool dev_has_v4(struct net_device *dev, __u32 addr)
{
	struct in_ifaddr *a = BPF_CORE_READ(dev, ip_ptr, ifa_list);

	for (int i = 0; i < NET_ADDRS_MAX && a; i++) {
		if (BPF_CORE_READ(a, ifa_local) == addr)
			return true;
		a = BPF_CORE_READ(a, ifa_next);
	}
	return false;
}

static __always_inline bool dev_has_v6(struct net_device *dev, const __u8 *addr)
{
	__u64 want[2], have[2];
	struct inet6_dev *d = BPF_CORE_READ(dev, ip6_ptr);
	struct list_head *head = (void *)d + bpf_core_field_offset(struct inet6_dev, addr_list);
	struct list_head *pos = d ? BPF_CORE_READ(d, addr_list.next) : NULL;

	__builtin_memcpy(want, addr, sizeof(want));
	for (int i = 0; i < NET_ADDRS_MAX && pos && pos != head; i++) {
		struct inet6_ifaddr *a = (void *)pos - bpf_core_field_offset(struct inet6_ifaddr, if_list);

		if (BPF_CORE_READ_INTO(&have, a, addr))
			return false;
		if (have[0] == want[0] && have[1] == want[1])
			return true;
		pos = BPF_CORE_READ(pos, next);
	}
	return false;
}

/*
 * True if the remote end of @t is an address of the device that the packet came in on: a packet dropped before
 * routing was meant for this host all the same.
 */
static __always_inline bool skb_is_for_device(const struct net_skb *k, const struct sonde_tuple *t)
{
	__u32 addr;

	if (!k->dev || !t->rport)
		return false;
	if (t->family == SONDE_IPV6)
		return dev_has_v6(k->dev, t->raddr);
	__builtin_memcpy(&addr, t->raddr, sizeof(addr));
	return dev_has_v4(k->dev, addr);
}

static __always_inline void skb_find_start(struct sk_buff *skb, struct net_skb *k, __u16 proto)
{
	__u32 mac = skb->mac_header, net = skb->network_header, type = k->dev_type;
	bool ip = proto == NET_P_IP || proto == NET_P_IPV6;

	if (mac != NET_HEADER_UNSET && mac + 14 <= net && (type == NET_ARPHRD_ETHER || type == NET_ARPHRD_LOOPBACK)) {
		k->link = SONDE_LINK_ETHERNET;
		k->start = mac;
	} else if (ip && net) {
		k->link = SONDE_LINK_RAW;
		k->start = net;
	}
}

/*
 * False if the skb is not a network packet: netlink, unix sockets, empty shells. A new NAPI instance allocates a
 * shell for its device and frees it empty (napi_get_frags_check).
 */
static __always_inline bool skb_is_packet(struct sk_buff *skb)
{
	struct net_device *dev = skb_device(skb);
	__u16 proto = bpf_ntohs(skb->protocol);

	if (!proto && !skb->len)
		return false;
	return dev ? dev->type != NET_ARPHRD_NETLINK : proto == NET_P_IP || proto == NET_P_IPV6;
}

/* Fills @k, memory whose contents the verifier does not track: the branches that lead here merge. */
static __always_inline void skb_examine(struct sk_buff *skb, struct sock *rx_sk, struct net_skb *k)
{
	struct net_device *dev = skb_device(skb);
	__u16 proto = bpf_ntohs(skb->protocol);
	struct dst_entry *dst = skb_route(skb);
	__u32 data = skb->data - skb->head, tail = skb->tail;

	__builtin_memset(k, 0, sizeof(*k));
	k->dev = dev;
	k->dev_type = dev ? dev->type : NET_ARPHRD_ETHER;
	k->netns = dev ? dev_netns(dev) : sk_netns(rx_sk) ?: sk_netns(skb->sk);
	k->ifindex = dev ? dev->ifindex : skb->skb_iif;
	if (!dev && dst) {
		struct net_device *out = BPF_CORE_READ(dst, dev);
		__u32 index = BPF_CORE_READ(out, ifindex);

		k->netns = k->netns ?: net_inode_probed(BPF_CORE_READ(out, nd_net.net));
		k->ifindex = k->ifindex ?: index;
		k->out = k->ifindex == index ? out : NULL;
	}
	skb_find_start(skb, k, proto);
	k->orig_len = skb->len + data - k->start;
	k->linear_len = tail > k->start ? tail - k->start : 0;
	if (k->linear_len > k->orig_len)
		k->linear_len = k->orig_len;
	k->tagged = k->link == SONDE_LINK_ETHERNET && skb_has_vlan(skb);
	k->pulled = data - k->start + (k->tagged ? 4 : 0);
}

/*
 * Copies the first @want bytes of the packet, with the VLAN tag of the metadata in its wire position. Returns the
 * number copied: only the linear part is readable here.
 */
static __always_inline __u32 skb_copy(struct sk_buff *skb, const struct net_skb *k, __u8 *to, __u32 want)
{
	const unsigned char *from = skb->head + k->start;
	__u32 have = k->linear_len, rest;
	__u16 tag[2];

	if (!k->link)
		return 0;
	if (!k->tagged) {
		if (want > have)
			want = have;
		if (want == 0 || want > net_snap_limit || bpf_probe_read_kernel(to, want, from))
			return 0;
		return want;
	}
	have += 4;
	if (want > have)
		want = have;
	/* The part behind the tag, compared and added in the same register: older verifiers do not track copies. */
	rest = want - 16;
	barrier_var(rest);
	if (rest > net_snap_limit - 16 || rest == 0)
		return 0;
	tag[0] = skb->vlan_proto;
	tag[1] = bpf_htons(skb->vlan_tci);
	__builtin_memcpy(to + 12, tag, sizeof(tag));
	if (bpf_probe_read_kernel(to, 12, from) || bpf_probe_read_kernel(to + 16, rest, from + 12))
		return 0;
	return rest + 16;
}

/* The kernel lets tracing programs read page fragments (6.12); user space tries it and sets the flag. */
const volatile bool net_read_frags;

/*
 * Extends the copy beyond the linear part: @have bytes are there, reads those up to @want that lie in page fragments.
 * Reads everything from skb->data on again, because the verifier then sees that it fits: the part before is short
 * (NET_PULLED_MAX). Returns the number of bytes copied.
 */
static __always_inline __u32 skb_copy_frags(struct sk_buff *skb, const struct net_skb *k, __u8 *to, __u32 have,
					    __u32 want)
{
	__u32 pulled = k->pulled, rest = want - pulled;
	struct bpf_dynptr bytes;
	bool failed;

	if (!net_read_frags || have >= want || !skb->data_len)
		return have;
	barrier_var(pulled);
	barrier_var(rest);
	if (pulled > NET_PULLED_MAX || rest > net_snap_limit)
		return have;
	failed = bpf_dynptr_from_skb((struct __sk_buff *)skb, 0, &bytes) ||
		 bpf_dynptr_read(to + pulled, rest, &bytes, 0, 0);
	pktfilter_end_dynptr(&bytes);
	return failed ? have : want;
}

#endif
