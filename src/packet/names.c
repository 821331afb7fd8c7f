// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of numbers; addresses as text (IPv6 by RFC 5952).
 */
#include "packet/names.h"

#include <arpa/inet.h>

#include "base/buf.h"
#include "base/macros.h"

const char *packet_names_ethertype_name(uint16_t type)
{
	static const struct { uint16_t type; const char *name; } rows[] = {
		{ 0x0800, "IPv4" }, { 0x86dd, "IPv6" }, { 0x0806, "ARP" }, { 0x8100, "Dot1Q" },
		{ 0x88a8, "Dot1Q" }, { 0x2000, "CiscoDiscovery" }, { 0x01a2, "NortelDiscovery" },
		{ 0x6558, "TransparentEthernetBridging" }, { 0x880b, "PPP" }, { 0x8863, "PPPoEDiscovery" },
		{ 0x8864, "PPPoESession" }, { 0x8847, "MPLSUnicast" }, { 0x8848, "MPLSMulticast" },
		{ 0x888e, "EAPOL" }, { 0x88be, "ERSPAN Type II" }, { 0x88cc, "LinkLayerDiscovery" },
		{ 0x9000, "EthernetCTP" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].type == type)
			return rows[i].name;
	}
	return NULL;
}

const char *packet_names_proto_name(uint8_t proto)
{
	static const char *const names[256] = {
		[PROTO_HOPOPTS] = "hop-by-hop", [PROTO_ICMP] = "ICMP", [PROTO_IGMP] = "IGMP", [PROTO_IPIP] = "IPv4",
		[PROTO_TCP] = "TCP", [PROTO_UDP] = "UDP", [33] = "DCCP", [PROTO_IPV6] = "IPv6",
		[PROTO_ROUTING] = "routing", [PROTO_FRAGMENT] = "fragment", [46] = "RSVP", [PROTO_GRE] = "GRE",
		[PROTO_ESP] = "ESP", [PROTO_AH] = "AH", [PROTO_ICMPV6] = "ICMPv6", [PROTO_NONE] = "none",
		[PROTO_DSTOPTS] = "destination", [88] = "EIGRP", [89] = "OSPF", [94] = "IPIP", [97] = "EtherIP",
		[103] = "PIM", [108] = "IPComp", [PROTO_VRRP] = "VRRP", [115] = "L2TP", [PROTO_SCTP] = "SCTP",
		[135] = "mobility", [136] = "UDPLite", [PROTO_MPLS] = "MPLS", [143] = "Ethernet",
	};

	return names[proto];
}

struct icmp_name {
	uint8_t type;
	const char *name;
	const char *const *codes;	/* NULL: type without codes */
	uint8_t n_codes;
};

static const char *const icmp_unreach[] = {
	"Net", "Host", "Protocol", "Port", "FragmentationNeeded", "SourceRoutingFailed", "NetUnknown", "HostUnknown",
	"SourceIsolated", "NetAdminProhibited", "HostAdminProhibited", "NetTOS", "HostTOS", "CommAdminProhibited",
	"HostPrecedence", "PrecedenceCutoff",
};
static const char *const icmp_exceeded[] = { "TTLExceeded", "FragmentReassemblyTimeExceeded" };
static const char *const icmp_problem[] = { "PointerIndicatesError", "MissingOption", "BadLength" };
static const char *const icmp_redirect[] = { "Net", "Host", "TOS+Net", "TOS+Host" };

/* RFC 792 and IANA's ICMP parameters. */
static const struct icmp_name icmp_names[] = {
	{ 0, "EchoReply" },
	{ 3, "DestinationUnreachable", icmp_unreach, ARRAY_SIZE(icmp_unreach) },
	{ 4, "SourceQuench" },
	{ 5, "Redirect", icmp_redirect, ARRAY_SIZE(icmp_redirect) },
	{ 8, "EchoRequest" },
	{ 9, "RouterAdvertisement" },
	{ 10, "RouterSolicitation" },
	{ 11, "TimeExceeded", icmp_exceeded, ARRAY_SIZE(icmp_exceeded) },
	{ 12, "ParameterProblem", icmp_problem, ARRAY_SIZE(icmp_problem) },
	{ 13, "TimestampRequest" },
	{ 14, "TimestampReply" },
	{ 15, "InfoRequest" },
	{ 16, "InfoReply" },
	{ 17, "AddressMaskRequest" },
	{ 18, "AddressMaskReply" },
};

