// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Link layers: Ethernet with VLAN tags, Linux cooked captures, bare IP; ARP.
 */
#include "compat/tcpdump/tcpdump_print.h"

#include <string.h>

#include "base/buf.h"
#include "base/macros.h"

#define LINK_ETHERNET 1u
#define LINK_RAW 101u
#define LINK_SLL 113u
#define LINK_SLL2 276u

#define TYPE_IPV4 0x0800
#define TYPE_ARP 0x0806
#define TYPE_IPV6 0x86dd
#define TYPE_VLAN 0x8100
#define TYPE_QINQ 0x88a8

static const struct {
	uint16_t type;
	const char *name;
} types[] = {
	{ TYPE_IPV4, "IPv4" },	      { TYPE_IPV6, "IPv6" },	    { TYPE_ARP, "ARP" },
	{ TYPE_VLAN, "802.1Q" },      { TYPE_QINQ, "802.1Q-QinQ" }, { 0x8847, "MPLS unicast" },
	{ 0x8848, "MPLS multicast" }, { 0x88cc, "LLDP" },	    { 0x8035, "Reverse ARP" },
	{ 0x8863, "PPPoE D" },	      { 0x8864, "PPPoE S" },	    { 0x888e, "EAPOL" },
	{ 0x88e5, "802.1AE MACsec" }, { 0x9000, "Loopback" },
};

/* NULL = unknown */
static const char *type_name(uint16_t type)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (types[i].type == type)
			return types[i].name;
	return NULL;
}

static void add_type(struct buf *out, uint16_t type)
{
	const char *name = type_name(type);

	buf_printf(out, "ethertype %s (0x%04x)", name ? name : "Unknown", type);
}

/* With -q. */
static void add_type_short(struct buf *out, uint16_t type)
{
	const char *name = type_name(type);

	if (name)
		buf_add_str(out, name);
	else
		buf_printf(out, "Unknown Ethertype (0x%04x)", type);
}

/* ---- ARP ---- */

static bool is_zero(const uint8_t *mac)
{
	static const uint8_t zero[6];

	return !memcmp(mac, zero, sizeof(zero));
}

static void print_arp(struct tcpdump_print *pr, struct cursor c, uint32_t len)
{
	struct buf *out = pr->out;
	uint16_t hw = cur_u16be(&c), proto = cur_u16be(&c);
	uint8_t hw_len = cur_u8(&c), proto_len = cur_u8(&c);
	uint16_t op = cur_u16be(&c);
	const uint8_t *smac = cur_bytes(&c, 6), *sip = cur_bytes(&c, 4), *dmac = cur_bytes(&c, 6);
	const uint8_t *dip = cur_bytes(&c, 4);

	if (!pr->o->ether)
		buf_add_str(out, "ARP, ");
	if (!cur_ok(&c) || hw != 1 || proto != TYPE_IPV4 || hw_len != 6 || proto_len != 4 || (op != 1 && op != 2)) {
		tcpdump_base_cut(out, "arp");
		return;
	}
	if (pr->o->verbose)
		buf_add_str(out, "Ethernet (len 6), IPv4 (len 4), ");
	if (op == 1) {
		buf_add_str(out, "Request who-has ");
		tcpdump_base_addr(out, SONDE_IPV4, dip);
		if (!is_zero(dmac)) {
			buf_add_str(out, " (");
			tcpdump_base_station(pr, dmac);
			buf_add_char(out, ')');
		}
		buf_add_str(out, " tell ");
		tcpdump_base_addr(out, SONDE_IPV4, sip);
	} else {
		buf_add_str(out, "Reply ");
		tcpdump_base_addr(out, SONDE_IPV4, sip);
		buf_add_str(out, " is-at ");
		tcpdump_base_station(pr, smac);
	}
	buf_printf(out, ", length %u", len);
}

/* ---- what a link carries ---- */

/* False if nothing is known of @type. */
static bool print_type(struct tcpdump_print *pr, uint16_t type, struct cursor c, uint32_t len)
{
	if (type == TYPE_IPV4)
		tcpdump_ip_print4(pr, c, len);
	else if (type == TYPE_IPV6)
		tcpdump_ip_print6(pr, c, len);
	else if (type == TYPE_ARP)
		print_arp(pr, c, len);
	else
		return false;
	return true;
}

static void print_unknown(struct tcpdump_print *pr, struct cursor c)
{
	if (!pr->o->hex && !pr->o->hex_ascii && !pr->o->quick)
		tcpdump_base_dump(pr->out, "\n\t", c.pos, cur_left(&c), true);
}

static void add_macs(struct tcpdump_print *pr, const uint8_t *macs, uint16_t type, uint32_t len)
{
	tcpdump_base_station(pr, macs + 6);
	buf_add_str(pr->out, " > ");
	tcpdump_base_station(pr, macs);
	buf_add_str(pr->out, ", ");
	pr->o->quick ? add_type_short(pr->out, type) : add_type(pr->out, type);
	buf_printf(pr->out, ", length %u: ", len);
}

