// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Dissection loop and its entry by link type. Link types: LINKTYPE_ values listed at tcpdump.org.
 */
#include "packet/dissect.h"

#include "sonde/wire.h"

static const char *const layer_names[] = {
	[LAYER_ETHERNET] = "Ethernet", [LAYER_SLL] = "SLL", [LAYER_SLL2] = "SLL2", [LAYER_VLAN] = "VLAN",
	[LAYER_MPLS] = "MPLS", [LAYER_ARP] = "ARP", [LAYER_IPV4] = "IPv4", [LAYER_IPV6] = "IPv6",
	[LAYER_IPV6_EXT] = "IPv6-ext", [LAYER_FRAGMENT] = "Fragment", [LAYER_TCP] = "TCP", [LAYER_UDP] = "UDP",
	[LAYER_ICMP] = "ICMP", [LAYER_ICMPV6] = "ICMPv6", [LAYER_IGMP] = "IGMP", [LAYER_SCTP] = "SCTP",
	[LAYER_VRRP] = "VRRP", [LAYER_ESP] = "ESP", [LAYER_AH] = "AH", [LAYER_GRE] = "GRE",
	[LAYER_VXLAN] = "VXLAN", [LAYER_GENEVE] = "Geneve", [LAYER_DNS] = "DNS", [LAYER_PAYLOAD] = "Payload",
};
_Static_assert(ARRAY_SIZE(layer_names) == LAYER__MAX, "every layer has a name");

const char *packet_layer_name(enum packet_layer_kind kind)
{
	return layer_names[kind];
}

void dissect_tunnel(struct dissect *d, enum packet_layer_kind kind, uint32_t vni, dissect_fn inner)
{
	if (d->depth == 0) {
		d->p->tunnel = (uint8_t)kind;
		d->p->vni = vni;
	}
	d->depth++;
	d->flow = &d->p->inner;
	d->next = inner;
}

static dissect_fn by_link(uint32_t link)
{
	static const struct { uint32_t link; dissect_fn fn; } rows[] = {
		{ SONDE_LINK_ETHERNET, dissect_ethernet },
		{ SONDE_LINK_RAW, dissect_raw },
		{ SONDE_LINK_SLL, dissect_sll },
		{ SONDE_LINK_SLL2, dissect_sll2 },
		{ 12, dissect_raw },	/* DLT_RAW of BSD, found in some files */
		{ 228, dissect_raw },	/* LINKTYPE_IPV4 */
		{ 229, dissect_raw },	/* LINKTYPE_IPV6 */
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].link == link)
			return rows[i].fn;
	}
	return NULL;
}

/* Records the payload after the last header if the wire had any, captured or not. */
static void add_payload(struct dissect *d)
{
	struct cursor unused;
	uint32_t wire = d->wire_left;

	if (d->p->cut || (!wire && !cur_left(&d->cur)))
		return;
	layer_take(d, LAYER_PAYLOAD, (uint32_t)cur_left(&d->cur), &unused);
	layer_last(d)->cut = layer_last(d)->len < wire;
}

void packet_dissect(uint32_t link, const void *data, uint32_t cap_len, uint32_t orig_len, struct packet *ret)
{
	struct dissect d = { .p = ret, .cur = cur_init(data, cap_len), .wire_left = MAX(orig_len, cap_len),
			     .flow = &ret->outer, .next = by_link(link) };

	*ret = (struct packet){ .data = data, .cap_len = cap_len, .orig_len = MAX(orig_len, cap_len) };
	while (d.next && ret->n_layers < PACKET_MAX_LAYERS - 1) {
		dissect_fn fn = d.next;

		d.next = NULL;
		fn(&d);
	}
	add_payload(&d);
}
