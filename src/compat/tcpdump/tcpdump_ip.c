// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * IPv4 and IPv6 with extension headers.
 */

#include "base/buf.h"
#include "base/macros.h"
#include "compat/tcpdump/tcpdump_print.h"

#define PROTO_HBH 0
#define PROTO_ICMP 1
#define PROTO_IGMP 2
#define PROTO_TCP 6
#define PROTO_UDP 17
#define PROTO_ROUTING 43
#define PROTO_FRAGMENT 44
#define PROTO_ICMP6 58
#define PROTO_DSTOPTS 60
#define PORTS_LEN 4u /* of TCP and UDP */

static const struct {
	uint8_t proto;
	const char *name;
} names[] = {
	{ PROTO_HBH, "Options" },
	{ PROTO_ICMP, "ICMP" },
	{ PROTO_IGMP, "IGMP" },
	{ 4, "IPIP" },
	{ PROTO_TCP, "TCP" },
	{ PROTO_UDP, "UDP" },
	{ 41, "IPv6" },
	{ PROTO_ROUTING, "Routing" },
	{ PROTO_FRAGMENT, "Fragment" },
	{ 46, "RSVP" },
	{ 47, "GRE" },
	{ 50, "ESP" },
	{ 51, "AH" },
	{ PROTO_ICMP6, "ICMPv6" },
	{ 59, "no next header" },
	{ PROTO_DSTOPTS, "Options" },
	{ 89, "OSPF" },
	{ 103, "PIM" },
	{ 112, "VRRP" },
	{ 132, "SCTP" },
};

static const char *proto_name(uint8_t proto)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i].proto == proto)
			return names[i].name;
	return "unknown";
}

/* Names of the Internet's registry of protocol numbers, as /etc/protocols has them: a bare machine lacks the file. */
static const struct {
	uint8_t proto;
	const char *name;
} registry[] = {
	{ 0, "hopopt" },      { 1, "icmp" },	   { 2, "igmp" },	 { 4, "ipencap" },    { 6, "tcp" },
	{ 8, "egp" },	      { 9, "igp" },	   { 17, "udp" },	 { 33, "dccp" },      { 41, "ipv6" },
	{ 43, "ipv6-route" }, { 44, "ipv6-frag" }, { 46, "rsvp" },	 { 47, "gre" },	      { 50, "esp" },
	{ 51, "ah" },	      { 58, "ipv6-icmp" }, { 59, "ipv6-nonxt" }, { 60, "ipv6-opts" }, { 88, "eigrp" },
	{ 89, "ospf" },	      { 94, "ipip" },	   { 97, "etherip" },	 { 103, "pim" },      { 108, "ipcomp" },
	{ 112, "vrrp" },      { 115, "l2tp" },	   { 124, "isis" },	 { 132, "sctp" },     { 136, "udplite" },
};

static void add_proto(struct tcpdump_print *pr, uint8_t proto)
{
	for (size_t i = 0; i < ARRAY_SIZE(registry) && !pr->o->numeric; i++)
		if (registry[i].proto == proto) {
			buf_printf(pr->out, " %s", registry[i].name);
			return;
		}
	buf_printf(pr->out, " ip-proto-%u", proto);
}

static void add_pair(struct tcpdump_print *pr, const struct tcpdump_ip *ip)
{
	tcpdump_base_addr(pr->out, ip->family, ip->saddr);
	buf_add_str(pr->out, " > ");
	tcpdump_base_addr(pr->out, ip->family, ip->daddr);
	buf_add_str(pr->out, ":");
}

/* @paired: addresses stand there already. */
static void print_payload(struct tcpdump_print *pr, const struct tcpdump_ip *ip, struct cursor c, uint32_t len,
			  bool paired)
{
	if ((ip->proto == PROTO_TCP || ip->proto == PROTO_UDP) && cur_left(&c) >= PORTS_LEN) {
		(ip->proto == PROTO_TCP ? tcpdump_tcp_print : tcpdump_udp_print)(pr, ip, c, len);
		return;
	}
	if (!paired) {
		add_pair(pr, ip);
		buf_add_char(pr->out, ' ');
	}
	if (ip->proto == PROTO_TCP || ip->proto == PROTO_UDP)
		tcpdump_base_cut(pr->out, ip->proto == PROTO_TCP ? "tcp" : "udp");
	else if (ip->proto == PROTO_ICMP && ip->family == SONDE_IPV4)
		tcpdump_icmp_print(pr, c, len);
	else if (ip->proto == PROTO_ICMP6 && ip->family == SONDE_IPV6)
		tcpdump_icmp_print6(pr, ip, c, len);
	else if (ip->proto == PROTO_IGMP && ip->family == SONDE_IPV4)
		tcpdump_igmp_print(pr, c, len);
	else if (ip->proto == 4 || ip->proto == 41)
		pr->embedded(pr, c, len);
	else {
		add_proto(pr, ip->proto);
		buf_printf(pr->out, " %u", len);
	}
}

