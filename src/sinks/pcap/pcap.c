// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Packets in the classic format, for readers that know no other. Format: draft-ietf-opsawg-pcap.
 *
 * A file has packets of one link type, that of its first: one of another type is an error, for which pcapng has room.
 * With SINK_PCAP_COOKED the link layer is replaced by LINKTYPE_LINUX_SLL2, as in files of all interfaces by tcpdump.
 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "sinks/outfile.h"
#include "sinks/pcap/pcap_once.h"
#include "sinks/sink.h"
#include "sonde/wire.h"

#define MAGIC_US 0xa1b2c3d4u
#define MAGIC_NS 0xa1b23c4du
#define SNAPLEN 262144u		/* tcpdump's; no packet is longer */

#define MACS_LEN 12u
#define MAC_LEN 6u
#define TYPE_LEN 2u
#define TYPE_IPV4 0x0800
#define TYPE_IPV6 0x86dd

/* struct sockaddr_ll: sll_pkttype, sll_hatype */
enum { TO_HOST, TO_ALL, TO_GROUP, TO_OTHER, FROM_HOST };
#define HARDWARE_ETHERNET 1
#define HARDWARE_NONE 65534

struct pcap {
	bool started;
	uint32_t link;		/* of all packets */
};

static uint32_t link_of(const struct sink *s, const struct sec_packet *p)
{
	return s->opts->pcap & SINK_PCAP_COOKED ? SONDE_LINK_SLL2 : p ? p->link : SONDE_LINK_ETHERNET;
}

static int start(struct sink *s, const struct sec_packet *p)
{
	struct pcap *st = s->state;
	const struct { uint32_t magic; uint16_t major, minor; uint32_t zone, accuracy, snaplen, link; } head = {
		.magic = s->opts->pcap & SINK_PCAP_NANO ? MAGIC_NS : MAGIC_US,
		.major = 2, .minor = 4, .snaplen = SNAPLEN, .link = link_of(s, p),
	};

	if (st->started)
		return 0;
	st->started = true;
	st->link = head.link;
	return outfile_record(s->out, &head, sizeof(head));
}

/* ---- cooked packets ---- */

static void add_u16be(struct buf *b, uint16_t v)
{
	const uint8_t bytes[2] = { (uint8_t)(v >> 8), (uint8_t)v };

	buf_add(b, bytes, sizeof(bytes));
}

static bool has_ethernet(const struct sec_packet *p)
{
	return p->link == SONDE_LINK_ETHERNET && p->cap_len >= MACS_LEN + TYPE_LEN;
}

/* Bytes of the link layer that the cooked header replaces. */
static uint32_t link_len(const struct sec_packet *p)
{
	return has_ethernet(p) ? MACS_LEN + TYPE_LEN : 0;
}

static uint16_t protocol_of(const struct sec_packet *p, const uint8_t *data)
{
	if (has_ethernet(p))
		return (uint16_t)(data[MACS_LEN] << 8 | data[MACS_LEN + 1]);
	return p->cap_len && data[0] >> 4 == 6 ? TYPE_IPV6 : TYPE_IPV4;
}

static uint8_t way_of(const struct sec_packet *p, const uint8_t *data)
{
	static const uint8_t all[MAC_LEN] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

	if (p->direction == PACKET_DIR_OUT)
		return FROM_HOST;
	if (!has_ethernet(p))
		return TO_HOST;
	return !memcmp(data, all, MAC_LEN) ? TO_ALL : data[0] & 1 ? TO_GROUP : TO_HOST;
}

#define COOKED_LEN 20u

static void add_cooked(const struct sec_packet *p, const uint8_t *data, struct buf *b)
{
	const bool ethernet = has_ethernet(p);
	uint8_t address[8] = { 0 };

	if (ethernet)
		memcpy(address, data + MAC_LEN, MAC_LEN);
	add_u16be(b, protocol_of(p, data));
	add_u16be(b, 0);
	add_u16be(b, (uint16_t)(p->ifindex >> 16));
	add_u16be(b, (uint16_t)p->ifindex);
	add_u16be(b, ethernet ? HARDWARE_ETHERNET : HARDWARE_NONE);
	buf_add_char(b, (char)way_of(p, data));
	buf_add_char(b, ethernet ? MAC_LEN : 0);
	buf_add(b, address, sizeof(address));
}

/* ---- packets ---- */

static int write_packet(struct sink *s, const struct event *ev, const struct sec_packet *p, const uint8_t *data)
{
	const bool cooked = s->opts->pcap & SINK_PCAP_COOKED, nano = s->opts->pcap & SINK_PCAP_NANO;
	const uint64_t wall_ns = event_wall_ns(ev);
	const uint32_t off = cooked ? link_len(p) : 0, more = cooked ? COOKED_LEN : 0;
	const uint32_t head[4] = {
		(uint32_t)(wall_ns / NS_PER_S), (uint32_t)(wall_ns % NS_PER_S / (nano ? 1 : 1000)),
		p->cap_len - off + more, p->orig_len - MIN(off, p->orig_len) + more,
	};
	struct buf *b = outfile_begin(s->out);

	buf_add(b, head, sizeof(head));
	if (cooked)
		add_cooked(p, data, b);
	buf_add(b, data + off, p->cap_len - off);
	return outfile_end(s->out);
}

static int pcap_event(struct sink *s, const struct event *ev)
{
	struct pcap *st = s->state;
	const uint8_t *data;
	const struct sec_packet *p = event_packet(ev, &data);
	int r;

	if (!p)
		return 0;
	r = start(s, p);
	if (r >= 0 && link_of(s, p) != st->link)
		r = -EXDEV;
	return r < 0 ? r : write_packet(s, ev, p, data);
}

/* A file without packets has a header, too. */
static int pcap_close(struct sink *s)
{
	return start(s, NULL);
}

const struct sink_ops pcap_sink = {
	.name = "pcap", .summary = "packets in the classic format, of one link type", .suffix = ".pcap",
	.needs = 1u << SEC_PACKET, .flags = SINK_BINARY, .shows = "packets",
	.misfit = "a pcap file has packets of one link type, -o pcapng has room for several",
	.state_size = sizeof(struct pcap), .event = pcap_event, .repeats = pcap_once_repeats,
	.seen_size = sizeof(struct pcap_once), .close = pcap_close,
};
