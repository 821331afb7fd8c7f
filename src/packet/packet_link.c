// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Link layers: Ethernet II and 802.3, 802.1Q and 802.1ad tags, Linux cooked captures (LINKTYPE_LINUX_SLL
 * 113 and SLL2 276 at tcpdump.org), MPLS label stacks (RFC 3032), ARP (RFC 826).
 */
#include "packet/dissect.h"
#include "packet/names.h"
#include "packet/print.h"

#include "base/buf.h"

#define LENGTH_NOT_TYPE 0x600		/* IEEE 802.3 3.2.6: smaller values are lengths */
#define MPLS_MAX_LABELS 16

/* Type field after addresses or a tag; may be an 802.3 length. */
static void ethertype(struct dissect *d, uint16_t type)
{
	bool is_length = type < LENGTH_NOT_TYPE;

	if (d->depth == 0)
		d->p->ethertype = is_length ? 0 : type;
	if (is_length && type)
		layer_trim(d, MIN(type, d->wire_left));
	d->next = is_length ? NULL : dissect_by_ethertype(type);
}

void dissect_ethernet(struct dissect *d)
{
	struct packet *p = d->p;
	struct cursor h;

	if (!layer_take(d, LAYER_ETHERNET, 14, &h))
		return;
	if (d->depth == 0) {
		cur_copy(&h, p->dmac, sizeof(p->dmac));
		cur_copy(&h, p->smac, sizeof(p->smac));
		p->has_mac = true;
	} else {
		cur_skip(&h, 12);
	}
	ethertype(d, cur_u16be(&h));
}

static void dissect_vlan(struct dissect *d)
{
	struct packet *p = d->p;
	struct cursor h;
	uint16_t tci;

	if (!layer_take(d, LAYER_VLAN, 4, &h))
		return;
	tci = cur_u16be(&h);
	if (d->depth == 0 && p->n_vlan < ARRAY_SIZE(p->vlan))
		p->vlan[p->n_vlan++] = tci;
	ethertype(d, cur_u16be(&h));
}

static void sll_source(struct dissect *d, struct cursor *h, uint16_t addr_len)
{
	if (addr_len == sizeof(d->p->smac))
		cur_copy(h, d->p->smac, sizeof(d->p->smac));
}

void dissect_sll(struct dissect *d)
{
	struct cursor h, addr;
	uint16_t addr_len;

	if (!layer_take(d, LAYER_SLL, 16, &h))
		return;
	cur_skip(&h, 4);
	addr_len = cur_u16be(&h);
	addr = cur_sub(&h, 8);
	sll_source(d, &addr, addr_len);
	ethertype(d, cur_u16be(&h));
}

void dissect_sll2(struct dissect *d)
{
	struct cursor h;
	uint16_t type;

	if (!layer_take(d, LAYER_SLL2, 20, &h))
		return;
	type = cur_u16be(&h);
	cur_skip(&h, 9);
	sll_source(d, &h, cur_u8(&h));
	ethertype(d, type);
}

void dissect_raw(struct dissect *d)
{
	uint8_t version = cur_peek(&d->cur, 0) >> 4;

	d->p->ethertype = version == 4 ? ETHERTYPE_IPV4 : version == 6 ? ETHERTYPE_IPV6 : 0;
	if (version == 4)
		dissect_ipv4(d);
	else if (version == 6)
		dissect_ipv6(d);
}

void dissect_mpls(struct dissect *d)
{
	uint32_t n = 0;
	bool last;
	struct cursor h;

	do {
		last = cur_left(&d->cur) <= 4 * n + 2 || cur_peek(&d->cur, 4 * n + 2) & 1;
		n++;
	} while (!last && n < MPLS_MAX_LABELS);
	if (!layer_take(d, LAYER_MPLS, 4 * n, &h))
		return;
	/* RFC 4928: the header lacks the payload's type; a first nibble of 4 or 6 means IP. */
	switch (cur_peek(&d->cur, 0) >> 4) {
	case 4: d->next = dissect_ipv4; break;
	case 6: d->next = dissect_ipv6; break;
	default: break;
	}
}

static void dissect_arp(struct dissect *d)
{
	uint32_t hlen = cur_peek(&d->cur, 4), plen = cur_peek(&d->cur, 5);
	struct cursor h;

	layer_take(d, LAYER_ARP, 8 + 2 * (hlen + plen), &h);
	layer_trim(d, 0);	/* the rest is padding */
}

/* ---- -vv ---- */

void packet_print_ethernet(struct printer *pr, struct buf *out)
{
	const uint8_t *dst = cur_bytes(&pr->c, 6), *src = cur_bytes(&pr->c, 6);
	uint16_t type = cur_u16be(&pr->c);

	if (!cur_ok(&pr->c))
		return;
	packet_names_text_mac(out, src);
	buf_add_str(out, " -> ");
	packet_names_text_mac(out, dst);
	packet_print_ethertype(out, type);
}

void packet_print_ethertype(struct buf *out, uint16_t type)
{
	const char *name = packet_names_ethertype_name(type);

	if (type < LENGTH_NOT_TYPE)
		buf_printf(out, ", 802.3 length %u", type);
	else if (name)
		buf_printf(out, ", %s", name);
	else
		buf_printf(out, ", ethertype 0x%04x", type);
}

