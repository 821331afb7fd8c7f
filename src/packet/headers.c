// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How much of a packet is headers. A layer of the dissection may go on into what it carries (the packet that an ICMP
 * error quotes, SCTP's chunks, VRRP's password): of those the fixed part is taken.
 */
#include "packet/packet.h"

/* Bytes of a layer that are header; layers that are none end the headers. */
static const uint16_t header_most[LAYER__MAX] = {
	[LAYER_ETHERNET] = 14, [LAYER_SLL] = 16, [LAYER_SLL2] = 20, [LAYER_VLAN] = 8, [LAYER_MPLS] = 64,
	[LAYER_ARP] = 28, [LAYER_IPV4] = 60, [LAYER_IPV6] = 40, [LAYER_IPV6_EXT] = 2048, [LAYER_FRAGMENT] = 8,
	[LAYER_TCP] = 60, [LAYER_UDP] = 8, [LAYER_ICMP] = 8, [LAYER_ICMPV6] = 8, [LAYER_IGMP] = 8,
	[LAYER_SCTP] = 12, [LAYER_VRRP] = 8, [LAYER_ESP] = 8, [LAYER_AH] = 12, [LAYER_GRE] = 16,
	[LAYER_VXLAN] = 8, [LAYER_GENEVE] = 260,
};

uint32_t packet_headers_len(uint32_t link, const void *data, uint32_t cap_len, uint32_t orig_len)
{
	uint32_t end = 0;
	struct packet p;

	packet_dissect(link, data, cap_len, orig_len, &p);
	for (unsigned i = 0; i < p.n_layers; i++) {
		const struct packet_layer *l = &p.layers[i];
		uint32_t most = l->kind < LAYER__MAX ? header_most[l->kind] : 0;

		if (!most || l->off > cap_len)
			break;
		most = MIN(most, cap_len - l->off);
		end = l->off + MIN(l->len, most);
		if (l->len > most)
			break;
	}
	return end;
}
