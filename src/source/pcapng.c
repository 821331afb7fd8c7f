// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pcapng files. Format: packet/pcapng.h. Sections may differ in byte order. Interface numbers continue across
 * sections, so those of a second section do not replace the first's.
 *
 * Blocks without packets or interface names are skipped, whatever their length. Options that exceed their block are
 * ignored. Simple packets have no time and get that of the preceding packet.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/macros.h"
#include "packet/pcapng.h"
#include "base/vec.h"
#include "event/event.h"
#include "source/capture.h"

#define BLOCK_MIN 12u			/* type, length, length again */
#define BLOCK_MAX (1024u * 1024)	/* longest block that is read: a packet and its comments */

struct iface {
	uint32_t link, snaplen;
	uint8_t tsresol;
	int64_t tsoffset;	/* seconds */
};

struct pcapng {
	struct capture cap;
	VEC(struct iface) ifaces;	/* of this section */
	uint32_t first_iface;	/* number in the file of this section's first interface */
	int64_t last_ns;
	struct buf text;	/* comments of the current packet */
	bool in_section, has_host, swap;
};

struct option {
	uint16_t code, len;
	const void *data;
};

/* False at the end of the options or at an option that exceeds the block. */
static bool next_option(struct cursor *c, bool swap, struct option *ret)
{
	ret->code = capture_u16(c, swap);
	ret->len = capture_u16(c, swap);
	ret->data = cur_bytes(c, ret->len);
	cur_skip(c, MIN((size_t)((4 - ret->len % 4) % 4), cur_left(c)));
	return cur_ok(c) && ret->code != PCAPNG_OPT_END;
}

static uint64_t option_uint(const struct option *o, bool swap)
{
	struct cursor c = cur_init(o->data, o->len);

	switch (o->len) {
	case 4: return capture_u32(&c, swap);
	case 8: return capture_u64(&c, swap);
	default: return 0;
	}
}

static int bad(const struct pcapng *st, struct err *err, const char *what)
{
	return err_set(err, -EBADMSG, "corrupt pcapng file: %s, in the block at byte %llu", what,
		       (unsigned long long)st->cap.at);
}

/* ---- sections and interfaces ---- */

static int parse_section(struct pcapng *st, struct cursor c, struct err *err)
{
	struct option o, os = { 0 }, hardware = { 0 };
	uint16_t major;

	cur_skip(&c, 4);	/* byte order: already read */
	major = capture_u16(&c, st->swap);
	cur_skip(&c, 10);
	if (!cur_ok(&c))
		return bad(st, err, "the section header is too short");
	if (major != PCAPNG_MAJOR)
		return bad(st, err, "its version is not 1");
	while (next_option(&c, st->swap, &o)) {
		if (o.code == PCAPNG_SHB_OS)
			os = o;
		else if (o.code == PCAPNG_SHB_HARDWARE)
			hardware = o;
	}
	st->first_iface += (uint32_t)st->ifaces.len;
	st->ifaces.len = 0;
	st->in_section = true;
	if (st->has_host)
		return 0;
	st->has_host = true;
	return capture_host(&st->cap, os.data, os.len, hardware.data, hardware.len);
}

static int parse_iface(struct pcapng *st, struct cursor c, struct err *err)
{
	struct iface i = { .tsresol = 6 };
	struct option o, name = { 0 };
	int r;

	i.link = capture_u16(&c, st->swap);
	cur_skip(&c, 2);
	i.snaplen = capture_u32(&c, st->swap);
	if (!cur_ok(&c))
		return bad(st, err, "an interface description is too short");
	while (next_option(&c, st->swap, &o)) {
		if (o.code == PCAPNG_IF_NAME)
			name = o;
		else if (o.code == PCAPNG_IF_TSRESOL && o.len == 1)
			i.tsresol = *(const uint8_t *)o.data;
		else if (o.code == PCAPNG_IF_TSOFFSET && o.len == 8)
			i.tsoffset = (int64_t)option_uint(&o, st->swap);
	}
	r = vec_push(&st->ifaces, i);
	if (r < 0)
		return r;
	if (!name.len)
		return 0;
	return capture_iface(&st->cap, st->first_iface + (uint32_t)st->ifaces.len - 1, name.data, name.len);
}

/* ---- packets ---- */

