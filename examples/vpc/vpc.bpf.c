/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * A small virtual network: endpoints on their own veth pairs, a gateway that answers for itself, rules about
 * permitted connections, and one shared address to the outside. It reports what happens to each packet through the
 * event library (include/sonde/datapath.bpf.h), which this example demonstrates.
 *
 *   endpoint --> vpc_from_endpoint --> endpoint, or translated --> network
 *   network  --> vpc_from_network  --> translated back --> endpoint, or this host
 */
#include "vpc_packet.h"

#include "vpc_arp.h"
#include "vpc_ct.h"
#include "vpc_nat.h"
#include "vpc_policy.h"

/* ---- set before the object is loaded ---- */

const volatile __u32 vpc_gateway_ip;
const volatile __u8 vpc_gateway_mac[ETH_ALEN];
const volatile struct vpc_uplink vpc_uplink;
const volatile __u16 vpc_capture_port;	/* host order: the recorder takes packets of this UDP or TCP port; 0 = none */
const volatile __u16 vpc_tour_port;	/* host order: see toured(); 0 = none */

/* ---- filled by the loader ---- */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct vpc_endpoint);
} vpc_by_ip SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct vpc_endpoint);
} vpc_by_ifindex SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, struct vpc_service);
	__type(value, struct vpc_service);
} vpc_services SEC(".maps");

static __always_inline void mac_of(__u8 *ret, const volatile __u8 *mac)
{
	for (int i = 0; i < ETH_ALEN; i++)
		ret[i] = mac[i];
}

static __always_inline int mac_equal(const __u8 *a, const __u8 *b)
{
	__u8 differ = 0;

	for (int i = 0; i < ETH_ALEN; i++)
		differ |= a[i] ^ b[i];
	return !differ;
}

static __always_inline int dropped(const struct vpc_packet *v, __u8 reason, __u32 dst_id, int error, __u16 line,
				   __u8 file)
{
	sonde_drop(&v->p, reason, dst_id, error, line, file);
	return TC_ACT_SHOT;
}

static __always_inline void recorded(const struct vpc_packet *v)
{
	__u16 port = bpf_htons(vpc_capture_port);

	if (port && (v->t.sport == port || v->t.dport == port))
		sonde_capture(&v->p, VPC_CAPTURE_RULE, 0);
}

/*
 * For testing readers: a datagram to this port or one of the 255 above it is reported at the observation point and
 * with the reason that the port encodes, four bits each. A reason above the last one means an established connection,
 * encrypted.
 */
static __always_inline void toured(const struct vpc_packet *v)
{
	__u16 at = bpf_ntohs(v->t.dport) - vpc_tour_port;
	__u8 reason = at & 15;

	if (!vpc_tour_port || v->t.proto != IPPROTO_UDP || at > 255)
		return;
	if (reason > VPC_REASON_LAST)
		reason = 0x80 | SONDE_CT_ESTABLISHED;
	sonde_trace(&v->p, at >> 4, VPC_TOUR_ID, reason, v->t.saddr, SONDE_HERE);
}

/* ---- the last step ---- */

static __always_inline int to_endpoint(struct __sk_buff *skb, struct vpc_packet *v, const struct vpc_endpoint *dst,
				       __u8 ct)
{
	__u8 smac[ETH_ALEN];
	int r;

	v->p.dst_identity = dst->identity;
	if (ct == SONDE_CT_NEW && !policy_allows(v, dst))
		return dropped(v, DROP_POLICY_DENIED, dst->id, 0, SONDE_HERE);
	if (ct == SONDE_CT_NEW) {
		r = conn_enter(v);
		if (r)
			return dropped(v, DROP_CT_FULL, dst->id, r, SONDE_HERE);
	}
	mac_of(smac, vpc_gateway_mac);
	r = packet_forward(skb, v, smac, dst->mac);
	if (r)
		return dropped(v, DROP_INVALID_PACKET, dst->id, r, SONDE_HERE);
	sonde_count(&v->p, POINT_L3_FWD, SONDE_HERE);
	sonde_trace(&v->p, SONDE_TO_ENDPOINT, dst->id, ct, 0, SONDE_HERE);
	return bpf_redirect(dst->ifindex, 0);
}

static __always_inline int to_network(struct __sk_buff *skb, struct vpc_packet *v, __u8 ct)
{
	__u8 smac[ETH_ALEN], dmac[ETH_ALEN];
	__u32 inside = v->t.saddr;
	int error = 0, r;

	v->p.dst_identity = VPC_WORLD;
	if (!vpc_uplink.ifindex)
		return dropped(v, DROP_NO_ROUTE, 0, 0, SONDE_HERE);
	if (v->about.proto)	/* the outside gets no report of errors inside */
		return dropped(v, DROP_NO_NAT_PORT, 0, 0, SONDE_HERE);
	if (ct == SONDE_CT_NEW) {
		error = conn_enter(v);
		if (error)
			return dropped(v, DROP_CT_FULL, 0, error, SONDE_HERE);
	}
	r = nat_source(skb, v, vpc_uplink.ip, &error);
	if (r)
		return dropped(v, r, 0, error, SONDE_HERE);
	mac_of(smac, vpc_uplink.mac);
	mac_of(dmac, vpc_uplink.next_mac);
	r = packet_forward(skb, v, smac, dmac);
	if (r)
		return dropped(v, DROP_INVALID_PACKET, 0, r, SONDE_HERE);
	sonde_trace(&v->p, SONDE_TO_NETWORK, 0, ct, inside, SONDE_HERE);
	return bpf_redirect(vpc_uplink.ifindex, 0);
}

