// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ICMP and ICMPv6.
 */

#include "base/buf.h"
#include "base/macros.h"
#include "compat/tcpdump/tcpdump_print.h"

/* ---- ICMP ---- */

/* Protocol, address and ports of the packet that an error is about. */
struct original {
	uint8_t proto;
	uint8_t daddr[16];
	uint16_t dport;
	bool has_port;
};

static bool read_original4(struct cursor c, struct original *ret)
{
	unsigned header_len = (cur_peek(&c, 0) & 15) * 4u;

	cur_skip(&c, 9);
	ret->proto = cur_u8(&c);
	cur_skip(&c, 6);
	cur_copy(&c, ret->daddr, 4);
	if (!cur_ok(&c))
		return false;
	cur_skip(&c, header_len > 20 ? header_len - 20 : 0);
	cur_skip(&c, 2);
	ret->dport = cur_u16be(&c);
	ret->has_port = cur_ok(&c);
	return true;
}

static void add_unreachable(struct tcpdump_print *pr, uint8_t code, uint32_t rest, const struct original *o)
{
	static const struct {
		uint8_t code;
		const char *before, *after;
	} texts[] = {
		{ 0, "net ", "" },
		{ 1, "host ", "" },
		{ 5, "", " - source route failed" },
		{ 6, "net ", " - unknown" },
		{ 7, "host ", " - unknown" },
		{ 8, "", " - source host isolated" },
		{ 9, "net ", " - admin prohibited" },
		{ 10, "host ", " - admin prohibited" },
		{ 11, "net ", " - tos prohibited" },
		{ 12, "host ", " - tos prohibited" },
		{ 13, "host ", " - admin prohibited filter" },
		{ 14, "host ", " - host precedence violation" },
		{ 15, "host ", " - precedence cutoff" },
	};
	struct buf *out = pr->out;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (texts[i].code != code)
			continue;
		buf_add_str(out, texts[i].before);
		tcpdump_base_addr(out, SONDE_IPV4, o->daddr);
		buf_printf(out, " unreachable%s", texts[i].after);
		return;
	}
	tcpdump_base_addr(out, SONDE_IPV4, o->daddr);
	if (code == 2) {
		buf_printf(out, " protocol %u unreachable", o->proto);
	} else if (code == 3 && o->has_port && (o->proto == 6 || o->proto == 17)) {
		buf_printf(out, " %s port ", o->proto == 6 ? "tcp" : "udp");
		tcpdump_base_port(pr, o->dport, o->proto == 6);
		buf_add_str(out, " unreachable");
	} else if (code == 3) {
		buf_printf(out, " protocol %u port %u unreachable", o->proto, o->dport);
	} else if (code == 4) {
		buf_add_str(out, " unreachable - need to frag");
		if (rest & 0xffff)
			buf_printf(out, " (mtu %u)", rest & 0xffff);
	} else {
		buf_printf(out, " unreachable - #%u", code);
	}
}

/* Returns whether the packet in the message is printed with -v. */
static bool add_error(struct tcpdump_print *pr, uint8_t type, uint8_t code, uint32_t rest, struct cursor c)
{
	static const char *const redirects[] = { "net", "host", "net (tos)", "host (tos)" };
	struct original o = { 0 };
	struct buf *out = pr->out;
	const uint8_t gateway[4] = { (uint8_t)(rest >> 24), (uint8_t)(rest >> 16), (uint8_t)(rest >> 8),
				     (uint8_t)rest };

	if (type == 11) {
		buf_add_str(out, code == 0   ? "time exceeded in-transit"
				 : code == 1 ? "ip reassembly time exceeded"
					     : "time exceeded");
		return true;
	}
	if (!read_original4(c, &o))
		return false;
	if (type == 3) {
		add_unreachable(pr, code, rest, &o);
		return true;
	}
	buf_add_str(out, "redirect ");
	tcpdump_base_addr(out, SONDE_IPV4, o.daddr);
	buf_printf(out, " to %s ", code < ARRAY_SIZE(redirects) ? redirects[code] : "net");
	tcpdump_base_addr(out, SONDE_IPV4, gateway);
	return true;
}