/* Time units are 10^-n seconds, or 2^-n with the top bit set. */
static int64_t to_ns(const struct iface *i, uint64_t units)
{
	unsigned n = i->tsresol & 0x7f;
	unsigned __int128 ns = (unsigned __int128)units * 1000000000;

	if (i->tsresol & 0x80) {
		ns >>= n;
	} else {
		for (; n && ns; n--)
			ns /= 10;
	}
	if (ns > INT64_MAX)
		ns = INT64_MAX;
	return capture_time(i->tsoffset, (uint64_t)ns);
}

static void add_comment(struct pcapng *st, const void *text, size_t len)
{
	if (st->text.len > CAPTURE_MAX_TEXT)	/* the rest would be truncated anyway */
		return;
	if (st->text.len)
		buf_add_char(&st->text, '\n');
	buf_add(&st->text, text, len);
}

static void add_lost(struct pcapng *st, uint64_t n)
{
	char text[48];

	if (!n)
		return;
	snprintf(text, sizeof(text), "lost=%llu before this packet", (unsigned long long)n);
	add_comment(st, text, strlen(text));
}

static void packet_option(struct pcapng *st, const struct option *o, struct capture_packet *p)
{
	struct cursor c = cur_init(o->data, o->len);
	uint64_t v;

	switch (o->code) {
	case PCAPNG_OPT_COMMENT:
		add_comment(st, o->data, o->len);
		break;
	case PCAPNG_EPB_FLAGS:
		v = option_uint(o, st->swap) & 3;
		p->direction = v < PACKET_DIR__MAX ? (uint16_t)v : PACKET_DIR_UNKNOWN;
		break;
	case PCAPNG_EPB_DROPCOUNT:
		add_lost(st, option_uint(o, st->swap));
		break;
	case PCAPNG_EPB_PROCESS_THREAD:
		if (o->len != 8)
			break;
		p->pid = capture_u32(&c, st->swap);
		p->tid = capture_u32(&c, st->swap);
		break;
	default:
		break;
	}
}

static int send_packet(struct pcapng *st, struct cursor *c, uint32_t iface, struct capture_packet *p, bool options,
		       struct err *err)
{
	struct option o;

	if (p->cap_len > CAPTURE_MAX_PACKET)
		return bad(st, err, "a packet claims more bytes than any capture holds");
	p->data = cur_bytes(c, p->cap_len);
	if (!p->data)
		return bad(st, err, "a packet claims more bytes than its block has");
	cur_skip(c, MIN((size_t)((4 - p->cap_len % 4) % 4), cur_left(c)));
	while (options && next_option(c, st->swap, &o))
		packet_option(st, &o, p);
	if (buf_error(&st->text) < 0)
		return buf_error(&st->text);
	p->link = st->ifaces.items[iface].link;
	p->iface = st->first_iface + iface;
	p->text = st->text.data;
	p->text_len = st->text.len;
	st->last_ns = p->time_ns;
	return capture_packet(&st->cap, p);
}

/* Enhanced packets and the obsolete block they replaced, which differs in its first word. */
static int parse_packet(struct pcapng *st, struct cursor c, bool obsolete, struct err *err)
{
	uint32_t iface = obsolete ? capture_u16(&c, st->swap) : capture_u32(&c, st->swap);
	uint32_t lost = obsolete ? capture_u16(&c, st->swap) : 0;
	uint64_t high = capture_u32(&c, st->swap), units = high << 32 | capture_u32(&c, st->swap);
	struct capture_packet p = { .cap_len = capture_u32(&c, st->swap) };

	p.orig_len = capture_u32(&c, st->swap);
	if (!cur_ok(&c))
		return bad(st, err, "a packet block is too short");
	if (iface >= st->ifaces.len)
		return bad(st, err, "a packet refers to an unknown interface");
	p.time_ns = to_ns(&st->ifaces.items[iface], units);
	buf_reset(&st->text);
	add_lost(st, lost == 0xffff ? 0 : lost);	/* 0xffff: unknown */
	return send_packet(st, &c, iface, &p, true, err);
}

