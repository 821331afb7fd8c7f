// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * TCP (RFC 9293), UDP (RFC 768), SCTP (RFC 9260), and protocols selected by UDP port. Ports are read even if the
 * header is truncated after them: they identify the socket.
 */
#include "packet/dissect.h"
#include "packet/print.h"

#include "base/buf.h"

#define TCP_ACK 0x10

/* Tunnels match the destination port only, since their source port is a hash. Services match either port. */
static dissect_fn by_udp_port(uint16_t sport, uint16_t dport)
{
	static const struct { uint16_t port; bool either; dissect_fn fn; } rows[] = {
		{ 4789, false, dissect_vxlan },		/* RFC 7348 */
		{ 8472, false, dissect_vxlan },		/* Linux, from before the RFC */
		{ 6081, false, dissect_geneve },	/* RFC 8926 */
		{ 53, true, dissect_dns },		/* RFC 1035 */
		{ 5353, true, dissect_dns },		/* RFC 6762 */
		{ 5355, true, dissect_dns },		/* RFC 4795 */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].port == dport || (rows[i].either && rows[i].port == sport))
			return rows[i].fn;
	}
	return NULL;
}

static void take_ports(struct dissect *d, struct cursor *h)
{
	struct packet_flow *f = d->flow;

	if (cur_left(h) < 4)
		return;
	f->sport = cur_u16be(h);
	f->dport = cur_u16be(h);
	f->has_ports = true;
}

void dissect_tcp(struct dissect *d)
{
	uint32_t hlen = (cur_peek(&d->cur, 12) >> 4) * 4u;
	struct packet_flow *f = d->flow;
	struct cursor h;
	bool whole = layer_take(d, LAYER_TCP, MAX(hlen, 20u), &h);

	take_ports(d, &h);
	if (!whole)
		return;
	f->tcp_seq = cur_u32be(&h);
	f->tcp_ack = cur_u32be(&h);
	cur_skip(&h, 1);
	f->tcp_flags = cur_u8(&h);
	f->tcp_window = cur_u16be(&h);
	f->payload_len = d->wire_left;
	if (hlen < 20)
		layer_bad(d);
}

void dissect_udp(struct dissect *d)
{
	struct packet_flow *f = d->flow;
	struct cursor h;
	uint16_t len;
	bool whole = layer_take(d, LAYER_UDP, 8, &h);

	take_ports(d, &h);
	if (!whole)
		return;
	len = cur_u16be(&h);
	if (len && len < 8) {
		layer_bad(d);
		return;
	}
	if (len && len - 8u <= d->wire_left)	/* larger than IP's length: believe IP */
		layer_trim(d, len - 8);
	f->payload_len = d->wire_left;
	if (d->wire_left)
		d->next = by_udp_port(f->sport, f->dport);
}

void dissect_sctp(struct dissect *d)
{
	uint32_t wire = d->wire_left;
	struct cursor h;
	bool whole = layer_take_rest(d, LAYER_SCTP, 12, &h);

	take_ports(d, &h);
	if (whole)
		d->flow->payload_len = wire - 12;
}

/* ---- -vv ---- */

static void print_flags(struct buf *out, uint16_t flags)
{
	static const char *const names[] = { "FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR", "AE" };
	const char *sep = "";

	buf_add_str(out, ", flags [");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!(flags & 1u << i))
			continue;
		buf_printf(out, "%s%s", sep, names[i]);
		sep = " ";
	}
	buf_add_char(out, ']');
}

static void print_hex(struct buf *out, struct cursor c)
{
	while (cur_left(&c))
		buf_printf(out, "%02x", cur_u8(&c));
}

/* Option kinds: RFC 9293, 7323, 2018, 2385, 5925, 8684, 7413. */
enum {
	TCP_MSS = 2, TCP_WINDOW_SCALE = 3, TCP_SACK_PERMITTED = 4, TCP_SACK = 5, TCP_TIMESTAMPS = 8, TCP_MD5 = 19,
	TCP_AO = 29, TCP_MPTCP = 30, TCP_FAST_OPEN = 34,
};

/* Prints one option. */
static void print_tcp_option(struct buf *out, uint8_t kind, struct cursor c)
{
	uint32_t a, b;

	switch (kind) {
	case TCP_MSS:
		buf_printf(out, "mss %u", cur_u16be(&c));
		break;
	case TCP_WINDOW_SCALE:
		buf_printf(out, "wscale %u", cur_u8(&c));
		break;
	case TCP_SACK_PERMITTED:
		buf_add_str(out, "sackOK");
		break;
	case TCP_SACK:
		buf_add_str(out, "sack");
		while (cur_left(&c) >= 8) {
			a = cur_u32be(&c);
			b = cur_u32be(&c);
			buf_printf(out, " %u:%u", a, b);
		}
		break;
	case TCP_TIMESTAMPS:
		a = cur_u32be(&c);
		b = cur_u32be(&c);
		buf_printf(out, "TS val %u ecr %u", a, b);
		break;
	case TCP_FAST_OPEN:
		buf_add_str(out, "TFO cookie ");
		print_hex(out, c);
		break;
	default:
		buf_printf(out, kind == TCP_MD5 ? "md5 " : kind == TCP_AO ? "AO " :
				kind == TCP_MPTCP ? "mptcp " : "%u:", kind);
		print_hex(out, c);
	}
	if (!cur_ok(&c))
		buf_add_str(out, "?");
}