static const char *const icmpv6_unreach[] = {
	"NoRouteToDst", "AdminProhibited", "BeyondScopeOfSrc", "AddressUnreachable", "PortUnreachable",
	"SrcAddressFailedPolicy", "RejectRouteToDst",
};
static const char *const icmpv6_exceeded[] = { "HopLimitExceeded", "FragmentReassemblyTimeExceeded" };
static const char *const icmpv6_problem[] = {
	"ErroneousHeaderField", "UnrecognizedNextHeader", "UnrecognizedIPv6Option",
};

/* RFC 4443, RFC 4861. gopacket has no names for multicast listener messages; they print as numbers. */
static const struct icmp_name icmpv6_names[] = {
	{ 1, "DestinationUnreachable", icmpv6_unreach, ARRAY_SIZE(icmpv6_unreach) },
	{ 2, "PacketTooBig" },
	{ 3, "TimeExceeded", icmpv6_exceeded, ARRAY_SIZE(icmpv6_exceeded) },
	{ 4, "ParameterProblem", icmpv6_problem, ARRAY_SIZE(icmpv6_problem) },
	{ 128, "EchoRequest" },
	{ 129, "EchoReply" },
	{ 133, "RouterSolicitation" },
	{ 134, "RouterAdvertisement" },
	{ 135, "NeighborSolicitation" },
	{ 136, "NeighborAdvertisement" },
	{ 137, "Redirect" },
};

static const struct icmp_name *icmp_find(int family, uint8_t type)
{
	const struct icmp_name *names = family == SONDE_IPV6 ? icmpv6_names : icmp_names;
	size_t n = family == SONDE_IPV6 ? ARRAY_SIZE(icmpv6_names) : ARRAY_SIZE(icmp_names);

	for (size_t i = 0; i < n; i++) {
		if (names[i].type == type)
			return &names[i];
	}
	return NULL;
}

void packet_names_text_icmp_type(struct buf *out, int family, uint8_t type, uint8_t code)
{
	const struct icmp_name *row = icmp_find(family, type);

	if (!row)
		buf_printf(out, "%u(%u)", type, code);
	else if (row->codes && code < row->n_codes)
		buf_printf(out, "%s(%s)", row->name, row->codes[code]);
	else if (row->codes || code)
		buf_printf(out, "%s(Code: %u)", row->name, code);
	else
		buf_add_str(out, row->name);
}

const char *packet_names_igmp_name(uint8_t type)
{
	switch (type) {
	case 0x11: return "IGMP Membership Query";
	case 0x12: return "IGMPv1 Membership Report";
	case 0x16: return "IGMPv2 Membership Report";
	case 0x17: return "Leave Group";
	case 0x22: return "IGMPv3 Membership Report";
	default: return NULL;
	}
}

void packet_names_text_mac(struct buf *out, const uint8_t *mac)
{
	static const char hex[] = "0123456789abcdef";
	char *p = buf_reserve(out, 18);

	if (!p)
		return;
	for (int i = 0; i < 6; i++) {
		*p++ = hex[mac[i] >> 4];
		*p++ = hex[mac[i] & 15];
		*p++ = ':';
	}
	buf_commit(out, 17);
}

void packet_names_text_ip(struct buf *out, int family, const uint8_t *addr)
{
	char text[INET6_ADDRSTRLEN];

	if (family == SONDE_IPV6) {
		buf_add_str(out, inet_ntop(AF_INET6, addr, text, sizeof(text)));
		return;
	}
	for (int i = 0; i < 4; i++) {
		if (i)
			buf_add_char(out, '.');
		buf_add_u64(out, addr[i]);
	}
}

void packet_names_text_ip_port(struct buf *out, int family, const uint8_t *addr, uint16_t port)
{
	if (family == SONDE_IPV6)
		buf_add_char(out, '[');
	packet_names_text_ip(out, family, addr);
	buf_add_str(out, family == SONDE_IPV6 ? "]:" : ":");
	buf_add_u64(out, port);
}