void tcpdump_icmp_print(struct tcpdump_print *pr, struct cursor c, uint32_t len)
{
	uint8_t type = cur_u8(&c), code = cur_u8(&c);
	struct buf *out = pr->out;
	bool error = type == 3 || type == 5 || type == 11, embeds = false;
	const size_t start = out->len;
	uint32_t rest;

	cur_skip(&c, 2);
	rest = cur_u32be(&c);
	buf_add_str(out, "ICMP ");
	if (!cur_ok(&c)) {
		tcpdump_base_cut_from(out, start, "icmp");
		return;
	}
	if (type == 0 || type == 8)
		buf_printf(out, "echo %s, id %u, seq %u", type ? "request" : "reply", rest >> 16, rest & 0xffff);
	else if (error)
		embeds = add_error(pr, type, code, rest, c);
	else if (type == 13 || type == 14)
		buf_printf(out, "time stamp %s id %u seq %u", type == 13 ? "query" : "reply", rest >> 16,
			   rest & 0xffff);
	else
		buf_printf(out, "type-#%u", type);
	if (error && !embeds) {
		tcpdump_base_cut_from(out, start, "icmp");
		return;
	}
	buf_printf(out, ", length %u", len);
	if (!embeds || !pr->o->verbose || pr->depth + 1 >= TCPDUMP_DEPTH)
		return;
	buf_add_str(out, "\n\t");
	pr->embedded(pr, c, len - MIN(len, 8u));
}

/* ---- ICMPv6 ---- */

static void add_checksum(struct tcpdump_print *pr, const struct tcpdump_ip *ip, uint16_t is, struct cursor all,
			 uint32_t len)
{
	uint16_t sum;

	if (!pr->o->verbose || ip->fragment || cur_left(&all) < len)
		return;
	sum = tcpdump_base_transport_sum(ip, 58, all.pos, len);
	if (sum) {
		uint32_t right = (uint32_t)is + sum;

		buf_printf(pr->out, "[bad icmp6 cksum 0x%04x -> 0x%04x!] ", is,
			   (uint16_t)((right & 0xffff) + (right >> 16)));
	} else {
		buf_add_str(pr->out, "[icmp6 sum ok] ");
	}
}

/* Options of neighbour discovery, a line each. */
static void add_nd_options(struct tcpdump_print *pr, struct cursor c)
{
	struct buf *out = pr->out;
	static const char *const names[] = {
		[1] = "source link-address",
		[2] = "destination link-address",
		[3] = "prefix info",
		[4] = "redirected header",
		[5] = "mtu",
	};

	while (cur_left(&c) >= 2) {
		uint8_t type = cur_u8(&c), words = cur_u8(&c);
		struct cursor value = cur_sub(&c, words ? words * 8u - 2 : 0);
		bool known = type < ARRAY_SIZE(names) && names[type];

		if (!cur_ok(&c) || !words)
			return;
		buf_printf(out, "\n\t  %s option (%u), length %u (%u): ", known ? names[type] : "unknown", type,
			   words * 8u, words);
		if ((type == 1 || type == 2) && cur_left(&value) >= 6)
			tcpdump_base_mac(out, value.pos);
		else if (type == 5 && cur_left(&value) >= 6)
			buf_printf(out, " %u",
				   (unsigned)value.pos[2] << 24 | (unsigned)value.pos[3] << 16 |
					   (unsigned)value.pos[4] << 8 | value.pos[5]);
		else if (pr->o->verbose < 2)
			tcpdump_base_dump(out, "\n\t  ", value.pos, cur_left(&value), false);
		if (pr->o->verbose > 1)
			tcpdump_base_dump(out, "\n\t    ", value.pos, cur_left(&value), false);
	}
}

static void add_neighbour(struct tcpdump_print *pr, uint8_t type, struct cursor c, uint32_t len)
{
	static const struct {
		uint8_t bit;
		const char *name;
	} flags[] = {
		{ 0x80, "router" },
		{ 0x40, "solicited" },
		{ 0x20, "override" },
	};
	struct buf *out = pr->out;
	uint32_t bits = cur_u32be(&c) >> 24;
	const uint8_t *target = cur_bytes(&c, 16);
	const char *sep = ", Flags [";

	if (!target) {
		tcpdump_base_cut(out, "icmp6");
		return;
	}
	buf_add_str(out, type == 135 ? "neighbor solicitation" : "neighbor advertisement");
	if (pr->o->verbose)
		buf_printf(out, ", length %u", len);
	buf_add_str(out, type == 135 ? ", who has " : ", tgt is ");
	tcpdump_base_addr(out, SONDE_IPV6, target);
	if (!pr->o->verbose) {
		buf_printf(out, ", length %u", len);
		return;
	}
	for (size_t i = 0; type == 136 && i < ARRAY_SIZE(flags); i++) {
		if (!(bits & flags[i].bit))
			continue;
		buf_printf(out, "%s%s", sep, flags[i].name);
		sep = ", ";
	}
	if (type == 136)
		buf_add_str(out, sep[2] ? ", Flags [none]" : "]");
	add_nd_options(pr, c);
}

static void add_solicitation(struct tcpdump_print *pr, struct cursor c, uint32_t len)
{
	buf_printf(pr->out, "router solicitation, length %u", len);
	cur_skip(&c, 4);
	if (pr->o->verbose)
		add_nd_options(pr, c);
}

