// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/net/packet/net_point.h"

#include <linux/if_arp.h>
#include <string.h>

#include "base/macros.h"
#include "probes/net/net_wire.h"
#include "sonde/wire.h"

#define ENDPOINT NET_POINT_FROM_ENDPOINT, NET_POINT_TO_ENDPOINT
#define HOST NET_POINT_FROM_HOST, NET_POINT_TO_HOST
#define STACK NET_POINT_FROM_STACK, NET_POINT_TO_STACK
#define OVERLAY NET_POINT_FROM_OVERLAY, NET_POINT_TO_OVERLAY
#define NETWORK NET_POINT_FROM_NETWORK, NET_POINT_TO_NETWORK

/* The name of a point is the peer of the interface. */
const struct net_point_row net_points_table[] = {
	/* the stack talks to itself */
	{ NULL, ARPHRD_LOOPBACK, STACK },
	{ "vrf", NET_ANY_TYPE, STACK },
	/* a container, a virtual machine, a program behind a descriptor */
	{ "veth", NET_ANY_TYPE, ENDPOINT },
	{ "netkit", NET_ANY_TYPE, ENDPOINT },
	{ "tun", NET_ANY_TYPE, ENDPOINT }, /* tap devices too */
	{ "macvtap", NET_ANY_TYPE, ENDPOINT },
	{ "ipvtap", NET_ANY_TYPE, ENDPOINT },
	/* tunnels: the inner packet */
	{ "vxlan", NET_ANY_TYPE, OVERLAY },
	{ "geneve", NET_ANY_TYPE, OVERLAY },
	{ "gre", NET_ANY_TYPE, OVERLAY },
	{ "gretap", NET_ANY_TYPE, OVERLAY },
	{ "ip6gre", NET_ANY_TYPE, OVERLAY },
	{ "ip6gretap", NET_ANY_TYPE, OVERLAY },
	{ "erspan", NET_ANY_TYPE, OVERLAY },
	{ "ip6erspan", NET_ANY_TYPE, OVERLAY },
	{ "ipip", NET_ANY_TYPE, OVERLAY },
	{ "sit", NET_ANY_TYPE, OVERLAY },
	{ "ip6tnl", NET_ANY_TYPE, OVERLAY },
	{ "vti", NET_ANY_TYPE, OVERLAY },
	{ "vti6", NET_ANY_TYPE, OVERLAY },
	{ "xfrm", NET_ANY_TYPE, OVERLAY },
	{ "bareudp", NET_ANY_TYPE, OVERLAY },
	{ "gtp", NET_ANY_TYPE, OVERLAY },
	{ "wireguard", NET_ANY_TYPE, OVERLAY },
	{ "ovpn", NET_ANY_TYPE, OVERLAY },
	{ "amt", NET_ANY_TYPE, OVERLAY },
	/* physical devices and representatives of a network segment: bridge, bond, team, vlan, macvlan, dummy, ... */
	{ NULL, NET_ANY_TYPE, NETWORK },
};

const struct net_point_row *net_point_find(const struct net_link *l)
{
	const struct net_point_row *row = net_points_table;

	/* the last row matches everything */
	while ((row->kind && strcmp(row->kind, l->kind)) || (row->type != NET_ANY_TYPE && row->type != l->type))
		row++;
	return row;
}

uint32_t net_point_link_start(const struct net_link *l)
{
	static const uint16_t raw[] = {
		ARPHRD_NONE, ARPHRD_RAWIP, ARPHRD_PPP, ARPHRD_TUNNEL, ARPHRD_TUNNEL6, ARPHRD_SIT, ARPHRD_IPGRE,
		ARPHRD_IP6GRE,
	};

	if (l->type == ARPHRD_ETHER || l->type == ARPHRD_LOOPBACK)
		return SONDE_LINK_ETHERNET;
	for (size_t i = 0; i < ARRAY_SIZE(raw); i++)
		if (l->type == raw[i])
			return SONDE_LINK_RAW;
	return 0;
}
