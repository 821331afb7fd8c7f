// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * IPv4 (RFC 791), IPv6 and its extension headers (RFC 8200), AH (RFC 4302), ESP (RFC 4303), and their next headers.
 */
#include "packet/dissect.h"
#include "packet/names.h"
#include "packet/print.h"

#include "base/buf.h"

static void dissect_ipv6_ext(struct dissect *d);
static void dissect_fragment(struct dissect *d);
static void dissect_ah(struct dissect *d);
static void dissect_esp(struct dissect *d);

static const dissect_fn by_proto[256] = {
	[PROTO_ICMP] = dissect_icmp, [PROTO_IGMP] = dissect_igmp, [PROTO_TCP] = dissect_tcp,
	[PROTO_UDP] = dissect_udp, [PROTO_GRE] = dissect_gre, [PROTO_ESP] = dissect_esp, [PROTO_AH] = dissect_ah,
	[PROTO_ICMPV6] = dissect_icmpv6, [PROTO_VRRP] = dissect_vrrp, [PROTO_SCTP] = dissect_sctp,
	[PROTO_MPLS] = dissect_mpls,
};

/* Next headers that only IPv6 has. */
static dissect_fn by_ipv6_ext(uint8_t proto)
{
	switch (proto) {
	case PROTO_HOPOPTS:
	case PROTO_ROUTING:
	case PROTO_DSTOPTS:
		return dissect_ipv6_ext;
	case PROTO_FRAGMENT:
		return dissect_fragment;
	default:
		return NULL;
	}
}

/* Sets flow->proto and next. */
static void dissect_ip_proto(struct dissect *d, uint8_t proto)
{
	dissect_fn ext = d->flow->family == SONDE_IPV6 ? by_ipv6_ext(proto) : NULL;

	d->flow->proto = proto;
	if (ext)
		d->next = d->n_ext++ < PACKET_MAX_IPV6_EXT ? ext : NULL;
	else if (proto == PROTO_IPIP)
		dissect_tunnel(d, LAYER_IPV4, 0, dissect_ipv4);
	else if (proto == PROTO_IPV6)
		dissect_tunnel(d, LAYER_IPV6, 0, dissect_ipv6);
	else
		d->next = by_proto[proto];
}

void dissect_ipv4(struct dissect *d)
{
	uint32_t hlen = (cur_peek(&d->cur, 0) & 15u) * 4, total, frag;
	struct packet_flow *f = d->flow;
	struct cursor h;
	bool whole = layer_take(d, LAYER_IPV4, MAX(hlen, 20u), &h);
	uint8_t version = cur_u8(&h) >> 4, proto;

	cur_skip(&h, 1);
	total = cur_u16be(&h);
	cur_skip(&h, 2);
	frag = cur_u16be(&h);
	*f = (struct packet_flow){ .ttl = cur_u8(&h), .fragment = (frag & 0x3fff) != 0 };
	proto = cur_u8(&h);
	cur_skip(&h, 2);
	cur_copy(&h, f->saddr, 4);
	cur_copy(&h, f->daddr, 4);
	if (!cur_ok(&h) || version != 4) {
		*f = (struct packet_flow){ 0 };
		layer_bad(d);
		return;
	}
	f->family = SONDE_IPV4;
	f->proto = proto;
	if (!whole)
		return;
	/* Total length 0: a segment larger than 64 KiB, for the device to split. */
	if (hlen < 20 || (total && total < hlen)) {
		layer_bad(d);
		return;
	}
	if (total)
		layer_trim(d, total - hlen);
	f->payload_len = d->wire_left;
	if (!f->fragment)
		dissect_ip_proto(d, proto);
}

void dissect_ipv6(struct dissect *d)
{
	struct packet_flow *f = d->flow;
	struct cursor h;
	uint32_t version, len;
	uint8_t proto;

	d->n_ext = 0;
	*f = (struct packet_flow){ 0 };
	if (!layer_take(d, LAYER_IPV6, 40, &h))
		return;
	version = cur_u32be(&h) >> 28;
	if (version != 6) {
		layer_bad(d);
		return;
	}
	len = cur_u16be(&h);
	proto = cur_u8(&h);
	f->ttl = cur_u8(&h);
	cur_copy(&h, f->saddr, 16);
	cur_copy(&h, f->daddr, 16);
	f->family = SONDE_IPV6;
	if (len)	/* 0: a jumbogram, or a segment for the device to split */
		layer_trim(d, len);
	f->payload_len = d->wire_left;
	dissect_ip_proto(d, proto);
}

