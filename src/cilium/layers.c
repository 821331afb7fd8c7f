// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the layers. Each step makes gopacket's checks in gopacket's order, with its error messages.
 */
#include "cilium/layers.h"

#include <linux/if_ether.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "cilium/layers_names.h"
#include "cilium/notify.h"

/* Protocol numbers that libc lacks. */
#define PROTO_IPIP_OLD 94	/* IANA: IP-within-IP Encapsulation */
#define PROTO_VRRP 112
#define ETH_P_TEB 0x6558	/* Ethernet inside a tunnel */

static uint16_t be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

/* ---- next layer ---- */

static enum layer_kind by_ether_type(uint16_t type)
{
	switch (type) {
	case ETH_P_IP: return LAYER_IPV4;
	case 0xffff: return LAYER_IPV4;	/* "Raw" */
	case ETH_P_IPV6: return LAYER_IPV6;
	case ETH_P_TEB: return LAYER_ETHERNET;
	default: return LAYER_STOP;
	}
}

static enum layer_kind by_protocol(uint8_t proto)
{
	switch (proto) {
	case IPPROTO_ICMP: return LAYER_ICMPV4;
	case IPPROTO_IGMP: return LAYER_IGMP;
	case IPPROTO_IPIP:
	case PROTO_IPIP_OLD: return LAYER_IPV4;
	case IPPROTO_TCP: return LAYER_TCP;
	case IPPROTO_UDP: return LAYER_UDP;
	case IPPROTO_IPV6: return LAYER_IPV6;
	case IPPROTO_ICMPV6: return LAYER_ICMPV6;
	case PROTO_VRRP: return LAYER_VRRP;
	case IPPROTO_SCTP: return LAYER_SCTP;
	default: return LAYER_STOP;
	}
}

/* ---- one function per layer: sets head and payload, returns the next kind ---- */

struct parse {
	struct layers *out;
	uint8_t flags;		/* CILIUM_FLAG_* */
};

static void set_truncated(struct parse *p)
{
	p->out->truncated[p->out->tunnel != 0] = true;
}

static enum layer_kind __attribute__((format(printf, 2, 3))) fail(struct parse *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->out->error, sizeof(p->out->error), fmt, ap);
	va_end(ap);
	return LAYER_STOP;
}

static enum layer_kind __attribute__((format(printf, 2, 3))) fail_cut(struct parse *p, const char *fmt, ...)
{
	va_list ap;

	set_truncated(p);
	va_start(ap, fmt);
	vsnprintf(p->out->error, sizeof(p->out->error), fmt, ap);
	va_end(ap);
	return LAYER_STOP;
}

static void split(struct layer *l, const uint8_t *data, size_t len, size_t head)
{
	l->head = data;
	l->head_len = head;
	l->payload = data + head;
	l->payload_len = l->all_len = len - head;
}

/* Truncates the payload to the length in its header. */
static void limit(struct parse *p, struct layer *l, size_t len)
{
	if (len > l->payload_len)
		set_truncated(p);
	else
		l->payload_len = len;
}

static enum layer_kind parse_ethernet(struct parse *p, struct layer *l, const uint8_t *data, size_t len)
{
	uint16_t type;

	if (len < 14)
		return fail(p, "Ethernet packet too small");
	split(l, data, len, 14);
	type = be16(data + 12);
	if (type >= 0x600)
		return by_ether_type(type);
	limit(p, l, type);	/* 802.3: the field is a length */
	return LAYER_STOP;
}

static bool ipv4_options(struct parse *p, const uint8_t *opt, size_t len)
{
	for (size_t size; len; opt += size, len -= size) {
		size = 1;
		if (opt[0] == 0)
			return true;
		if (opt[0] == 1)
			continue;
		if (len < 2)
			return fail_cut(p, "Invalid ip4 option length. Length %zu less than 2", len), false;
		size = opt[1];
		if (len < size)
			return fail_cut(p, "IP option length exceeds remaining IP header size, option type %u "
					"length %zu", opt[0], size), false;
		if (size <= 2)
			return fail(p, "Invalid IP option type %u length %zu. Must be greater than 2", opt[0], size),
			       false;
	}
	return true;
}

static enum layer_kind parse_ipv4(struct parse *p, struct layer *l, const uint8_t *data, size_t len)
{
	unsigned total, words;

	if (len < 20)
		return fail_cut(p, "Invalid ip4 header. Length %zu less than 20", len);
	total = be16(data + 2) ?: (uint16_t)len;	/* 0: segmentation offload */
	words = data[0] & 15;
	if (total < 20)
		return fail(p, "Invalid (too small) IP length (%u < 20)", total);
	if (words < 5)
		return fail(p, "Invalid (too small) IP header length (%u < 5)", words);
	if (words * 4 > total)
		return fail(p, "Invalid IP header length > IP length (%u > %u)", words, total);
	if (total > len)
		set_truncated(p);
	if (words * 4 > len)
		return fail(p, "Not all IP header bytes available");
	split(l, data, MIN(len, (size_t)total), words * 4);
	if (!ipv4_options(p, data + 20, words * 4 - 20))
		return LAYER_STOP;
	return be16(data + 6) & 0x3fff ? LAYER_STOP : by_protocol(data[9]);	/* do not dissect fragments */
}