/* ---- IPv4 ---- */

static void add_ecn(uint8_t tos, struct buf *out)
{
	static const char *const ecn[] = { "", ",ECT(1)", ",ECT(0)", ",CE" };

	buf_printf(out, "(tos 0x%x%s", tos, ecn[tos & 3]);
}

static void add_options(struct cursor c, struct buf *out)
{
	static const struct {
		uint8_t type;
		const char *name;
	} options[] = {
		{ 7, "RR" },	 { 68, "timestamp" }, { 130, "security" },
		{ 131, "LSRR" }, { 137, "SSRR" },     { 148, "RA" },
	};
	const char *sep = ", options (";

	while (cur_left(&c)) {
		uint8_t type = cur_u8(&c), len = type < 2 ? 0 : cur_u8(&c);
		const char *name = type == 0 ? "EOL" : type == 1 ? "NOP" : NULL;

		for (size_t i = 0; !name && i < ARRAY_SIZE(options); i++)
			name = options[i].type == type ? options[i].name : NULL;
		buf_add_str(out, sep);
		if (name)
			buf_add_str(out, name);
		else
			buf_printf(out, "unknown %u", type);
		sep = ",";
		if (!type)
			break;
		cur_skip(&c, len > 2 ? len - 2u : 0);
	}
	buf_add_str(out, *sep == ',' && !sep[1] ? ")" : "");
}

struct header4 {
	unsigned header_len;
	uint8_t tos, ttl;
	uint16_t len, id, flags;
	const uint8_t *start;
};

static void add_header4(struct tcpdump_print *pr, const struct header4 *h, uint8_t proto, struct cursor options)
{
	static const char *const flags[] = { "none", "+", "DF", "+, DF" };
	struct buf *out = pr->out;
	uint16_t sum = (uint16_t)~tcpdump_base_sum(0, h->start, h->header_len);

	add_ecn(h->tos, out);
	if (h->ttl)
		buf_printf(out, ", ttl %u", h->ttl);
	buf_printf(out, ", id %u, offset %u, flags [%s], proto %s (%u), length %u", h->id, (h->flags & 0x1fffu) * 8,
		   flags[(h->flags >> 13 & 1) | (h->flags >> 13 & 2)], proto_name(proto), proto, h->len);
	add_options(options, out);
	if (sum && !pr->o->unchecked) {
		uint16_t is = (uint16_t)(h->start[10] << 8 | h->start[11]);
		uint32_t right = (uint32_t)is + sum;

		buf_printf(out, ", bad cksum %x (->%x)!", is, (right & 0xffff) + (right >> 16));
	}
	buf_add_str(out, ")\n    ");
}

void tcpdump_ip_print4(struct tcpdump_print *pr, struct cursor c, uint32_t len)
{
	struct tcpdump_ip ip = { .family = SONDE_IPV4 };
	struct header4 h = { .start = c.pos };
	struct buf *out = pr->out;
	const bool any = cur_left(&c) > 0;
	struct cursor options;
	unsigned offset;

	if (!pr->o->ether && any)
		buf_add_str(out, "IP ");
	h.header_len = (cur_u8(&c) & 15) * 4u;
	h.tos = cur_u8(&c);
	h.len = cur_u16be(&c);
	h.id = cur_u16be(&c);
	h.flags = cur_u16be(&c);
	h.ttl = cur_u8(&c);
	ip.proto = cur_u8(&c);
	cur_skip(&c, 2);
	cur_copy(&c, ip.saddr, 4);
	cur_copy(&c, ip.daddr, 4);
	options = cur_sub(&c, h.header_len > 20 ? h.header_len - 20 : 0);
	if (!cur_ok(&c) || h.header_len < 20) {
		tcpdump_base_cut(out, "ip");
		return;
	}
	if (h.len > len && !pr->depth)
		buf_printf(out, "truncated-ip - %u bytes missing! ", h.len - len);
	if (h.len < h.header_len)
		h.len = (uint16_t)MIN(len, (uint32_t)UINT16_MAX);
	if (pr->o->verbose)
		add_header4(pr, &h, ip.proto, options);
	offset = h.flags & 0x1fff;
	ip.fragment = offset || h.flags & 0x2000;
	len = h.len - MIN((uint32_t)h.len, h.header_len);
	if (cur_left(&c) > len)
		c.end = c.pos + len; /* what pads a frame is not the packet's */
	if (!offset) {
		print_payload(pr, &ip, c, len, false);
		return;
	}
	add_pair(pr, &ip);
	add_proto(pr, ip.proto);
}