/* VLAN tags; *type is that behind the last one. */
static uint32_t print_tags(struct tcpdump_print *pr, struct cursor *c, uint16_t *type)
{
	uint32_t used = 0;

	while ((*type == TYPE_VLAN || *type == TYPE_QINQ) && cur_left(c) >= 4) {
		uint16_t tci = cur_u16be(c);

		*type = cur_u16be(c);
		used += 4;
		if (!pr->o->ether)
			continue;
		buf_printf(pr->out, "vlan %u, p %u%s, ", tci & 0xfff, tci >> 13, tci & 0x1000 ? ", DEI" : "");
		add_type(pr->out, *type);
		buf_add_str(pr->out, *type == TYPE_VLAN || *type == TYPE_QINQ ? ", " : ", ");
	}
	return used;
}

static void print_ethernet(struct tcpdump_print *pr, struct cursor c, uint32_t len)
{
	const uint8_t *macs = cur_bytes(&c, 12);
	uint16_t type = cur_u16be(&c), outer = type;

	if (!cur_ok(&c)) {
		tcpdump_base_cut(pr->out, "ether");
		return;
	}
	if (pr->o->ether)
		add_macs(pr, macs, type, len);
	len -= MIN(len, 14 + print_tags(pr, &c, &type));
	if (print_type(pr, type, c, len))
		return;
	if (!pr->o->ether)
		add_macs(pr, macs, outer, len + 14);
	print_unknown(pr, c);
}

static const char *const ways[] = { "In", "B", "M", "P", "Out" };

static void add_iface(const struct tcpdump_print *pr, uint32_t index)
{
	const char *name = pr->s->iface_name ? pr->s->iface_name(pr->s->names_ctx, index) : NULL;

	buf_printf(pr->out, "%-5s ", name ? name : "?");
}

/* Linux cooked captures, both versions: @addr the sender's, @index 0 = none. */
static void print_cooked(struct tcpdump_print *pr, struct cursor c, uint32_t len, bool second)
{
	struct buf *out = pr->out;
	uint16_t type = 0, way;
	uint32_t index = 0;
	const uint8_t *addr;

	if (second) {
		type = cur_u16be(&c);
		cur_skip(&c, 2);
		index = cur_u32be(&c);
		cur_skip(&c, 2);
		way = cur_u8(&c);
		cur_skip(&c, 1);
	} else {
		way = cur_u16be(&c);
		cur_skip(&c, 4);
	}
	addr = cur_bytes(&c, 8);
	if (!second)
		type = cur_u16be(&c);
	if (!cur_ok(&c)) {
		tcpdump_base_cut(out, second ? "sll2" : "sll");
		return;
	}
	if (second)
		add_iface(pr, index); /* by its name here: the file has none */
	if (second || pr->o->ether)
		buf_printf(out, second ? "%-3s " : "%3s ", way < ARRAY_SIZE(ways) ? ways[way] : "?");
	if (pr->o->ether) {
		if (second)
			buf_printf(out, "ifindex %u ", index);
		tcpdump_base_station(pr, addr);
		buf_add_char(out, ' ');
		add_type(out, type);
		buf_printf(out, ", length %u: ", len);
	}
	if (!print_type(pr, type, c, len - MIN(len, second ? 20u : 16u)))
		print_unknown(pr, c);
}

static void print_raw(struct tcpdump_print *pr, struct cursor c, uint32_t len)
{
	unsigned version = cur_peek(&c, 0) >> 4;

	if (version == 4)
		tcpdump_ip_print4(pr, c, len);
	else if (version == 6)
		tcpdump_ip_print6(pr, c, len);
	else
		tcpdump_base_cut(pr->out, "ip");
}

uint32_t tcpdump_print_link_len(const struct tcpdump_packet *p)
{
	switch (p->link) {
	case LINK_ETHERNET: {
		uint32_t at = 12;

		while (at + 4 <= p->cap_len && (p->data[at] << 8 | p->data[at + 1]) == TYPE_VLAN)
			at += 4;
		return at + 2;
	}
	case LINK_SLL: return 16;
	case LINK_SLL2: return 20;
	default: return 0;
	}
}

/* An IP packet inside another one. */
static void print_embedded(struct tcpdump_print *pr, struct cursor c, uint32_t len)
{
	if (++pr->depth < TCPDUMP_DEPTH)
		print_raw(pr, c, len);
	pr->depth--;
}

void tcpdump_print_init(struct tcpdump_state *s)
{
	memset(s, 0, sizeof(*s));
	map_init(&s->flows, 40, 8);
}

void tcpdump_print_fini(struct tcpdump_state *s)
{
	map_fini(&s->flows);
}

void tcpdump_print_packet(const struct tcpdump_opts *o, struct tcpdump_state *s, const struct tcpdump_packet *p,
			  struct buf *out)
{
	struct tcpdump_print pr = { .o = o, .s = s, .out = out, .embedded = print_embedded };
	struct cursor c = cur_init(p->data, p->cap_len);

	if (p->iface)
		buf_printf(out, "%-5s ", p->iface);
	if (p->way)
		buf_printf(out, "%-3s ", p->way);
	switch (p->link) {
	case LINK_ETHERNET: print_ethernet(&pr, c, p->orig_len); break;
	case LINK_SLL: print_cooked(&pr, c, p->orig_len, false); break;
	case LINK_SLL2: print_cooked(&pr, c, p->orig_len, true); break;
	case LINK_RAW: print_raw(&pr, c, p->orig_len); break;
	default: buf_printf(out, "unsupported link type %u, length %u", p->link, p->orig_len); break;
	}
}
