// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tunnels with a header: GRE (RFC 2784, 2890), VXLAN (RFC 7348), Geneve (RFC 8926). The port alone does not prove a
 * tunnel: bytes that are not a valid tunnel header stay payload.
 */
#include "packet/dissect.h"
#include "packet/names.h"
#include "packet/print.h"

#include "base/buf.h"

#define GRE_CHECKSUM 0x8000
#define GRE_ROUTING 0x4000
#define GRE_KEY 0x2000
#define GRE_SEQ 0x1000
#define GRE_VERSION 0x0007

#define VXLAN_HAS_VNI 0x08

void dissect_gre(struct dissect *d)
{
	uint16_t flags = (uint16_t)(cur_peek(&d->cur, 0) << 8 | cur_peek(&d->cur, 1)), type;
	bool plain = !(flags & (GRE_ROUTING | GRE_VERSION));
	uint32_t len = 4, key = 0;
	dissect_fn inner;
	struct cursor h;

	if (plain)
		len += (flags & GRE_CHECKSUM ? 4u : 0) + (flags & GRE_KEY ? 4u : 0) + (flags & GRE_SEQ ? 4u : 0);
	if (!layer_take(d, LAYER_GRE, len, &h) || !plain)
		return;
	d->flow->payload_len = d->wire_left;
	cur_skip(&h, 2);
	type = cur_u16be(&h);
	if (flags & GRE_CHECKSUM)
		cur_skip(&h, 4);
	if (flags & GRE_KEY)
		key = cur_u32be(&h);
	inner = dissect_by_ethertype(type);
	if (inner)
		dissect_tunnel(d, LAYER_GRE, key, inner);
}

void dissect_vxlan(struct dissect *d)
{
	struct cursor h;

	if (!(cur_peek(&d->cur, 0) & VXLAN_HAS_VNI))
		return;
	if (!layer_take(d, LAYER_VXLAN, 8, &h))
		return;
	cur_skip(&h, 4);
	dissect_tunnel(d, LAYER_VXLAN, cur_u32be(&h) >> 8, dissect_ethernet);
}

void dissect_geneve(struct dissect *d)
{
	uint8_t first = cur_peek(&d->cur, 0);
	dissect_fn inner;
	struct cursor h;
	uint16_t type;

	if (!cur_left(&d->cur) || first >> 6)
		return;
	if (!layer_take(d, LAYER_GENEVE, 8 + (first & 63) * 4u, &h))
		return;
	cur_skip(&h, 2);
	type = cur_u16be(&h);
	inner = dissect_by_ethertype(type);
	if (inner)
		dissect_tunnel(d, LAYER_GENEVE, cur_u32be(&h) >> 8, inner);
}

/* ---- -vv ---- */

void packet_print_gre(struct printer *pr, struct buf *out)
{
	uint16_t flags = cur_u16be(&pr->c), type = cur_u16be(&pr->c);

	buf_printf(out, "version %u", flags & GRE_VERSION);
	packet_print_ethertype(out, type);
	if (flags & (GRE_ROUTING | GRE_VERSION))
		return;
	if (flags & GRE_CHECKSUM)
		buf_printf(out, ", checksum 0x%04x", cur_u32be(&pr->c) >> 16);
	if (flags & GRE_KEY)
		buf_printf(out, ", key 0x%08x", cur_u32be(&pr->c));
	if (flags & GRE_SEQ)
		buf_printf(out, ", seq %u", cur_u32be(&pr->c));
}

void packet_print_vxlan(struct printer *pr, struct buf *out)
{
	uint32_t first = cur_u32be(&pr->c), second = cur_u32be(&pr->c);

	buf_printf(out, "vni %u, flags 0x%02x", second >> 8, first >> 24);
	if (first & 0xffff)
		buf_printf(out, ", group policy %u", first & 0xffff);
}

void packet_print_geneve(struct printer *pr, struct buf *out)
{
	uint8_t first = cur_u8(&pr->c), flags = cur_u8(&pr->c);
	uint16_t type = cur_u16be(&pr->c);
	uint32_t vni = cur_u32be(&pr->c) >> 8;

	buf_printf(out, "vni %u%s%s", vni, flags & 0x80 ? ", control" : "", flags & 0x40 ? ", critical" : "");
	packet_print_ethertype(out, type);
	if (first & 63)
		buf_printf(out, ", %u bytes of options", (first & 63) * 4);
	while (cur_left(&pr->c) >= 4) {
		uint16_t class = cur_u16be(&pr->c);
		uint8_t kind = cur_u8(&pr->c), len = cur_u8(&pr->c) & 31;

		buf_printf(out, ", 0x%04x/0x%02x:", class, kind);
		for (len = (uint8_t)MIN(len * 4u, cur_left(&pr->c)); len; len--)
			buf_printf(out, "%02x", cur_u8(&pr->c));
	}
}
