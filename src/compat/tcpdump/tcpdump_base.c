// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Addresses, dumps and checksums for all layers of tcpdump's printer.
 */
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "compat/tcpdump/tcpdump_print.h"
#include "packet/names.h"

void tcpdump_base_addr(struct buf *out, unsigned family, const uint8_t *addr)
{
	packet_names_text_ip(out, (int)family, addr);
}

void tcpdump_base_mac(struct buf *out, const uint8_t *mac)
{
	for (size_t i = 0; i < 6; i++)
		buf_printf(out, "%s%02x", i ? ":" : "", mac[i]);
}

/* The prefixes that tcpdump 4.99 has names of. */
static const struct {
	uint32_t prefix;
	const char *name;
} vendors[] = {
	{ 0x000000, "Ethernet" },
	{ 0x00000c, "Cisco" },
	{ 0x00005e, "IANA" },
	{ 0x000081, "Nortel Networks SONMP" },
	{ 0x0000f8, "Cisco bridged" },
	{ 0x00049f, "Freescale" },
	{ 0x0004ea, "HP-Labs" },
	{ 0x001018, "Broadcom" },
	{ 0x00120f, "IEEE 802.3 Private" },
	{ 0x0012bb, "ANSI/TIA" },
	{ 0x0015ad, "Netronome" },
	{ 0x001b21, "DCBX" },
	{ 0x002320, "Nicira Networks" },
	{ 0x002481, "HP" },
	{ 0x0080c2, "Ethernet bridged" },
	{ 0x009069, "Juniper" },
	{ 0x00a03e, "ATM Forum" },
	{ 0x00e004, "PMC-Sierra" },
	{ 0x00e02f, "DOCSIS Spanning Tree" },
	{ 0x5c16c7, "Big Switch Networks" },
	{ 0x748771, "Infoblox Inc" },
	{ 0x080007, "Appletalk" },
	{ 0x080009, "Hewlett-Packard" },
};

static const char *vendor_of(const uint8_t *mac)
{
	const uint32_t prefix = (uint32_t)mac[0] << 16 | (uint32_t)mac[1] << 8 | mac[2];

	for (size_t i = 0; i < ARRAY_SIZE(vendors); i++)
		if (vendors[i].prefix == prefix)
			return vendors[i].name;
	return "Unknown";
}

void tcpdump_base_station(struct tcpdump_print *pr, const uint8_t *mac)
{
	static const uint8_t all[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

	if (!pr->o->numeric && !memcmp(mac, all, sizeof(all))) {
		buf_add_str(pr->out, "Broadcast");
		return;
	}
	tcpdump_base_mac(pr->out, mac);
	if (!pr->o->numeric)
		buf_printf(pr->out, " (oui %s)", vendor_of(mac));
}

void tcpdump_base_port(struct tcpdump_print *pr, uint16_t port, bool tcp)
{
	const char *name = NULL;

	if (!pr->o->numeric && pr->s->port_name)
		name = pr->s->port_name(pr->s->names_ctx, port, tcp);
	if (name)
		buf_add_str(pr->out, name);
	else
		buf_add_u64(pr->out, port);
}

void tcpdump_base_ends(struct tcpdump_print *pr, const struct tcpdump_ip *ip, uint16_t sport, uint16_t dport)
{
	bool tcp = ip->proto == 6;

	tcpdump_base_addr(pr->out, ip->family, ip->saddr);
	buf_add_char(pr->out, '.');
	tcpdump_base_port(pr, sport, tcp);
	buf_add_str(pr->out, " > ");
	tcpdump_base_addr(pr->out, ip->family, ip->daddr);
	buf_add_char(pr->out, '.');
	tcpdump_base_port(pr, dport, tcp);
	buf_add_str(pr->out, ": ");
}

void tcpdump_base_cut(struct buf *out, const char *name)
{
	buf_printf(out, " [|%s]", name);
}

void tcpdump_base_cut_from(struct buf *out, size_t start, const char *name)
{
	out->len = start < out->len ? start : out->len;
	tcpdump_base_cut(out, name);
}

#define ROW 16u
#define HEX_COLUMNS 39 /* of a whole row */

void tcpdump_base_dump(struct buf *out, const char *indent, const uint8_t *data, size_t len, bool ascii)
{
	for (size_t at = 0; at < len; at += ROW) {
		size_t n = len - at < ROW ? len - at : ROW, from;

		buf_printf(out, "%s0x%04zx:  ", indent, at);
		from = out->len;
		for (size_t i = 0; i < n; i++)
			buf_printf(out, "%s%02x", i && !(i & 1) ? " " : "", data[at + i]);
		if (!ascii)
			continue;
		while (out->len < from + HEX_COLUMNS && buf_add_char(out, ' ') >= 0)
			;
		buf_add_str(out, "  ");
		for (size_t i = 0; i < n; i++) {
			uint8_t c = data[at + i];

			buf_add_char(out, c > 0x20 && c < 0x7f ? (char)c : '.');
		}
	}
}

uint32_t tcpdump_base_sum(uint32_t sum, const uint8_t *data, size_t len)
{
	uint64_t total = sum;

	for (size_t i = 0; i + 1 < len; i += 2)
		total += (uint32_t)data[i] << 8 | data[i + 1];
	if (len & 1)
		total += (uint32_t)data[len - 1] << 8;
	while (total >> 16)
		total = (total & 0xffff) + (total >> 16);
	return (uint32_t)total;
}

uint16_t tcpdump_base_transport_sum(const struct tcpdump_ip *ip, uint8_t proto, const uint8_t *data, uint32_t len)
{
	size_t n = ip->family == SONDE_IPV4 ? 4 : 16;
	uint32_t sum = tcpdump_base_sum(0, ip->saddr, n);

	sum = tcpdump_base_sum(sum, ip->daddr, n);
	sum = tcpdump_base_sum(sum + proto + (len >> 16) + (len & 0xffff), data, len);
	return (uint16_t)~sum;
}
