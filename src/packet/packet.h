/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packet dissection: from bytes to layers, a summary line or a layer listing. Input is untrusted and possibly
 * truncated; independent of kernel, events and files.
 */
#ifndef PACKET_PACKET_H
#define PACKET_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "sonde/owner_wire.h"

struct buf;

enum packet_layer_kind {
	LAYER_ETHERNET, LAYER_SLL, LAYER_SLL2, LAYER_VLAN, LAYER_MPLS, LAYER_ARP,
	LAYER_IPV4, LAYER_IPV6, LAYER_IPV6_EXT, LAYER_FRAGMENT,
	LAYER_TCP, LAYER_UDP, LAYER_ICMP, LAYER_ICMPV6, LAYER_IGMP, LAYER_SCTP, LAYER_VRRP, LAYER_ESP,
	LAYER_AH, LAYER_GRE,
	LAYER_VXLAN, LAYER_GENEVE, LAYER_DNS, LAYER_PAYLOAD,
	LAYER__MAX,
};

struct packet_layer {
	uint8_t kind;		/* enum packet_layer_kind */
	uint8_t depth;		/* 0 = outermost packet, 1 = inside the first tunnel... */
	bool cut;		/* header incomplete in the captured bytes */
	uint32_t off, len;	/* of the header, within the captured bytes */
};

#define PACKET_MAX_LAYERS 24

/* Addresses and ports of one IP packet; host byte order except addresses. */
struct packet_flow {
	uint8_t family;		/* SONDE_IPV4, SONDE_IPV6, or 0 without IP */
	uint8_t proto;		/* IPPROTO_* of the transport, after extension headers; 0 = none */
	uint8_t tcp_flags;	/* as in the header */
	uint8_t ttl;		/* hop limit for IPv6 */
	uint8_t icmp_type, icmp_code;
	bool fragment;		/* MF set or offset > 0 */
	bool has_ports;
	uint16_t sport, dport;
	uint32_t tcp_seq, tcp_ack;
	uint16_t tcp_window;	/* as in the header: not scaled */
	uint32_t payload_len;	/* transport payload according to length fields */
	uint8_t saddr[16], daddr[16];	/* network order */
};

struct packet {
	const uint8_t *data;	/* borrowed */
	uint32_t cap_len, orig_len;
	uint8_t smac[6], dmac[6];
	bool has_mac;
	uint16_t ethertype;	/* innermost, after VLAN tags; 0 = none */
	uint16_t vlan[2];	/* TCI, outermost first */
	uint8_t n_vlan;
	uint8_t tunnel;		/* LAYER_VXLAN, LAYER_GENEVE, LAYER_GRE, LAYER_IPV4 (ipip)...; 0 = none */
	uint32_t vni;
	struct packet_flow outer;	/* outermost, or only, IP packet */
	struct packet_flow inner;	/* innermost packet; family 0 without a tunnel */
	struct packet_layer layers[PACKET_MAX_LAYERS];
	uint8_t n_layers;
	bool cut;		/* a layer is truncated */
};

/*
 * Dissects @cap_len bytes. @link: SONDE_LINK_*; RAW starts at the IP header (the version nibble decides). Never
 * fails: ret->cut reports truncation.
 */
void packet_dissect(uint32_t link, const void *data, uint32_t cap_len, uint32_t orig_len, struct packet *ret);

/* Bytes of headers with options, up to the first payload; at most @cap_len. */
uint32_t packet_headers_len(uint32_t link, const void *data, uint32_t cap_len, uint32_t orig_len);

/* The flow to report: the inner one of a tunnel, else the outer. */
static inline const struct packet_flow *packet_flow(const struct packet *p)
{
	return p->inner.family ? &p->inner : &p->outer;
}

/*
 * One line, cilium monitor's with PSH and the payload's length: "10.0.0.1:80 -> 10.0.0.2:4711 tcp PSH, ACK 120 B",
 * "a -> b icmp EchoRequest 56 B", tunnels as inner packet and " [tunnel ... vxlan]", "mac -> mac ARP" without IP.
 */
int packet_summary(const struct packet *p, struct buf *out);

/* One line per layer with its fields, for -vv. */
int packet_print(const struct packet *p, struct buf *out);

const char *packet_layer_name(enum packet_layer_kind kind);

#endif
