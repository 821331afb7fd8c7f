/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The layers of a packet as Cilium's client sees them, in the notation of its dissector (Go's gopacket): which layers
 * are entered, where it gives up and with which words. For that output only; our own view is src/packet.
 */
#ifndef CILIUM_LAYERS_H
#define CILIUM_LAYERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct cilium_packet;

enum layer_kind {
	LAYER_ETHERNET, LAYER_IPV4, LAYER_IPV6, LAYER_TCP, LAYER_UDP, LAYER_SCTP, LAYER_ICMPV4, LAYER_ICMPV6,
	LAYER_VRRP, LAYER_IGMP, LAYER_VXLAN, LAYER_GENEVE,
	LAYER__MAX
};

#define LAYER_STOP LAYER__MAX	/* nothing that is entered */

struct layer {
	enum layer_kind kind;
	const uint8_t *head, *payload;	/* in the packet */
	size_t head_len, payload_len;
	size_t all_len; /* bytes behind the header before a length field cut them */
};

#define LAYERS_MAX 24

struct layers {
	struct layer at[LAYERS_MAX];
	size_t n;
	size_t tunnel;		/* index of the tunnel's header (VXLAN, Geneve); 0 = there is none */
	bool truncated[2];	/* a length says more than there is: before the tunnel's header; from it on */
	char error[96];		/* why dissection ended early, "" = it did not */
};

/* Up to LAYERS_MAX layers; deeper ones end it without an error. */
void layers_parse(struct layers *l, const struct cilium_packet *p);

/* "TCP\t{Contents=... }": one layer without a newline. */
void layers_text_put(struct buf *out, const struct layer *l);
/* Every layer on a line of its own, then what went wrong. */
void layers_put(struct buf *out, const struct layers *l);
/* "10.0.0.1:80 -> 10.0.0.2:81 tcp SYN", "[error]" or "[unknown]". */
void layers_summary(struct buf *out, const struct layers *l);

const char *layers_text_key(enum layer_kind kind); /* in JSON: "ethernet", "icmpv4" */
/* Addresses or ports of a layer; false when the kind has none. */
bool layers_text_ends(const struct layer *l, struct buf *src, struct buf *dst);
/* 2, 3 or 4: of which level its ends are; 0 = none. */
unsigned layers_text_level(enum layer_kind kind);

#endif