#define OPT_JUMBO 0xc2
#define JUMBO_MIN 65536u

/*
 * @len: bytes left in the packet, possibly more than the extension. *@ret_jumbo: jumbogram length, 0 without the
 * option.
 */
static bool hop_by_hop_options(struct parse *p, const uint8_t *ext, size_t ext_len, size_t len, uint32_t *ret_jumbo)
{
	const uint8_t *jumbo = NULL;

	for (size_t at = 2, size; at < ext_len; at += size) {
		const uint8_t *opt = ext + at;

		if (len - at < 2)
			return fail_cut(p, "IPv6 header option too small"), false;
		size = opt[0] ? opt[1] + 2u : 1;
		if (len - at < size)
			return fail_cut(p, "IPv6 header TLV option too small"), false;
		if (opt[0] == OPT_JUMBO && !jumbo)
			jumbo = opt;
	}
	*ret_jumbo = 0;
	if (!jumbo)
		return true;
	if (jumbo[1] != 4)
		return fail(p, "Jumbo length TLV data must have length 4"), false;
	*ret_jumbo = (uint32_t)be16(jumbo + 2) << 16 | be16(jumbo + 4);
	if (*ret_jumbo < JUMBO_MIN)
		return fail(p, "Jumbo length cannot be less than %u", JUMBO_MIN), false;
	return true;
}

/* The extension is part of the IPv6 layer, whose payload follows it unless the packet is a jumbogram. */
static enum layer_kind parse_hop_by_hop(struct parse *p, struct layer *l, unsigned length)
{
	const uint8_t *ext = l->payload;
	size_t len = l->payload_len, ext_len;
	uint32_t jumbo;

	if (len < 2)
		return fail_cut(p, "Invalid ip6-extension header. Length %zu less than 2", len);
	ext_len = ext[1] * 8u + 8;
	if (len < ext_len)
		return fail(p, "Invalid ip6-extension header. Length %zu less than specified length %zu", len,
			    ext_len);
	if (!hop_by_hop_options(p, ext, ext_len, len, &jumbo))
		return LAYER_STOP;
	if (jumbo && length)
		return fail(p, "IPv6 has jumbo length and IPv6 length is not 0");
	if (!jumbo && !length)
		return fail(p, "IPv6 length 0, but HopByHop header does not have jumbogram option");
	if (!jumbo) {
		l->payload += ext_len;
		l->payload_len -= ext_len;
	}
	limit(p, l, jumbo ?: length);
	return by_protocol(ext[0]);
}

static enum layer_kind parse_ipv6(struct parse *p, struct layer *l, const uint8_t *data, size_t len)
{
	if (len < 40)
		return fail_cut(p, "Invalid ip6 header. Length %zu less than 40", len);
	split(l, data, len, 40);
	if (!data[6])
		return parse_hop_by_hop(p, l, be16(data + 4));
	if (!be16(data + 4))
		return fail(p, "IPv6 length 0, but next header is %s, not HopByHop", layers_names_protocol(data[6]));
	limit(p, l, be16(data + 4));
	return by_protocol(data[6]);
}

static enum layer_kind parse_tcp(struct parse *p, struct layer *l, const uint8_t *data, size_t len)
{
	size_t head;

	if (len < 20)
		return fail_cut(p, "Invalid TCP header. Length %zu less than 20", len);
	head = (data[12] >> 4) * 4u;
	if (head < 20)
		return fail(p, "Invalid TCP data offset %zu < 5", head / 4);
	if (head > len)
		return fail_cut(p, "TCP data offset greater than packet length");
	split(l, data, len, head);
	for (size_t at = 20, size; at < head && data[at]; at += size) {
		size = 1;
		if (data[at] == 1)
			continue;
		if (head - at < 2)
			return fail_cut(p, "Invalid TCP option length. Length %zu less than 2", head - at);
		size = data[at + 1];
		if (size < 2)
			return fail(p, "Invalid TCP option length %zu < 2", size);
		if (size > head - at)
			return fail_cut(p, "Invalid TCP option length %zu exceeds remaining %zu bytes", size,
					head - at);
	}
	return LAYER_STOP;
}

static enum layer_kind parse_udp(struct parse *p, struct layer *l, const uint8_t *data, size_t len)
{
	unsigned total;