static void add_sources(struct tcpdump_print *pr, struct cursor *c, uint16_t n)
{
	struct buf *out = pr->out;

	if (pr->o->verbose < 2) {
		buf_printf(out, ", %u source(s)]", n);
		cur_skip(c, n * 16u);
		return;
	}
	buf_add_str(out, " {");
	for (uint16_t i = 0; i < n; i++) {
		const uint8_t *addr = cur_bytes(c, 16);

		if (!addr)
			return;
		buf_add_char(out, ' ');
		tcpdump_base_addr(out, SONDE_IPV6, addr);
	}
	buf_add_str(out, " }]");
}

static void add_listeners(struct tcpdump_print *pr, struct cursor c, uint32_t len)
{
	static const char *const modes[] = { "", "is_in", "is_ex", "to_in", "to_ex", "allow", "block" };
	struct buf *out = pr->out;
	uint16_t n;

	cur_skip(&c, 2);
	n = cur_u16be(&c);
	buf_printf(out, "multicast listener report v2, %u group record(s)", n);
	if (!pr->o->verbose) {
		buf_printf(out, ", length %u", len);
		return;
	}
	for (uint16_t i = 0; i < n && cur_ok(&c); i++) {
		uint8_t mode = cur_u8(&c), aux = cur_u8(&c);
		uint16_t sources = cur_u16be(&c);
		const uint8_t *group = cur_bytes(&c, 16);

		if (!group)
			break;
		buf_add_str(out, " [gaddr ");
		tcpdump_base_addr(out, SONDE_IPV6, group);
		buf_printf(out, " %s", mode < ARRAY_SIZE(modes) ? modes[mode] : "?");
		add_sources(pr, &c, sources);
		cur_skip(&c, aux * 4u);
	}
}

/* "udp port 9" of the packet in an error message. */
static void add_unreachable6(struct tcpdump_print *pr, uint8_t code, struct cursor c)
{
	static const char *const codes[] = {
		"unreachable route",   "unreachable prohibited", "beyond scope",
		"unreachable address", "unreachable port",
	};
	struct buf *out = pr->out;
	const uint8_t *daddr;
	uint16_t port;
	uint8_t proto;

	buf_add_str(out, "destination unreachable");
	if (code >= ARRAY_SIZE(codes)) {
		buf_printf(out, ", unknown code (%u)", code);
		return;
	}
	buf_printf(out, ", %s", codes[code]);
	cur_skip(&c, 6);
	proto = cur_u8(&c);
	cur_skip(&c, 17);
	daddr = cur_bytes(&c, 16);
	cur_skip(&c, 2);
	port = cur_u16be(&c);
	if (!daddr)
		return;
	buf_add_str(out, code < 4 ? " " : ", ");
	tcpdump_base_addr(out, SONDE_IPV6, daddr);
	if (code == 4 && cur_ok(&c) && (proto == 6 || proto == 17)) {
		buf_printf(out, " %s port ", proto == 6 ? "tcp" : "udp");
		tcpdump_base_port(pr, port, proto == 6);
	}
}

void tcpdump_icmp_print6(struct tcpdump_print *pr, const struct tcpdump_ip *ip, struct cursor c, uint32_t len)
{
	struct cursor all = c, body;
	uint8_t type = cur_u8(&c), code = cur_u8(&c);
	uint16_t sum = cur_u16be(&c);
	struct buf *out = pr->out;
	uint32_t rest;

	add_checksum(pr, ip, sum, all, len);
	buf_add_str(out, "ICMP6, ");
	body = c;
	rest = cur_u32be(&c);
	if (!cur_ok(&c)) {
		tcpdump_base_cut(out, "icmp6");
		return;
	}
	if (type == 135 || type == 136) {
		add_neighbour(pr, type, body, len);
		return;
	}
	if (type == 133) {
		add_solicitation(pr, body, len);
		return;
	}
	if (type == 143) {
		add_listeners(pr, body, len);
		return;
	}
	if (type == 128 || type == 129)
		buf_printf(out, "echo %s, id %u, seq %u", type == 128 ? "request" : "reply", rest >> 16,
			   rest & 0xffff);
	else if (type == 1)
		add_unreachable6(pr, code, c);
	else if (type == 2)
		buf_printf(out, "packet too big, mtu %u", rest);
	else if (type == 3)
		buf_add_str(out, code ? "time exceeded in-reassembly" : "time exceeded in-transit");
	else if (type == 134)
		buf_add_str(out, "router advertisement");
	else
		buf_printf(out, "unknown icmp6 type (%u)", type);
	if (!pr->o->verbose)
		buf_printf(out, ", length %u", len);
}