/* ---- IPv6 ---- */

static void print_hop_options(struct tcpdump_print *pr, struct cursor c)
{
	while (pr->o->verbose && cur_left(&c)) {
		uint8_t type = cur_u8(&c), len = type ? cur_u8(&c) : 0;
		struct cursor value = cur_sub(&c, len);

		if (!cur_ok(&c))
			return;
		if (type == 0)
			buf_add_str(pr->out, "(pad1) ");
		else if (type == 1)
			buf_add_str(pr->out, "(padn) ");
		else if (type == 5)
			buf_printf(pr->out, "(rtalert: 0x%04x) ", cur_u16be(&value));
		else
			buf_printf(pr->out, "(opt_type 0x%02x: len=%u) ", type, len);
	}
}

/* Returns whether the payload follows. */
static bool print_fragment(struct tcpdump_print *pr, struct cursor *c, struct tcpdump_ip *ip, uint32_t *len)
{
	uint16_t place;
	uint32_t id;

	ip->proto = cur_u8(c);
	cur_skip(c, 1);
	place = cur_u16be(c);
	id = cur_u32be(c);
	*len -= MIN(*len, 8u);
	ip->fragment = true;
	buf_add_str(pr->out, " frag (");
	if (pr->o->verbose)
		buf_printf(pr->out, "0x%08x:", id);
	buf_printf(pr->out, "%u|%u)", place & 0xfff8, *len);
	return !(place & 0xfff8);
}

/* Extension headers, up to the payload; false if it does not follow. *paired: addresses were printed. */
static bool print_extensions(struct tcpdump_print *pr, struct cursor *c, struct tcpdump_ip *ip, uint32_t *len,
			     bool *paired)
{
	for (unsigned n = 0; n < 8 && cur_ok(c); n++) {
		uint8_t next, words;
		struct cursor sub;

		if (ip->proto != PROTO_HBH && ip->proto != PROTO_DSTOPTS && ip->proto != PROTO_FRAGMENT)
			return true;
		if (!*paired)
			add_pair(pr, ip);
		*paired = true;
		if (ip->proto == PROTO_FRAGMENT) {
			if (!print_fragment(pr, c, ip, len))
				return false;
			continue;
		}
		buf_add_str(pr->out, ip->proto == PROTO_HBH ? " HBH " : " DSTOPT ");
		next = cur_u8(c);
		words = cur_u8(c);
		sub = cur_sub(c, words * 8u + 6);
		*len -= MIN(*len, words * 8u + 8);
		print_hop_options(pr, sub);
		if (pr->out->len && pr->out->data[pr->out->len - 1] == ' ')
			pr->out->len--;
		ip->proto = next;
	}
	return cur_ok(c);
}

void tcpdump_ip_print6(struct tcpdump_print *pr, struct cursor c, uint32_t len)
{
	struct tcpdump_ip ip = { .family = SONDE_IPV6 };
	struct buf *out = pr->out;
	const bool any = cur_left(&c) > 0;
	uint32_t head = cur_u32be(&c);
	uint16_t payload = cur_u16be(&c);
	uint8_t limit;
	bool paired = false;

	if (!pr->o->ether && any)
		buf_add_str(out, "IP6 ");
	ip.proto = cur_u8(&c);
	limit = cur_u8(&c);
	cur_copy(&c, ip.saddr, 16);
	cur_copy(&c, ip.daddr, 16);
	if (!cur_ok(&c)) {
		tcpdump_base_cut(out, "ip6");
		return;
	}
	if (payload + 40u > len && !pr->depth)
		buf_printf(out, "truncated-ip6 - %u bytes missing!", payload + 40u - len);
	if (pr->o->verbose) {
		buf_add_char(out, '(');
		if (head >> 20 & 0xff)
			buf_printf(out, "class 0x%02x, ", head >> 20 & 0xff);
		if (head & 0xfffff)
			buf_printf(out, "flowlabel 0x%05x, ", head & 0xfffff);
		buf_printf(out, "hlim %u, next-header %s (%u) payload length: %u) ", limit, proto_name(ip.proto),
			   ip.proto, payload);
	}
	len = payload ? payload : len - MIN(len, 40u);
	if (cur_left(&c) > len)
		c.end = c.pos + len;
	if (!print_extensions(pr, &c, &ip, &len, &paired))
		return;
	if (paired)
		buf_add_char(out, ' ');
	print_payload(pr, &ip, c, len, paired);
}
