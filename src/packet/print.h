/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Layer listing, one function per layer in the file of its family. Private to src/packet.
 *
 * A printer reads its header from pr->c and writes the fields without the layer's name and without a newline. A read
 * beyond the captured bytes fails the cursor; the caller then discards the output. Text of the packet goes through
 * str_escape_buf().
 */
#ifndef PACKET_PRINT_H
#define PACKET_PRINT_H

#include "base/cursor.h"
#include "packet/packet.h"

struct printer {
	const struct packet *p;
	const struct packet_layer *l;
	struct cursor c;	/* the header's captured bytes */
	uint8_t proto;		/* protocol number in the preceding IP or extension header */
};

void packet_summary_pair(struct buf *out, const struct packet_flow *f); /* "10.0.0.1:80 -> 10.0.0.2:4711" */
void packet_print_ethertype(struct buf *out, uint16_t type);		/* ", IPv4" */
void packet_print_embedded(struct buf *out, struct cursor c);		/* ", original [10.0.0.1:1 -> ... udp]" */

void packet_print_ethernet(struct printer *pr, struct buf *out);
void packet_print_vlan(struct printer *pr, struct buf *out);
void packet_print_sll(struct printer *pr, struct buf *out);
void packet_print_sll2(struct printer *pr, struct buf *out);
void packet_print_mpls(struct printer *pr, struct buf *out);
void packet_print_arp(struct printer *pr, struct buf *out);
void packet_print_ipv4(struct printer *pr, struct buf *out);
void packet_print_ipv6(struct printer *pr, struct buf *out);
void packet_print_ipv6_ext(struct printer *pr, struct buf *out);
void packet_print_fragment(struct printer *pr, struct buf *out);
void packet_print_esp(struct printer *pr, struct buf *out);
void packet_print_ah(struct printer *pr, struct buf *out);
void packet_print_tcp(struct printer *pr, struct buf *out);
void packet_print_udp(struct printer *pr, struct buf *out);
void packet_print_sctp(struct printer *pr, struct buf *out);
void packet_print_icmp(struct printer *pr, struct buf *out);
void packet_print_icmpv6(struct printer *pr, struct buf *out);
void packet_print_igmp(struct printer *pr, struct buf *out);
void packet_print_vrrp(struct printer *pr, struct buf *out);
void packet_print_gre(struct printer *pr, struct buf *out);
void packet_print_vxlan(struct printer *pr, struct buf *out);
void packet_print_geneve(struct printer *pr, struct buf *out);
void packet_print_dns(struct printer *pr, struct buf *out);

#endif
