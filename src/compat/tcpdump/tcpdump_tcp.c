// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * TCP, and protocols of text lines above it. Sequence numbers are relative to the first that were seen of a
 * connection.
 */
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "compat/tcpdump/tcpdump_print.h"

#define FIN 1u
#define SYN 2u
#define RST 4u
#define ACK 16u
#define URG 32u

/* Both directions have one entry: the lower end comes first. */
struct flow_key {
	uint8_t low[16], high[16];
	uint16_t low_port, high_port;
	uint32_t family;
};
struct flow_start {
	uint32_t seq, ack;
};
_Static_assert(sizeof(struct flow_key) == 40 && sizeof(struct flow_start) == 8, "as tcpdump_print_init() says");

struct segment {
	uint16_t sport, dport;
	uint32_t seq, ack;
	uint32_t from_seq, from_ack; /* what both are relative to */
	unsigned flags, header_len;
	uint16_t window, sum, urgent;
};

static bool is_reversed(const struct tcpdump_ip *ip, const struct segment *t)
{
	int order = memcmp(ip->saddr, ip->daddr, sizeof(ip->saddr));

	return order > 0 || (order == 0 && t->sport > t->dport);
}

static void make_relative(struct tcpdump_print *pr, const struct tcpdump_ip *ip, struct segment *t)
{
	const bool reversed = is_reversed(ip, t);
	struct flow_key key = { .family = ip->family };
	struct flow_start *start;
	bool is_new;

	if (pr->o->absolute || !(t->flags & ACK))
		return;
	memcpy(key.low, reversed ? ip->daddr : ip->saddr, 16);
	memcpy(key.high, reversed ? ip->saddr : ip->daddr, 16);
	key.low_port = reversed ? t->dport : t->sport;
	key.high_port = reversed ? t->sport : t->dport;
	start = map_add(&pr->s->flows, &key, &is_new);
	if (!start)
		return;
	if (is_new || t->flags & SYN) {
		start->seq = reversed ? t->ack - 1 : t->seq;
		start->ack = reversed ? t->seq : t->ack - 1;
		return;
	}
	t->from_seq = reversed ? start->ack : start->seq;
	t->from_ack = reversed ? start->seq : start->ack;
	t->seq -= t->from_seq;
	t->ack -= t->from_ack;
}

static void add_flags(unsigned flags, struct buf *out)
{
	static const struct {
		unsigned bit;
		char letter;
	} letters[] = {
		{ FIN, 'F' }, { SYN, 'S' }, { RST, 'R' }, { 8, 'P' },	{ ACK, '.' },
		{ URG, 'U' }, { 64, 'E' },  { 128, 'W' }, { 256, 'e' },
	};

	buf_add_str(out, "Flags [");
	for (size_t i = 0; i < ARRAY_SIZE(letters); i++)
		if (flags & letters[i].bit)
			buf_add_char(out, letters[i].letter);
	buf_add_str(out, flags ? "]" : "none]");
}

/* ---- options ---- */

static void add_sack(const struct segment *t, struct cursor c, struct buf *out)
{
	buf_printf(out, "sack %zu ", cur_left(&c) / 8);
	while (cur_left(&c) >= 8) {
		uint32_t from = cur_u32be(&c), to = cur_u32be(&c);

		buf_printf(out, "{%u:%u}", from - t->from_ack, to - t->from_ack);
	}
}

static void add_hex(struct cursor c, struct buf *out)
{
	while (cur_left(&c))
		buf_printf(out, "%02x", cur_u8(&c));
}

static void add_option(const struct segment *t, uint8_t type, struct cursor c, struct buf *out)
{
	uint32_t first;

	switch (type) {
	case 2: buf_printf(out, "mss %u", cur_u16be(&c)); break;
	case 3: buf_printf(out, "wscale %u", cur_u8(&c)); break;
	case 4: buf_add_str(out, "sackOK"); break;
	case 5: add_sack(t, c, out); break;
	case 8:
		first = cur_u32be(&c);
		buf_printf(out, "TS val %u ecr %u", first, cur_u32be(&c));
		break;
	case 28: buf_printf(out, "uto 0x%x", cur_u16be(&c)); break;
	case 34:
		buf_add_str(out, cur_left(&c) ? "tfo  cookie " : "tfo  cookiereq");
		add_hex(c, out);
		break;
	default:
		buf_printf(out, "unknown-%u", type);
		if (cur_left(&c))
			buf_add_str(out, " 0x");
		add_hex(c, out);
		break;
	}
}

static void add_options(const struct segment *t, struct cursor c, struct buf *out)
{
	const char *sep = ", options [";

	while (cur_left(&c)) {
		uint8_t type = cur_u8(&c), len;
		struct cursor value;

		buf_add_str(out, sep);
		sep = ",";
		if (type < 2) {
			buf_add_str(out, type ? "nop" : "eol");
			if (!type)
				break;
			continue;
		}
		len = cur_u8(&c);
		value = cur_sub(&c, len < 2 ? 0 : len - 2u);
		if (!cur_ok(&c) || len < 2) {
			buf_add_str(out, "bad opt");
			break;
		}
		add_option(t, type, value, out);
	}
	buf_add_str(out, sep[1] ? "" : "]");
}

/* ---- data ---- */

static const char *text_protocol(uint16_t sport, uint16_t dport)
{
	static const struct {
		uint16_t port;
		const char *name;
	} ports[] = {
		{ 80, "HTTP" }, { 8080, "HTTP" }, { 3128, "HTTP" }, { 25, "SMTP" }, { 21, "FTP" }, { 554, "RTSP" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ports); i++)
		if (sport == ports[i].port || dport == ports[i].port)
			return ports[i].name;
	return NULL;
}

