// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Messages over IP without ports: ICMP (RFC 792, 4884), ICMPv6 (RFC 4443), neighbour discovery (RFC 4861), multicast
 * listener discovery (RFC 2710, 3810), IGMP (RFC 2236, 3376), VRRP (RFC 3768, 5798).
 */
#include "packet/dissect.h"
#include "packet/names.h"
#include "packet/print.h"

#include "base/buf.h"

/* RFC 792 */
enum {
	ICMP_ECHO_REPLY = 0, ICMP_UNREACHABLE = 3, ICMP_SOURCE_QUENCH = 4, ICMP_REDIRECT = 5, ICMP_ECHO = 8,
	ICMP_TIME_EXCEEDED = 11, ICMP_PARAMETER_PROBLEM = 12,
};
#define ICMP_CODE_FRAG_NEEDED 4

/* RFC 4443, RFC 2710, RFC 4861, RFC 3810 */
enum {
	ICMP6_UNREACHABLE = 1, ICMP6_TOO_BIG, ICMP6_TIME_EXCEEDED, ICMP6_PARAMETER_PROBLEM, ICMP6_ECHO = 128,
	ICMP6_ECHO_REPLY, ICMP6_LISTENER_QUERY, ICMP6_LISTENER_REPORT, ICMP6_LISTENER_DONE, ICMP6_ROUTER_SOLICIT,
	ICMP6_ROUTER_ADVERT, ICMP6_NEIGHBOUR_SOLICIT, ICMP6_NEIGHBOUR_ADVERT, ICMP6_REDIRECT,
	ICMP6_LISTENER_REPORT_V2 = 143,
};

/* Options of neighbour discovery, RFC 4861 4.6. */
enum { ND_SOURCE_LINK = 1, ND_TARGET_LINK = 2, ND_PREFIX = 3, ND_MTU = 5 };

static void take_type(struct dissect *d, enum packet_layer_kind kind, uint32_t min)
{
	uint32_t wire = d->wire_left;
	struct cursor h;
	bool whole = layer_take_rest(d, kind, min, &h);

	if (cur_left(&h) < 2)
		return;
	d->flow->icmp_type = cur_u8(&h);
	d->flow->icmp_code = cur_u8(&h);
	if (whole)
		d->flow->payload_len = wire - MIN(wire, 8u);
}

void dissect_icmp(struct dissect *d)
{
	take_type(d, LAYER_ICMP, 8);
}

void dissect_icmpv6(struct dissect *d)
{
	take_type(d, LAYER_ICMPV6, 4);
}

void dissect_igmp(struct dissect *d)
{
	struct cursor h;

	layer_take_rest(d, LAYER_IGMP, 8, &h);
}

void dissect_vrrp(struct dissect *d)
{
	struct cursor h;

	layer_take_rest(d, LAYER_VRRP, 8, &h);
}

/* ---- -vv ---- */

static void print_echo(struct buf *out, struct cursor *c)
{
	uint16_t id = cur_u16be(c), seq = cur_u16be(c);

	buf_printf(out, ", id %u, seq %u, %zu bytes", id, seq, cur_left(c));
}

static bool is_icmp_error(uint8_t type)
{
	return type == ICMP_UNREACHABLE || type == ICMP_SOURCE_QUENCH || type == ICMP_REDIRECT ||
	       type == ICMP_TIME_EXCEEDED || type == ICMP_PARAMETER_PROBLEM;
}

static void print_icmp_body(struct printer *pr, struct buf *out, uint8_t type, uint8_t code)
{
	const uint8_t *addr;
	uint16_t word;

	if (type == ICMP_ECHO || type == ICMP_ECHO_REPLY) {
		print_echo(out, &pr->c);
		return;
	}
	if (!is_icmp_error(type))
		return;
	addr = cur_bytes(&pr->c, 4);
	if (!addr)
		return;
	word = (uint16_t)(addr[2] << 8 | addr[3]);
	if (type == ICMP_REDIRECT) {
		buf_add_str(out, ", to ");
		packet_names_text_ip(out, SONDE_IPV4, addr);
	} else if (type == ICMP_UNREACHABLE && code == ICMP_CODE_FRAG_NEEDED) {
		buf_printf(out, ", mtu %u", word);
	} else if (type == ICMP_PARAMETER_PROBLEM) {
		buf_printf(out, ", at byte %u", addr[0]);
	}
	packet_print_embedded(out, pr->c);
}

