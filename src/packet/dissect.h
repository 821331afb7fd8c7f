/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interface between the protocol families. Private to src/packet.
 *
 * Bounds: a layer takes its header off d->cur in one step (layer_take), which marks a short one as truncated, and
 * reads it through a cursor over these bytes alone. Length fields can only shrink d->cur (layer_trim). Reads
 * therefore stay within the captured bytes. Each iteration adds a layer, of which there are at most
 * PACKET_MAX_LAYERS, so run time is bounded for any input.
 */
#ifndef PACKET_DISSECT_H
#define PACKET_DISSECT_H

#include "base/cursor.h"
#include "packet/packet.h"

#define PACKET_MAX_IPV6_EXT 8		/* RFC 8200 has seven kinds, each at most once or twice */

struct dissect;
typedef void (*dissect_fn)(struct dissect *d);

struct dissect {
	struct packet *p;
	struct cursor cur;	/* captured bytes left for further layers, within length fields */
	uint32_t wire_left;	/* bytes from cur.pos on, on the wire */
	struct packet_flow *flow;	/* flow of the current depth */
	dissect_fn next;	/* NULL: the rest is payload */
	uint8_t depth;
	uint8_t n_ext;		/* extension headers since the last IPv6 header */
};

static inline struct packet_layer *layer_last(struct dissect *d)
{
	return &d->p->layers[d->p->n_layers - 1];
}

/* Header truncated or inconsistent: stops dissection. */
static inline void layer_bad(struct dissect *d)
{
	layer_last(d)->cut = true;
	d->p->cut = true;
	d->next = NULL;
}

/*
 * Adds a layer with a header of @len bytes; *ret reads its captured part. False if truncated: the layer is marked and
 * dissection ends.
 */
static inline bool layer_take(struct dissect *d, enum packet_layer_kind kind, uint32_t len, struct cursor *ret)
{
	struct packet_layer *l = &d->p->layers[d->p->n_layers++];
	uint32_t have = (uint32_t)MIN(cur_left(&d->cur), (size_t)len);

	*l = (struct packet_layer){ .kind = (uint8_t)kind, .depth = d->depth, .len = have,
				    .off = (uint32_t)(d->cur.pos - d->p->data) };
	*ret = cur_sub(&d->cur, have);
	d->wire_left -= MIN(d->wire_left, len);
	if (likely(have == len))
		return true;
	layer_bad(d);
	return false;
}

/* Adds a layer that covers all remaining bytes, at least @min: messages without payload. */
static inline bool layer_take_rest(struct dissect *d, enum packet_layer_kind kind, uint32_t min, struct cursor *ret)
{
	size_t have = cur_left(&d->cur);
	bool ok = layer_take(d, kind, (uint32_t)MAX(have, (size_t)min), ret);

	d->wire_left = 0;
	return ok;
}

/* Limits the remaining bytes to @len from a length field, which excludes trailing padding. */
static inline void layer_trim(struct dissect *d, uint32_t len)
{
	if (cur_left(&d->cur) > len)
		d->cur.end = d->cur.pos + len;
	d->wire_left = len;
}

/* Continues with the packet inside a tunnel of kind @kind. */
void dissect_tunnel(struct dissect *d, enum packet_layer_kind kind, uint32_t vni, dissect_fn inner);

dissect_fn dissect_by_ethertype(uint16_t ethertype);	/* NULL: unknown */

void dissect_ethernet(struct dissect *d);
void dissect_sll(struct dissect *d);
void dissect_sll2(struct dissect *d);
void dissect_raw(struct dissect *d);
void dissect_mpls(struct dissect *d);
void dissect_ipv4(struct dissect *d);
void dissect_ipv6(struct dissect *d);
void dissect_tcp(struct dissect *d);
void dissect_udp(struct dissect *d);
void dissect_sctp(struct dissect *d);
void dissect_icmp(struct dissect *d);
void dissect_icmpv6(struct dissect *d);
void dissect_igmp(struct dissect *d);
void dissect_vrrp(struct dissect *d);
void dissect_gre(struct dissect *d);
void dissect_vxlan(struct dissect *d);
void dissect_geneve(struct dissect *d);
void dissect_dns(struct dissect *d);

#endif