/* Hop-by-hop, routing, destination options: next header, then length in units of 8 bytes beyond the first 8. */
static void dissect_ipv6_ext(struct dissect *d)
{
	uint32_t len = (cur_peek(&d->cur, 1) + 1u) * 8;
	struct cursor h;

	if (!layer_take(d, LAYER_IPV6_EXT, len, &h))
		return;
	d->flow->payload_len = d->wire_left;
	dissect_ip_proto(d, cur_u8(&h));
}

static void dissect_fragment(struct dissect *d)
{
	struct cursor h;
	uint8_t proto;

	if (!layer_take(d, LAYER_FRAGMENT, 8, &h))
		return;
	proto = cur_u8(&h);
	cur_skip(&h, 1);
	d->flow->fragment = (cur_u16be(&h) & 0xfff9) != 0;
	d->flow->payload_len = d->wire_left;
	if (d->flow->fragment)
		d->flow->proto = proto;
	else	/* RFC 6946: atomic fragment, a whole packet */
		dissect_ip_proto(d, proto);
}

static void dissect_ah(struct dissect *d)
{
	uint32_t len = (cur_peek(&d->cur, 1) + 2u) * 4;
	struct cursor h;

	if (!layer_take(d, LAYER_AH, MAX(len, 12u), &h))
		return;
	d->flow->payload_len = d->wire_left;
	if (d->n_ext++ < PACKET_MAX_IPV6_EXT)
		dissect_ip_proto(d, cur_u8(&h));
}

static void dissect_esp(struct dissect *d)
{
	struct cursor h;

	if (layer_take(d, LAYER_ESP, 8, &h))
		d->flow->payload_len = d->wire_left;
}

/* ---- -vv ---- */

static void print_proto(struct buf *out, uint8_t proto)
{
	const char *name = packet_names_proto_name(proto);

	if (name)
		buf_printf(out, ", %s", name);
	else
		buf_printf(out, ", proto %u", proto);
}

/* RFC 1071 sum over the header: 0 if its checksum is correct. */
static uint16_t ipv4_sum(struct cursor c)
{
	uint32_t sum = 0;

	while (cur_left(&c) >= 2)
		sum += cur_u16be(&c);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~(sum + (sum >> 16));
}

static void print_ipv4_options(struct buf *out, struct cursor c)
{
	static const char *const names[256] = {
		[1] = "nop", [7] = "RR", [68] = "TS", [130] = "security", [131] = "LSRR", [136] = "SATID",
		[137] = "SSRR", [148] = "RA",
	};
	const char *sep = "";

	if (!cur_left(&c))
		return;
	buf_add_str(out, ", options [");
	while (cur_left(&c)) {
		uint8_t kind = cur_u8(&c), len = kind > 1 ? cur_u8(&c) : 1;

		if (kind == 0 || len < (kind > 1 ? 2 : 1))
			break;
		cur_skip(&c, len - (kind > 1 ? 2u : 1u));
		if (names[kind])
			buf_printf(out, "%s%s", sep, names[kind]);
		else
			buf_printf(out, "%s%u", sep, kind);
		sep = ", ";
	}
	buf_add_char(out, ']');
}

static void print_ipv4_frag(struct buf *out, uint16_t frag)
{
	if (frag & 0x4000)
		buf_add_str(out, ", DF");
	if (frag & 0x3fff)
		buf_printf(out, ", fragment offset %u%s", (frag & 0x1fff) * 8, frag & 0x2000 ? ", MF" : ", last");
}