void packet_print_icmp(struct printer *pr, struct buf *out)
{
	uint8_t type = cur_u8(&pr->c), code = cur_u8(&pr->c);
	uint16_t sum = cur_u16be(&pr->c);

	packet_names_text_icmp_type(out, SONDE_IPV4, type, code);
	buf_printf(out, ", checksum 0x%04x", sum);
	print_icmp_body(pr, out, type, code);
}

/* Prefix information (RFC 4861 4.6.2): the prefix starts at byte 16 of the option; 8 bytes are consumed. */
static void print_prefix(struct buf *out, uint8_t bits, struct cursor c)
{
	const uint8_t *prefix;

	cur_skip(&c, 8);
	prefix = cur_bytes(&c, 16);
	if (!prefix)
		return;
	buf_add_str(out, ", prefix ");
	packet_names_text_ip(out, SONDE_IPV6, prefix);
	buf_printf(out, "/%u", bits);
}

/* Neighbour discovery options: type, then length in units of 8 bytes. */
static void print_nd_options(struct buf *out, struct cursor c)
{
	while (cur_left(&c) >= 8) {
		uint8_t type = cur_u8(&c), len = cur_u8(&c);
		const uint8_t *body;
		struct cursor one;

		if (len == 0)
			break;
		one = cur_sub(&c, len * 8u - 2u);
		body = cur_bytes(&one, 6);
		if (!body)
			break;
		switch (type) {
		case ND_SOURCE_LINK:
		case ND_TARGET_LINK:
			buf_printf(out, ", %s ", type == ND_SOURCE_LINK ? "source" : "target");
			packet_names_text_mac(out, body);
			break;
		case ND_PREFIX:
			print_prefix(out, body[0], one);
			break;
		case ND_MTU:
			buf_printf(out, ", mtu %u", (uint32_t)body[2] << 24 | body[3] << 16 | body[4] << 8 | body[5]);
			break;
		default:
			buf_printf(out, ", option %u", type);
		}
	}
}

static void print_neighbour(struct printer *pr, struct buf *out, uint8_t type)
{
	uint32_t flags = cur_u32be(&pr->c);
	const uint8_t *target = cur_bytes(&pr->c, 16);

	if (!target)
		return;
	buf_add_str(out, type == ICMP6_NEIGHBOUR_SOLICIT ? ", who has " :
			 type == ICMP6_NEIGHBOUR_ADVERT ? ", target " : ", better hop ");
	packet_names_text_ip(out, SONDE_IPV6, target);
	if (type == ICMP6_NEIGHBOUR_ADVERT)
		buf_printf(out, "%s%s%s", flags >> 31 ? ", router" : "", flags >> 30 & 1 ? ", solicited" : "",
			   flags >> 29 & 1 ? ", override" : "");
	if (type == ICMP6_REDIRECT) {
		target = cur_bytes(&pr->c, 16);
		if (!target)
			return;
		buf_add_str(out, ", destination ");
		packet_names_text_ip(out, SONDE_IPV6, target);
	}
	print_nd_options(out, pr->c);
}

static void print_router_advertisement(struct printer *pr, struct buf *out)
{
	uint8_t hops = cur_u8(&pr->c), flags = cur_u8(&pr->c);
	uint16_t life = cur_u16be(&pr->c);

	cur_skip(&pr->c, 8);
	buf_printf(out, ", hop limit %u%s%s, lifetime %u s", hops, flags & 0x80 ? ", managed" : "",
		   flags & 0x40 ? ", other config" : "", life);
	print_nd_options(out, pr->c);
}

/* Groups of a version 2 report, or the single group of older messages. */
static void print_listener(struct printer *pr, struct buf *out, uint8_t type)
{
	static const char *const names[] = { "listener query", "listener report", "listener done" };
	const uint8_t *group;
	uint16_t n;

	if (type != ICMP6_LISTENER_REPORT_V2) {
		buf_printf(out, ", %s", names[type - ICMP6_LISTENER_QUERY]);
		cur_skip(&pr->c, 4);
		group = cur_bytes(&pr->c, 16);
		if (group) {
			buf_add_str(out, ", group ");
			packet_names_text_ip(out, SONDE_IPV6, group);
		}
		return;
	}
	cur_skip(&pr->c, 2);
	n = cur_u16be(&pr->c);
	buf_printf(out, ", listener report v2, %u groups", n);
	for (; n && cur_left(&pr->c) >= 20; n--) {
		uint8_t kind = cur_u8(&pr->c), aux = cur_u8(&pr->c);
		uint16_t sources = cur_u16be(&pr->c);

		group = cur_bytes(&pr->c, 16);
		buf_printf(out, ", type %u ", kind);
		packet_names_text_ip(out, SONDE_IPV6, group);
		cur_skip(&pr->c, MIN(cur_left(&pr->c), sources * 16u + aux * 4u));
	}
}