/* ---- programs ---- */

static __always_inline int source_wrong(struct __sk_buff *skb, const struct vpc_packet *v,
					const struct vpc_endpoint *src)
{
	__u8 mac[ETH_ALEN];

	if (bpf_skb_load_bytes(skb, offsetof(struct ethhdr, h_source), mac, ETH_ALEN))
		return DROP_INVALID_PACKET;
	if (!mac_equal(mac, src->mac))
		return DROP_INVALID_SOURCE_MAC;
	return v->t.saddr == src->ip ? 0 : DROP_INVALID_SOURCE_IP;
}

SEC("tcx/ingress")
int vpc_from_endpoint(struct __sk_buff *skb)
{
	struct vpc_packet v = { .p = SONDE_PACKET_OF(skb) };
	__u32 ifindex = skb->ifindex, daddr;
	struct vpc_endpoint *src = bpf_map_lookup_elem(&vpc_by_ifindex, &ifindex), *dst;
	__u8 mac[ETH_ALEN], ct;
	int r;

	if (!src)
		return TC_ACT_OK;
	v.p.dir = SONDE_DIR_EGRESS;	/* as seen from the endpoint */
	v.p.source = src->id;
	v.p.src_identity = src->identity;
	if (skb->protocol == bpf_htons(ETH_P_ARP)) {
		mac_of(mac, vpc_gateway_mac);
		r = arp_answer(skb, &v, vpc_gateway_ip, mac);
		return r < 0 ? dropped(&v, DROP_UNSUPPORTED_L2, 0, 0, SONDE_HERE) : r;
	}
	if (skb->protocol != bpf_htons(ETH_P_IP))
		return dropped(&v, DROP_UNSUPPORTED_L2, 0, 0, SONDE_HERE);
	r = packet_parse(skb, &v);
	if (!r)
		r = source_wrong(skb, &v, src);
	if (r)
		return dropped(&v, r, 0, 0, SONDE_HERE);
	sonde_trace(&v.p, SONDE_FROM_ENDPOINT, 0, SONDE_CT_UNKNOWN, 0, SONDE_HERE);
	recorded(&v);
	toured(&v);
	if (v.ttl <= 1)
		return dropped(&v, DROP_TTL_EXCEEDED, 0, 0, SONDE_HERE);
	ct = conn_state(&v);
	daddr = v.t.daddr;
	dst = bpf_map_lookup_elem(&vpc_by_ip, &daddr);
	return dst ? to_endpoint(skb, &v, dst, ct) : to_network(skb, &v, ct);
}

SEC("tcx/ingress")
int vpc_from_network(struct __sk_buff *skb)
{
	struct vpc_packet v = { .p = SONDE_PACKET_OF(skb) };
	__u8 mac[ETH_ALEN];
	struct vpc_endpoint *dst;
	__u32 daddr;
	int r, error = 0;

	v.p.dir = SONDE_DIR_INGRESS;
	v.p.src_identity = VPC_WORLD;
	if (skb->protocol == bpf_htons(ETH_P_ARP)) {
		mac_of(mac, vpc_uplink.mac);
		r = arp_answer(skb, &v, vpc_uplink.ip, mac);
		return r < 0 ? TC_ACT_OK : r;
	}
	if (skb->protocol != bpf_htons(ETH_P_IP))
		return TC_ACT_OK;
	r = packet_parse(skb, &v);
	if (r || v.t.daddr != vpc_uplink.ip)
		return TC_ACT_OK;
	sonde_trace(&v.p, SONDE_FROM_NETWORK, 0, SONDE_CT_UNKNOWN, 0, SONDE_HERE);
	if (!nat_back(skb, &v, &error) || error)
		return dropped(&v, DROP_NO_NAT_PORT, 0, error, SONDE_HERE);
	daddr = v.t.daddr;
	dst = bpf_map_lookup_elem(&vpc_by_ip, &daddr);
	if (!dst || v.ttl <= 1)
		return dropped(&v, dst ? DROP_TTL_EXCEEDED : DROP_NO_ROUTE, 0, 0, SONDE_HERE);
	return to_endpoint(skb, &v, dst, conn_state(&v));
}

/* A service is an address and a port that stand for an endpoint's; sockets are translated when they connect. */
SEC("cgroup/connect4")
int vpc_connect(struct bpf_sock_addr *ctx)
{
	struct vpc_service key = { .ip = ctx->user_ip4, .port = ctx->user_port }, *to;

	to = bpf_map_lookup_elem(&vpc_services, &key);
	if (!to)
		return 1;
	sonde_sock4(ctx, ctx->protocol, SONDE_SOCK_PRE_FWD, key.ip, bpf_ntohs(key.port));
	ctx->user_ip4 = to->ip;
	ctx->user_port = to->port;
	sonde_sock4(ctx, ctx->protocol, SONDE_SOCK_POST_FWD, to->ip, bpf_ntohs(to->port));
	return 1;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