void packet_print_vlan(struct printer *pr, struct buf *out)
{
	uint16_t tci = cur_u16be(&pr->c), type = cur_u16be(&pr->c);

	buf_printf(out, "id %u, prio %u%s", tci & 0xfff, tci >> 13, tci & 0x1000 ? ", drop eligible" : "");
	packet_print_ethertype(out, type);
}

/* if_packet.h PACKET_HOST.. */
static const char *packet_type(uint16_t type)
{
	static const char *const names[] = { "to us", "broadcast", "multicast", "to another host", "from us" };

	return type < ARRAY_SIZE(names) ? names[type] : "unknown direction";
}

static void print_sll_fields(struct buf *out, uint16_t ptype, uint16_t arphrd, const uint8_t *addr, uint16_t len)
{
	buf_printf(out, "%s, arphrd %u", packet_type(ptype), arphrd);
	if (len == 6) {
		buf_add_str(out, ", source ");
		packet_names_text_mac(out, addr);
	}
}

void packet_print_sll(struct printer *pr, struct buf *out)
{
	uint16_t ptype = cur_u16be(&pr->c), arphrd = cur_u16be(&pr->c), len = cur_u16be(&pr->c);
	const uint8_t *addr = cur_bytes(&pr->c, 8);
	uint16_t type = cur_u16be(&pr->c);

	if (!cur_ok(&pr->c))
		return;
	print_sll_fields(out, ptype, arphrd, addr, len);
	packet_print_ethertype(out, type);
}

void packet_print_sll2(struct printer *pr, struct buf *out)
{
	uint16_t type = cur_u16be(&pr->c), reserved _unused_ = cur_u16be(&pr->c), arphrd, ptype, len;
	uint32_t ifindex = cur_u32be(&pr->c);
	const uint8_t *addr;

	arphrd = cur_u16be(&pr->c);
	ptype = cur_u8(&pr->c);
	len = cur_u8(&pr->c);
	addr = cur_bytes(&pr->c, 8);
	if (!cur_ok(&pr->c))
		return;
	print_sll_fields(out, ptype, arphrd, addr, len);
	buf_printf(out, ", interface %u", ifindex);
	packet_print_ethertype(out, type);
}

void packet_print_mpls(struct printer *pr, struct buf *out)
{
	const char *sep = "";

	while (cur_left(&pr->c)) {
		uint32_t v = cur_u32be(&pr->c);

		buf_printf(out, "%slabel %u, tc %u, ttl %u%s", sep, v >> 12, v >> 9 & 7, v & 0xff,
			   v & 0x100 ? ", bottom" : "");
		sep = "; ";
	}
}

void packet_print_arp(struct printer *pr, struct buf *out)
{
	uint16_t hw = cur_u16be(&pr->c), proto = cur_u16be(&pr->c);
	uint8_t hlen = cur_u8(&pr->c), plen = cur_u8(&pr->c);
	uint16_t op = cur_u16be(&pr->c);
	const uint8_t *sha = cur_bytes(&pr->c, hlen), *spa = cur_bytes(&pr->c, plen);
	const uint8_t *tha = cur_bytes(&pr->c, hlen), *tpa = cur_bytes(&pr->c, plen);

	if (!cur_ok(&pr->c))
		return;
	if (hlen != 6 || plen != 4 || proto != ETHERTYPE_IPV4) {
		buf_printf(out, "operation %u, hardware %u, protocol 0x%04x", op, hw, proto);
		return;
	}
	if (op == 1) {
		buf_add_str(out, "who has ");
		packet_names_text_ip(out, SONDE_IPV4, tpa);
		buf_add_str(out, "? tell ");
		packet_names_text_ip(out, SONDE_IPV4, spa);
		buf_add_str(out, " at ");
		packet_names_text_mac(out, sha);
		return;
	}
	buf_printf(out, op == 2 ? "reply " : "operation %u: ", op);
	packet_names_text_ip(out, SONDE_IPV4, spa);
	buf_add_str(out, " is at ");
	packet_names_text_mac(out, sha);
	buf_add_str(out, ", to ");
	packet_names_text_ip(out, SONDE_IPV4, tpa);
	buf_add_str(out, " at ");
	packet_names_text_mac(out, tha);
}

dissect_fn dissect_by_ethertype(uint16_t ethertype)
{
	static const struct {
		uint16_t type;
		dissect_fn fn;
	} rows[] = {
		{ ETHERTYPE_IPV4, dissect_ipv4 },    { ETHERTYPE_IPV6, dissect_ipv6 },
		{ ETHERTYPE_ARP, dissect_arp },	     { ETHERTYPE_VLAN, dissect_vlan },
		{ ETHERTYPE_QINQ, dissect_vlan },    { ETHERTYPE_QINQ_OLD, dissect_vlan },
		{ ETHERTYPE_MPLS, dissect_mpls },    { ETHERTYPE_MPLS_MULTI, dissect_mpls },
		{ ETHERTYPE_TEB, dissect_ethernet },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].type == ethertype)
			return rows[i].fn;
	}
	return NULL;
}