void packet_print_ipv4(struct printer *pr, struct buf *out)
{
	struct cursor whole = pr->c;
	uint8_t tos, ttl, proto;
	uint16_t total, id, frag, sum;
	const uint8_t *src, *dst;

	cur_skip(&pr->c, 1);
	tos = cur_u8(&pr->c);
	total = cur_u16be(&pr->c);
	id = cur_u16be(&pr->c);
	frag = cur_u16be(&pr->c);
	ttl = cur_u8(&pr->c);
	proto = cur_u8(&pr->c);
	sum = cur_u16be(&pr->c);
	src = cur_bytes(&pr->c, 4);
	dst = cur_bytes(&pr->c, 4);
	if (!cur_ok(&pr->c))
		return;
	packet_names_text_ip(out, SONDE_IPV4, src);
	buf_add_str(out, " -> ");
	packet_names_text_ip(out, SONDE_IPV4, dst);
	print_proto(out, proto);
	buf_printf(out, ", ttl %u, id %u", ttl, id);
	print_ipv4_frag(out, frag);
	if (tos)
		buf_printf(out, ", dscp %u, ecn %u", tos >> 2, tos & 3);
	buf_printf(out, ", length %u, checksum 0x%04x", total, sum);
	if (!pr->l->cut)
		buf_add_str(out, ipv4_sum(whole) ? " (wrong)" : " (right)");
	print_ipv4_options(out, pr->c);
}

void packet_print_ipv6(struct printer *pr, struct buf *out)
{
	uint32_t first = cur_u32be(&pr->c);
	uint16_t len = cur_u16be(&pr->c);
	uint8_t next = cur_u8(&pr->c), hops = cur_u8(&pr->c);
	const uint8_t *src = cur_bytes(&pr->c, 16), *dst = cur_bytes(&pr->c, 16);

	if (!cur_ok(&pr->c))
		return;
	packet_names_text_ip(out, SONDE_IPV6, src);
	buf_add_str(out, " -> ");
	packet_names_text_ip(out, SONDE_IPV6, dst);
	print_proto(out, next);
	buf_printf(out, ", hop limit %u", hops);
	if (first & 0x0ff00000)
		buf_printf(out, ", dscp %u, ecn %u", first >> 22 & 63, first >> 20 & 3);
	if (first & 0xfffff)
		buf_printf(out, ", flow label 0x%05x", first & 0xfffff);
	buf_printf(out, ", payload length %u", len);
}

void packet_print_ipv6_ext(struct printer *pr, struct buf *out)
{
	uint8_t next = cur_u8(&pr->c), len = cur_u8(&pr->c), type, left;

	buf_printf(out, "%s", packet_names_proto_name(pr->proto) ? packet_names_proto_name(pr->proto) : "extension");
	print_proto(out, next);
	buf_printf(out, ", %u bytes", (len + 1) * 8);
	if (pr->proto == PROTO_ROUTING) {
		type = cur_u8(&pr->c);
		left = cur_u8(&pr->c);
		buf_printf(out, ", type %u, segments left %u", type, left);
	} else if (cur_peek(&pr->c, 0) == 5 && cur_peek(&pr->c, 1) == 2) {
		buf_add_str(out, ", router alert");	/* RFC 2711 */
	}
}

void packet_print_fragment(struct printer *pr, struct buf *out)
{
	uint8_t next = cur_u8(&pr->c), reserved _unused_ = cur_u8(&pr->c);
	uint16_t off = cur_u16be(&pr->c);

	buf_printf(out, "offset %u%s, id 0x%08x", off & 0xfff8, off & 1 ? ", more" : off ? ", last" : ", whole",
		   cur_u32be(&pr->c));
	print_proto(out, next);
}

void packet_print_esp(struct printer *pr, struct buf *out)
{
	uint32_t spi = cur_u32be(&pr->c), seq = cur_u32be(&pr->c);

	buf_printf(out, "spi 0x%08x, seq %u", spi, seq);
}

void packet_print_ah(struct printer *pr, struct buf *out)
{
	uint8_t next = cur_u8(&pr->c), len = cur_u8(&pr->c);
	_unused_ uint16_t reserved = cur_u16be(&pr->c);
	uint32_t spi = cur_u32be(&pr->c), seq = cur_u32be(&pr->c);

	buf_printf(out, "spi 0x%08x, seq %u, %u bytes", spi, seq, (len + 2) * 4);
	print_proto(out, next);
}