static void add_checksum(struct tcpdump_print *pr, const struct tcpdump_ip *ip, const struct segment *t,
			 struct cursor all, uint32_t len)
{
	uint16_t sum;

	if (!pr->o->verbose || pr->o->unchecked || ip->fragment || cur_left(&all) < len)
		return;
	sum = tcpdump_base_transport_sum(ip, 6, all.pos, len);
	buf_printf(pr->out, ", cksum 0x%04x", t->sum);
	if (sum) {
		uint32_t right = (uint32_t)t->sum + sum;

		buf_printf(pr->out, " (incorrect -> 0x%04x)", (uint16_t)((right & 0xffff) + (right >> 16)));
	} else {
		buf_add_str(pr->out, " (correct)");
	}
}

static void add_numbers(struct tcpdump_print *pr, const struct segment *t, uint32_t data_len)
{
	struct buf *out = pr->out;

	if (pr->o->verbose > 1 || data_len || t->flags & (SYN | FIN | RST)) {
		buf_printf(out, ", seq %u", t->seq);
		if (data_len)
			buf_printf(out, ":%u", t->seq + data_len);
	}
	if (t->flags & ACK)
		buf_printf(out, ", ack %u", t->ack);
	buf_printf(out, ", win %u", t->window);
	if (t->flags & URG)
		buf_printf(out, ", urg %u", t->urgent);
}

/* ---- lines of text ---- */

static size_t line_length(const struct cursor *c)
{
	const uint8_t *end = memchr(c->pos, '\n', cur_left(c));

	return end ? (size_t)(end - c->pos) : cur_left(c);
}

static bool is_text(const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((p[i] < 0x20 || p[i] >= 0x7f) && p[i] != '\t' && p[i] != '\r')
			return false;
	return len > 0;
}

static void add_line(const uint8_t *p, size_t len, struct buf *out)
{
	if (len && p[len - 1] == '\r')
		len--;
	for (size_t i = 0; i < len; i++) {
		if (p[i] >= 0x20 && p[i] < 0x7f)
			buf_add_char(out, (char)p[i]);
		else
			buf_printf(out, p[i] < 0x20 ? "^%c" : "M-%c", (p[i] & 0x7f) < 0x20 ? p[i] ^ 0x40 : '.');
	}
}

/* A first line that is a request or a response: others are only named. */
static bool begins_message(const struct cursor *c, size_t len)
{
	const uint8_t *blank = memchr(c->pos, ' ', len);
	size_t word = blank ? (size_t)(blank - c->pos) : len;

	if (!is_text(c->pos, len) || !word)
		return false;
	for (size_t i = 0; i < word; i++)
		if (!((c->pos[i] >= 'A' && c->pos[i] <= 'Z') || (c->pos[i] >= '0' && c->pos[i] <= '9') ||
		      c->pos[i] == '/' || c->pos[i] == '.' || c->pos[i] == '-' || c->pos[i] == '\r'))
			return false;
	return true;
}

/* The first line behind ": NAME: ", with -v all. */
static void print_text(struct tcpdump_print *pr, const char *name, struct cursor c, uint32_t len)
{
	struct buf *out = pr->out;
	size_t line = line_length(&c);
	bool message = begins_message(&c, line);

	buf_printf(out, ": %s", name);
	if (message && pr->o->verbose)
		buf_printf(out, ", length: %u", len);
	if (!message)
		return;
	if (line == cur_left(&c) && line < len) { /* the line's end was not captured */
		buf_add_str(out, " [|http]");
		return;
	}
	if (!pr->o->verbose) {
		buf_add_str(out, ": ");
		add_line(c.pos, line, out);
		return;
	}
	while (cur_left(&c)) {
		bool ended;

		line = line_length(&c);
		ended = line < cur_left(&c);
		if (line && !is_text(c.pos, line))
			return;
		buf_add_str(out, "\n\t");
		add_line(c.pos, line, out);
		if (!ended)
			buf_add_str(out, " [|http]");
		cur_skip(&c, line + ended);
	}
}

/* ---- a segment ---- */

void tcpdump_tcp_print(struct tcpdump_print *pr, const struct tcpdump_ip *ip, struct cursor c, uint32_t len)
{
	struct cursor all = c, options;
	struct buf *out = pr->out;
	struct segment t = { .sport = cur_u16be(&c) };
	const char *text;
	uint32_t data_len;
	uint16_t head;

	t.dport = cur_u16be(&c);
	tcpdump_base_ends(pr, ip, t.sport, t.dport);
	t.seq = cur_u32be(&c);
	t.ack = cur_u32be(&c);
	head = cur_u16be(&c);
	t.header_len = (head >> 12) * 4u;
	t.flags = head & 0x1ff;
	t.window = cur_u16be(&c);
	t.sum = cur_u16be(&c);
	t.urgent = cur_u16be(&c);
	options = cur_sub(&c, t.header_len > 20 ? t.header_len - 20 : 0);
	if (!cur_ok(&c) || t.header_len < 20) {
		tcpdump_base_cut(out, "tcp");
		return;
	}
	data_len = len - MIN(len, t.header_len);
	if (pr->o->quick) {
		buf_printf(out, "tcp %u", data_len);
		return;
	}
	make_relative(pr, ip, &t);
	add_flags(t.flags, out);
	add_checksum(pr, ip, &t, all, len);
	add_numbers(pr, &t, data_len);
	add_options(&t, options, out);
	buf_printf(out, ", length %u", data_len);
	text = data_len && cur_left(&c) ? text_protocol(t.sport, t.dport) : NULL;
	if (text)
		print_text(pr, text, c, data_len);
}