static void print_tcp_options(struct buf *out, struct cursor c)
{
	const char *sep = "";

	if (!cur_left(&c))
		return;
	buf_add_str(out, ", options [");
	while (cur_left(&c)) {
		uint8_t kind = cur_u8(&c), len;

		buf_add_str(out, sep);
		sep = ", ";
		if (kind <= 1) {
			buf_add_str(out, kind ? "nop" : "eol");
			if (!kind)
				break;
			continue;
		}
		len = cur_u8(&c);
		if (len < 2 || len - 2u > cur_left(&c)) {
			buf_printf(out, "%u: bad length %u", kind, len);
			break;
		}
		print_tcp_option(out, kind, cur_sub(&c, len - 2u));
	}
	buf_add_char(out, ']');
}

void packet_print_tcp(struct printer *pr, struct buf *out)
{
	uint16_t sport = cur_u16be(&pr->c), dport = cur_u16be(&pr->c), flags, win, sum, urg;
	uint32_t seq = cur_u32be(&pr->c), ack = cur_u32be(&pr->c);

	flags = cur_u16be(&pr->c) & 0x1ff;
	win = cur_u16be(&pr->c);
	sum = cur_u16be(&pr->c);
	urg = cur_u16be(&pr->c);
	buf_printf(out, "%u -> %u", sport, dport);
	print_flags(out, flags);
	buf_printf(out, ", seq %u", seq);
	if (flags & TCP_ACK)
		buf_printf(out, ", ack %u", ack);
	buf_printf(out, ", win %u, checksum 0x%04x", win, sum);
	if (urg)
		buf_printf(out, ", urgent %u", urg);
	if (cur_ok(&pr->c))
		print_tcp_options(out, pr->c);
}

void packet_print_udp(struct printer *pr, struct buf *out)
{
	uint16_t sport = cur_u16be(&pr->c), dport = cur_u16be(&pr->c), len = cur_u16be(&pr->c);

	buf_printf(out, "%u -> %u, length %u, checksum 0x%04x", sport, dport, len, cur_u16be(&pr->c));
}

static const char *sctp_chunk(uint8_t type)
{
	static const char *const names[] = {
		"DATA", "INIT", "INIT ACK", "SACK", "HEARTBEAT", "HEARTBEAT ACK", "ABORT", "SHUTDOWN", "SHUTDOWN ACK",
		"ERROR", "COOKIE ECHO", "COOKIE ACK", "ECNE", "CWR", "SHUTDOWN COMPLETE", "AUTH",
	};
	static const struct { uint8_t type; const char *name; } more[] = {
		{ 64, "I-DATA" }, { 128, "ASCONF ACK" }, { 130, "RE-CONFIG" }, { 132, "PAD" }, { 192, "FORWARD TSN" },
		{ 193, "ASCONF" }, { 194, "I-FORWARD TSN" },
	};

	if (type < ARRAY_SIZE(names))
		return names[type];
	for (size_t i = 0; i < ARRAY_SIZE(more); i++) {
		if (more[i].type == type)
			return more[i].name;
	}
	return NULL;
}

/* Chunk types, RFC 9260 3.2. */
enum { SCTP_DATA, SCTP_INIT, SCTP_INIT_ACK, SCTP_SACK };

/* First fields of a chunk's value. */
static void print_sctp_chunk(struct buf *out, uint8_t type, struct cursor c)
{
	uint32_t a, b, n;

	switch (type) {
	case SCTP_DATA:
		a = cur_u32be(&c);
		n = cur_u16be(&c);
		b = cur_u16be(&c);
		buf_printf(out, " tsn %u stream %u seq %u ppid %u", a, n, b, cur_u32be(&c));
		break;
	case SCTP_INIT:
	case SCTP_INIT_ACK:
		a = cur_u32be(&c);
		b = cur_u32be(&c);
		n = cur_u16be(&c);
		buf_printf(out, " tag 0x%08x window %u streams %u/%u", a, b, n, cur_u16be(&c));
		break;
	case SCTP_SACK:
		a = cur_u32be(&c);
		buf_printf(out, " tsn %u window %u", a, cur_u32be(&c));
		break;
	default:
		break;
	}
}

void packet_print_sctp(struct printer *pr, struct buf *out)
{
	uint16_t sport = cur_u16be(&pr->c), dport = cur_u16be(&pr->c);
	uint32_t tag = cur_u32be(&pr->c), sum = cur_u32be(&pr->c);
	const char *sep = "";

	buf_printf(out, "%u -> %u, tag 0x%08x, checksum 0x%08x, chunks [", sport, dport, tag, sum);
	while (cur_left(&pr->c) >= 4) {
		uint8_t type = cur_u8(&pr->c), flags _unused_ = cur_u8(&pr->c);
		uint32_t len = cur_u16be(&pr->c), have = (uint32_t)cur_left(&pr->c);
		const char *name = sctp_chunk(type);

		buf_add_str(out, sep);
		sep = ", ";
		if (name)
			buf_add_str(out, name);
		else
			buf_printf(out, "chunk %u", type);
		if (len < 4)
			break;
		len = ROUND_UP(len, 4) - 4;
		print_sctp_chunk(out, type, cur_sub(&pr->c, MIN(len, have)));
	}
	buf_add_char(out, ']');
}
