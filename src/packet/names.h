/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers of the link and network layers and their names. Ethertypes and ICMP types have gopacket 1.1's names, which
 * Cilium's monitor prints.
 */
#ifndef PACKET_NAMES_H
#define PACKET_NAMES_H

#include <stdint.h>

#include "sonde/owner_wire.h"

struct buf;

#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_ARP 0x0806
#define ETHERTYPE_TEB 0x6558		/* Ethernet inside GRE or Geneve */
#define ETHERTYPE_VLAN 0x8100
#define ETHERTYPE_IPV6 0x86dd
#define ETHERTYPE_MPLS 0x8847
#define ETHERTYPE_MPLS_MULTI 0x8848
#define ETHERTYPE_QINQ 0x88a8		/* 802.1ad */
#define ETHERTYPE_QINQ_OLD 0x9100

#define PROTO_HOPOPTS 0
#define PROTO_ICMP 1
#define PROTO_IGMP 2
#define PROTO_IPIP 4
#define PROTO_TCP 6
#define PROTO_UDP 17
#define PROTO_IPV6 41
#define PROTO_ROUTING 43
#define PROTO_FRAGMENT 44
#define PROTO_GRE 47
#define PROTO_ESP 50
#define PROTO_AH 51
#define PROTO_ICMPV6 58
#define PROTO_NONE 59
#define PROTO_DSTOPTS 60
#define PROTO_VRRP 112
#define PROTO_SCTP 132
#define PROTO_MPLS 137

const char *packet_names_ethertype_name(uint16_t type); /* NULL = unknown */
const char *packet_names_proto_name(uint8_t proto);	/* NULL = unknown */
int services_port(const char *name);			/* "http" -> 80; -ENOENT */

/* "DestinationUnreachable(Port)", "EchoRequest", "143(0)". @family: 4 or 6. */
void packet_names_text_icmp_type(struct buf *out, int family, uint8_t type, uint8_t code);

/* "IGMPv2 Membership Report"; NULL = unknown */
const char *packet_names_igmp_name(uint8_t type);

void packet_names_text_mac(struct buf *out, const uint8_t *mac);
void packet_names_text_ip(struct buf *out, int family, const uint8_t *addr);
/* "10.0.0.1:80", "[fd00::1]:80" */
void packet_names_text_ip_port(struct buf *out, int family, const uint8_t *addr, uint16_t port);

#endif
