// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Length of a packet's headers. Some layers include what they carry (the packet quoted by an ICMP error, SCTP chunks,
 * the VRRP password): only their fixed part counts.
 */
#include "packet/packet.h"

/* Maximum header bytes of a layer; 0 = payload, which ends the headers. */
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
	each_item(l, p.layers, p.n_layers) {
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
