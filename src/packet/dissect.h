/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside src/packet only: how the files of the protocol families work together.
 *
 * Bounds: a layer takes its header off d->cur in one step (layer_take), which marks a short one, and reads it
 * through a cursor over just those bytes. Length fields may only shrink d->cur (layer_trim). So no
 * read can leave the captured bytes, and every step of the loop adds a layer, of which there are at most
 * PACKET_MAX_LAYERS: no input makes it run long.
 */
#ifndef PACKET_DISSECT_H
#define PACKET_DISSECT_H

#include "base/cursor.h"
#include "packet/packet.h"

#define PACKET_MAX_IPV6_EXT 8		/* RFC 8200 knows seven kinds, each at most once or twice */

struct dissect;
typedef void (*dissect_fn)(struct dissect *d);

struct dissect {
	struct packet *p;
	struct cursor cur;	/* captured bytes that no layer took yet, cut to what length fields allow */
	uint32_t wire_left;	/* bytes from cur.pos on as the wire had them */
	struct packet_flow *flow;	/* of the current depth */
	dissect_fn next;	/* NULL: the rest is payload */
	uint8_t depth;
	uint8_t n_ext;		/* IPv6 extension headers since the last IPv6 header */
};

static inline struct packet_layer *layer_last(struct dissect *d)
{
	return &d->p->layers[d->p->n_layers - 1];
}

/* The header ended early, or contradicts itself: nothing behind it can be believed. */
static inline void layer_bad(struct dissect *d)
{
	layer_last(d)->cut = true;
	d->p->cut = true;
	d->next = NULL;
}

/*
 * Adds a layer whose header has @len bytes. *ret reads what there is of it; false if that is less (then
 * the layer is marked and the dissection ends here).
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

/* The same for a layer that is all that is left, at least @min bytes: messages without payload. */
static inline bool layer_take_rest(struct dissect *d, enum packet_layer_kind kind, uint32_t min, struct cursor *ret)
{
	size_t have = cur_left(&d->cur);
	bool ok = layer_take(d, kind, (uint32_t)MAX(have, (size_t)min), ret);

	d->wire_left = 0;
	return ok;
}

/* A length field says that @len bytes follow: padding behind them is not seen. */
static inline void layer_trim(struct dissect *d, uint32_t len)
{
	if (cur_left(&d->cur) > len)
		d->cur.end = d->cur.pos + len;
	d->wire_left = len;
}

/* What follows is a packet inside a tunnel of kind @kind. */
void dissect_tunnel(struct dissect *d, enum packet_layer_kind kind, uint32_t vni, dissect_fn inner);

dissect_fn dissect_by_ethertype(uint16_t ethertype);	/* NULL: not known */

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
