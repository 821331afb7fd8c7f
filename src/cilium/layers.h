/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Layers of a packet as gopacket, the dissector of Cilium's client, finds and prints them, including its limits and
 * error messages. For the cilium format only; src/packet is sonde's own dissector.
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

#define LAYER_STOP LAYER__MAX	/* dissection ends here */

struct layer {
	enum layer_kind kind;
	const uint8_t *head, *payload;	/* in the packet */
	size_t head_len, payload_len;
	size_t all_len; /* bytes after the header, before a length field truncates them */
};

#define LAYERS_MAX 24

struct layers {
	struct layer at[LAYERS_MAX];
	size_t n;
	size_t tunnel;		/* index of the tunnel header (VXLAN, Geneve); 0 = none */
	bool truncated[2];	/* a length field exceeds the data: before the tunnel header; from it on */
	char error[96];		/* why dissection stopped early; "" = it did not */
};

/* Finds at most LAYERS_MAX layers and ignores deeper ones. */
void layers_parse(struct layers *l, const struct cilium_packet *p);

/* One layer without a newline: "TCP\t{Contents=... }". */
void layers_text_put(struct buf *out, const struct layer *l);
/* One line per layer, then the error. */
void layers_put(struct buf *out, const struct layers *l);
/* "10.0.0.1:80 -> 10.0.0.2:81 tcp SYN", "[error]" or "[unknown]". */
void layers_summary(struct buf *out, const struct layers *l);

const char *layers_text_key(enum layer_kind kind); /* JSON key: "ethernet", "icmpv4" */
/* Addresses or ports of a layer; false if its kind has none. */
bool layers_text_ends(const struct layer *l, struct buf *src, struct buf *dst);
/* OSI level of the endpoints: 2, 3 or 4; 0 = none. */
unsigned layers_text_level(enum layer_kind kind);

#endif
