// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Classic pcap files. Format: draft-ietf-opsawg-pcap (pcap-savefile(5)): a 24-byte header, then packets with 16-byte
 * headers, in the writer's byte order. Two magic numbers distinguish microseconds and nanoseconds.
 */
#include <errno.h>

#include "base/err.h"
#include "source/capture.h"

#define MAGIC_US 0xa1b2c3d4u
#define MAGIC_NS 0xa1b23c4du
#define HEADER_BYTES 24
#define PACKET_HEADER_BYTES 16

struct pcap {
	struct capture cap;
	bool started, swap, ns;
	uint32_t link;
};

/* Reads the magic number in either byte order; false if it does not match. */
static bool read_magic(struct cursor *c, bool *ret_swap, bool *ret_ns)
{
	uint32_t magic = cur_u32(c);

	*ret_swap = magic == __builtin_bswap32(MAGIC_US) || magic == __builtin_bswap32(MAGIC_NS);
	if (*ret_swap)
		magic = __builtin_bswap32(magic);
	*ret_ns = magic == MAGIC_NS;
	return magic == MAGIC_US || magic == MAGIC_NS;
}

static bool pcap_match(const void *head, size_t len)
{
	struct cursor c = cur_init(head, len);
	bool swap, ns;

	return read_magic(&c, &swap, &ns);
}

static int64_t parse_header(struct pcap *st, struct cursor c, struct err *err)
{
	uint16_t major;
	int r;

	if (cur_left(&c) < HEADER_BYTES)
		return 0;
	if (!read_magic(&c, &st->swap, &st->ns))
		return err_set(err, -EBADMSG, "not a pcap file: the magic number is missing");
	major = capture_u16(&c, st->swap);
	if (major != 2)
		return err_set(err, -EBADMSG, "pcap version %u: only version 2 is known", major);
	cur_skip(&c, 14);
	st->link = capture_u32(&c, st->swap) & 0xffff;	/* the upper bits describe frame check sequences */
	st->started = true;
	r = capture_host(&st->cap, NULL, 0, NULL, 0);
	return r < 0 ? r : HEADER_BYTES;
}

static int64_t parse_packet(struct pcap *st, struct cursor c, struct err *err)
{
	struct capture_packet p = { .link = st->link };
	uint32_t seconds, fraction;
	int r;

	if (cur_left(&c) < PACKET_HEADER_BYTES)
		return 0;
	seconds = capture_u32(&c, st->swap);
	fraction = capture_u32(&c, st->swap);
	p.cap_len = capture_u32(&c, st->swap);
	p.orig_len = capture_u32(&c, st->swap);
	if (p.cap_len > CAPTURE_MAX_PACKET)
		return err_set(err, -EBADMSG, "the packet at byte %llu claims %u bytes, more than any capture holds "
			       "(%u)", (unsigned long long)st->cap.at, p.cap_len, CAPTURE_MAX_PACKET);
	if (cur_left(&c) < p.cap_len)
		return 0;
	p.data = cur_bytes(&c, p.cap_len);
	p.time_ns = capture_time(seconds, (uint64_t)fraction * (st->ns ? 1 : 1000));
	r = capture_packet(&st->cap, &p);
	return r < 0 ? r : PACKET_HEADER_BYTES + (int64_t)p.cap_len;
}

static int64_t pcap_parse(void *state, const void *data, size_t len, bool eof, source_fn fn, void *ctx,
			  struct err *err)
{
	struct cursor c = cur_init(data, len);
	struct pcap *st = state;

	st->cap.fn = fn;
	st->cap.ctx = ctx;
	while (cur_left(&c)) {
		int64_t n = st->started ? parse_packet(st, c, err) : parse_header(st, c, err);

		if (n < 0)
			return n;
		if (n == 0 && eof)
			return capture_cut(&st->cap, st->started ? "a packet" : "the header", err);
		if (n == 0)
			break;
		cur_skip(&c, (size_t)n);
		st->cap.at += (uint64_t)n;
	}
	return (int64_t)(len - cur_left(&c));
}

static void pcap_fini(void *state)
{
	struct pcap *st = state;

	capture_fini(&st->cap);
}

const struct source_ops pcap_source = {
	.name = "pcap", .summary = "packets captured by tcpdump and others, classic format",
	.state_size = sizeof(struct pcap), .match = pcap_match, .parse = pcap_parse, .fini = pcap_fini,
};