void packet_print_icmpv6(struct printer *pr, struct buf *out)
{
	uint8_t type = cur_u8(&pr->c), code = cur_u8(&pr->c);
	uint16_t sum = cur_u16be(&pr->c);
	uint32_t word;

	packet_names_text_icmp_type(out, SONDE_IPV6, type, code);
	buf_printf(out, ", checksum 0x%04x", sum);
	switch (type) {
	case ICMP6_UNREACHABLE:
	case ICMP6_TOO_BIG:
	case ICMP6_TIME_EXCEEDED:
	case ICMP6_PARAMETER_PROBLEM:
		word = cur_u32be(&pr->c);
		if (type == ICMP6_TOO_BIG)
			buf_printf(out, ", mtu %u", word);
		if (type == ICMP6_PARAMETER_PROBLEM)
			buf_printf(out, ", at byte %u", word);
		packet_print_embedded(out, pr->c);
		break;
	case ICMP6_ECHO:
	case ICMP6_ECHO_REPLY:
		print_echo(out, &pr->c);
		break;
	case ICMP6_LISTENER_QUERY:
	case ICMP6_LISTENER_REPORT:
	case ICMP6_LISTENER_DONE:
	case ICMP6_LISTENER_REPORT_V2:
		print_listener(pr, out, type);
		break;
	case ICMP6_ROUTER_SOLICIT:
		cur_skip(&pr->c, 4);
		print_nd_options(out, pr->c);
		break;
	case ICMP6_ROUTER_ADVERT:
		print_router_advertisement(pr, out);
		break;
	case ICMP6_NEIGHBOUR_SOLICIT:
	case ICMP6_NEIGHBOUR_ADVERT:
	case ICMP6_REDIRECT:
		print_neighbour(pr, out, type);
		break;
	default:
		break;
	}
}

void packet_print_igmp(struct printer *pr, struct buf *out)
{
	uint8_t type = cur_u8(&pr->c), resp = cur_u8(&pr->c);
	uint16_t sum = cur_u16be(&pr->c), n;
	const uint8_t *group = cur_bytes(&pr->c, 4);
	const char *name = packet_names_igmp_name(type);

	if (!group)
		return;
	if (name)
		buf_add_str(out, name);
	else
		buf_printf(out, "type 0x%02x", type);
	buf_printf(out, ", checksum 0x%04x", sum);
	if (type != 0x22) {
		buf_add_str(out, ", group ");
		packet_names_text_ip(out, SONDE_IPV4, group);
		if (type == 0x11)
			buf_printf(out, ", max response %u", resp);
		return;
	}
	n = (uint16_t)(group[2] << 8 | group[3]);
	buf_printf(out, ", %u groups", n);
	for (; n && cur_left(&pr->c) >= 8; n--) {
		uint8_t kind = cur_u8(&pr->c), aux = cur_u8(&pr->c);
		uint16_t sources = cur_u16be(&pr->c);

		buf_printf(out, ", type %u ", kind);
		packet_names_text_ip(out, SONDE_IPV4, cur_bytes(&pr->c, 4));
		cur_skip(&pr->c, MIN(cur_left(&pr->c), sources * 4u + aux * 4u));
	}
}

void packet_print_vrrp(struct printer *pr, struct buf *out)
{
	uint8_t first = cur_u8(&pr->c), id = cur_u8(&pr->c), prio = cur_u8(&pr->c), n = cur_u8(&pr->c);

	cur_skip(&pr->c, 4);
	buf_printf(out, "version %u, type %u, router %u, priority %u, %u addresses", first >> 4, first & 15, id, prio,
		   n);
	for (; n && cur_left(&pr->c) >= 4 && first >> 4 == 2; n--) {
		buf_add_char(out, ' ');
		packet_names_text_ip(out, SONDE_IPV4, cur_bytes(&pr->c, 4));
	}
}