static int parse_simple_packet(struct pcapng *st, struct cursor c, struct err *err)
{
	struct capture_packet p = { .orig_len = capture_u32(&c, st->swap), .time_ns = st->last_ns };
	const struct iface *i = st->ifaces.items;

	if (!cur_ok(&c))
		return bad(st, err, "a packet block is too short");
	if (!st->ifaces.len)
		return bad(st, err, "a packet refers to an unknown interface");
	p.cap_len = (uint32_t)MIN((size_t)p.orig_len, cur_left(&c));
	if (i->snaplen)
		p.cap_len = MIN(p.cap_len, i->snaplen);
	buf_reset(&st->text);
	return send_packet(st, &c, 0, &p, false, err);
}

/* ---- blocks ---- */

static int parse_body(struct pcapng *st, uint32_t type, struct cursor body, struct err *err)
{
	switch (type) {
	case PCAPNG_SHB: return parse_section(st, body, err);
	case PCAPNG_IDB: return parse_iface(st, body, err);
	case PCAPNG_SPB: return parse_simple_packet(st, body, err);
	case PCAPNG_PB: return parse_packet(st, body, true, err);
	default: return parse_packet(st, body, false, err);
	}
}

static bool is_read(uint32_t type)
{
	return type == PCAPNG_SHB || type == PCAPNG_IDB || type == PCAPNG_EPB || type == PCAPNG_PB ||
	       type == PCAPNG_SPB;
}

/* A section header defines the byte order of all that follows, including its own length. */
static int read_byte_order(struct pcapng *st, struct cursor c, struct err *err)
{
	uint32_t magic;

	cur_skip(&c, 8);
	magic = cur_u32(&c);
	if (magic != PCAPNG_BYTE_ORDER && magic != __builtin_bswap32(PCAPNG_BYTE_ORDER))
		return bad(st, err, "the byte order of the section is unknown");
	st->swap = magic != PCAPNG_BYTE_ORDER;
	return 0;
}

static int64_t parse_block(void *state, struct cursor c, struct err *err)
{
	struct pcapng *st = state;
	struct cursor at = c, body;
	uint32_t type, len;
	int r;

	if (cur_left(&c) < BLOCK_MIN)
		return 0;
	type = cur_u32(&c);
	r = type == PCAPNG_SHB ? read_byte_order(st, at, err) : 0;
	if (r < 0)
		return r;
	if (st->swap)
		type = __builtin_bswap32(type);	/* a section's type reads the same in both orders */
	len = capture_u32(&c, st->swap);
	if (len < BLOCK_MIN || len % 4)
		return bad(st, err, "the length is impossible");
	if (!st->in_section && type != PCAPNG_SHB)
		return bad(st, err, "it precedes the section header");
	if (!is_read(type)) {
		st->cap.skip = len;
		return 0;
	}
	if (len > BLOCK_MAX)
		return bad(st, err, "it is longer than a packet can be");
	if (cur_left(&at) < len)
		return 0;
	body = cur_sub(&c, len - BLOCK_MIN);
	if (capture_u32(&c, st->swap) != len)
		return bad(st, err, "the lengths at its start and end differ");
	r = parse_body(st, type, body, err);
	return r < 0 ? r : (int64_t)len;
}

static bool pcapng_match(const void *head, size_t len)
{
	struct cursor c = cur_init(head, len);
	uint32_t type = cur_u32(&c), magic;

	cur_skip(&c, 4);
	magic = cur_u32(&c);
	/* With only 8 bytes, check the type alone: its line ends do not occur in text in this order. */
	return type == PCAPNG_SHB && (!cur_ok(&c) || magic == PCAPNG_BYTE_ORDER ||
				      magic == __builtin_bswap32(PCAPNG_BYTE_ORDER));
}

static int64_t pcapng_parse(void *state, const void *data, size_t len, bool eof, source_fn fn, void *ctx,
			    struct err *err)
{
	struct pcapng *st = state;

	st->cap.fn = fn;
	st->cap.ctx = ctx;
	return capture_blocks(&st->cap, cur_init(data, len), eof, parse_block, st, err);
}

static void pcapng_fini(void *state)
{
	struct pcapng *st = state;

	capture_fini(&st->cap);
	buf_fini(&st->text);
	vec_fini(&st->ifaces);
}

const struct source_ops pcapng_source = {
	.name = "pcapng", .summary = "packets captured by Wireshark, tcpdump and others",
	.state_size = sizeof(struct pcapng), .match = pcapng_match, .parse = pcapng_parse, .fini = pcapng_fini,
};