	if (len < 8)
		return fail_cut(p, "Invalid UDP header. Length %zu less than 8", len);
	split(l, data, len, 8);
	total = be16(data + 4);
	if (total && total < 8)
		return fail(p, "UDP packet too small: %u bytes", total);
	if (total)
		limit(p, l, total - 8);
	if (p->out->tunnel)
		return LAYER_STOP;
	if (p->flags & CILIUM_FLAG_VXLAN)
		return LAYER_VXLAN;
	return p->flags & CILIUM_FLAG_GENEVE ? LAYER_GENEVE : LAYER_STOP;
}

static enum layer_kind parse_sctp(struct parse *p, struct layer *l, const uint8_t *data, size_t len)
{
	if (len < 12)
		return fail(p, "Invalid SCTP common header length");
	split(l, data, len, 12);
	return LAYER_STOP;
}

static enum layer_kind parse_icmpv4(struct parse *p, struct layer *l, const uint8_t *data, size_t len)
{
	if (len < 8)
		return fail_cut(p, "ICMP layer less then 8 bytes for ICMPv4 packet");
	split(l, data, len, 8);
	return LAYER_STOP;
}

static enum layer_kind parse_icmpv6(struct parse *p, struct layer *l, const uint8_t *data, size_t len)
{
	if (len < 4)
		return fail_cut(p, "ICMP layer less then 4 bytes for ICMPv6 packet");
	split(l, data, len, 4);
	return LAYER_STOP;
}

static enum layer_kind parse_vrrp(struct parse *p, struct layer *l, const uint8_t *data, size_t len)
{
	if (len < 8)
		return fail_cut(p, "Not a valid VRRP packet. Packet length is too small.");
	if ((data[0] & 15) != 1)
		return fail(p, "Unrecognized VRRPv2 type field.");
	if (!data[3])
		return fail(p, "VRRPv2 number of IP addresses is not valid.");
	if (len < 8 + 4u * data[3])
		return fail_cut(p, "VRRPv2 packet too short for IP address count.");
	split(l, data, len, len);
	return LAYER_STOP;
}

static enum layer_kind parse_igmp(struct parse *p, struct layer *l, const uint8_t *data, size_t len)
{
	if (len < 8)
		return fail(p, "IGMP Packet too small");
	split(l, data, len, len);
	return LAYER_STOP;
}

static enum layer_kind parse_vxlan(struct parse *p, struct layer *l, const uint8_t *data, size_t len)
{
	if (len < 8)
		return fail(p, "vxlan packet too small");
	split(l, data, len, 8);
	return LAYER_ETHERNET;
}

static enum layer_kind parse_geneve(struct parse *p, struct layer *l, const uint8_t *data, size_t len)
{
	size_t options;

	if (len < 8)
		return fail_cut(p, "geneve packet too short");
	options = (data[0] & 0x3f) * 4u;
	if (len < options + 8)
		return fail_cut(p, "geneve packet too short");
	split(l, data, len, 8 + options);
	return by_ether_type(be16(data + 2));
}

typedef enum layer_kind (*parse_fn)(struct parse *p, struct layer *l, const uint8_t *data, size_t len);

static const parse_fn parsers[] = {
	[LAYER_ETHERNET] = parse_ethernet, [LAYER_IPV4] = parse_ipv4, [LAYER_IPV6] = parse_ipv6,
	[LAYER_TCP] = parse_tcp, [LAYER_UDP] = parse_udp, [LAYER_SCTP] = parse_sctp, [LAYER_ICMPV4] = parse_icmpv4,
	[LAYER_ICMPV6] = parse_icmpv6, [LAYER_VRRP] = parse_vrrp, [LAYER_IGMP] = parse_igmp,
	[LAYER_VXLAN] = parse_vxlan, [LAYER_GENEVE] = parse_geneve,
};
_Static_assert(ARRAY_SIZE(parsers) == LAYER__MAX, "a parser for each kind");

void layers_parse(struct layers *l, const struct cilium_packet *pkt)
{
	struct parse p = { .out = l, .flags = pkt->flags };
	const uint8_t *data = pkt->data;
	size_t len = pkt->len;
	enum layer_kind kind = !(pkt->flags & CILIUM_FLAG_L3) ? LAYER_ETHERNET :
			       pkt->flags & CILIUM_FLAG_IPV6 ? LAYER_IPV6 : LAYER_IPV4;

	memset(l, 0, sizeof(*l));
	while (len && kind != LAYER_STOP && l->n < LAYERS_MAX) {
		struct layer *at = &l->at[l->n];

		if (kind == LAYER_VXLAN || kind == LAYER_GENEVE)
			l->tunnel = l->n;
		*at = (struct layer){ .kind = kind };
		kind = parsers[kind](&p, at, data, len);
		if (l->error[0])
			return;
		l->n++;
		data = at->payload;
		len = at->payload_len;
	}
}
