// SPDX-License-Identifier: GPL-2.0-or-later
#include "cilium/layers_names.h"

#include <stddef.h>

#include "base/buf.h"
#include "base/macros.h"

const char *layers_names_ether_type(uint16_t type)
{
	static const struct { uint16_t type; const char *name; } names[] = {
		{ 0x0800, "IPv4" }, { 0x0806, "ARP" }, { 0x86dd, "IPv6" }, { 0x2000, "CiscoDiscovery" },
		{ 0x6558, "TransparentEthernetBridging" }, { 0x712, "MDP" }, { 0x8100, "Dot1Q" }, { 0x880b, "PPP" },
		{ 0x8863, "PPPoEDiscovery" }, { 0x8864, "PPPoESession" }, { 0x8847, "MPLSUnicast" },
		{ 0x8848, "MPLSMulticast" }, { 0x888e, "EAPOL" }, { 0x88a8, "Dot1Q" }, { 0x88be, "ERSPAN Type II" },
		{ 0x88cc, "LinkLayerDiscovery" }, { 0x9000, "EthernetCTP" }, { 0xffff, "Raw" },
	};

	if (type < 0x600)
		return "LLC";
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i].type == type)
			return names[i].name;
	return "UnknownEthernetType";
}

const char *layers_names_protocol(uint8_t proto)
{
	static const char *const names[256] = {
		[0] = "IPv6HopByHop", [1] = "ICMPv4", [2] = "IGMP", [4] = "IPv4", [6] = "TCP", [17] = "UDP",
		[27] = "RUDP", [41] = "IPv6", [43] = "IPv6Routing", [44] = "IPv6Fragment", [47] = "GRE",
		[50] = "IPSecESP", [51] = "IPSecAH", [58] = "ICMPv6", [59] = "NoNextHeader", [60] = "IPv6Destination",
		[89] = "OSPF", [94] = "IPv4", [97] = "EtherIP", [112] = "VRRP", [132] = "SCTP", [136] = "UDPLite",
		[137] = "MPLS",
	};

	return names[proto] ?: "UnknownIPProtocol";
}

struct icmp_type {
	const char *name;
	const char *const *codes;	/* NULL = type without codes */
	size_t n_codes;
};

#define CODES(a) .codes = (a), .n_codes = ARRAY_SIZE(a)

static const char *const v4_unreachable[] = {
	"Net", "Host", "Protocol", "Port", "FragmentationNeeded", "SourceRoutingFailed", "NetUnknown", "HostUnknown",
	"SourceIsolated", "NetAdminProhibited", "HostAdminProhibited", "NetTOS", "HostTOS", "CommAdminProhibited",
	"HostPrecedence", "PrecedenceCutoff",
};
static const char *const v4_exceeded[] = { "TTLExceeded", "FragmentReassemblyTimeExceeded" };
static const char *const v4_problem[] = { "PointerIndicatesError", "MissingOption", "BadLength" };
static const char *const v4_redirect[] = { "Net", "Host", "TOS+Net", "TOS+Host" };
static const struct icmp_type v4_types[256] = {
	[0] = { "EchoReply" }, [3] = { "DestinationUnreachable", CODES(v4_unreachable) }, [4] = { "SourceQuench" },
	[5] = { "Redirect", CODES(v4_redirect) }, [8] = { "EchoRequest" }, [9] = { "RouterAdvertisement" },
	[10] = { "RouterSolicitation" }, [11] = { "TimeExceeded", CODES(v4_exceeded) },
	[12] = { "ParameterProblem", CODES(v4_problem) }, [13] = { "TimestampRequest" }, [14] = { "TimestampReply" },
	[15] = { "InfoRequest" }, [16] = { "InfoReply" }, [17] = { "AddressMaskRequest" },
	[18] = { "AddressMaskReply" },
};

static const char *const v6_unreachable[] = {
	"NoRouteToDst", "AdminProhibited", "BeyondScopeOfSrc", "AddressUnreachable", "PortUnreachable",
	"SrcAddressFailedPolicy", "RejectRouteToDst",
};
static const char *const v6_exceeded[] = { "HopLimitExceeded", "FragmentReassemblyTimeExceeded" };
static const char *const v6_problem[] = {
	"ErroneousHeaderField", "UnrecognizedNextHeader", "UnrecognizedIPv6Option",
};
static const struct icmp_type v6_types[256] = {
	[1] = { "DestinationUnreachable", CODES(v6_unreachable) }, [2] = { "PacketTooBig" },
	[3] = { "TimeExceeded", CODES(v6_exceeded) }, [4] = { "ParameterProblem", CODES(v6_problem) },
	[128] = { "EchoRequest" }, [129] = { "EchoReply" }, [133] = { "RouterSolicitation" },
	[134] = { "RouterAdvertisement" }, [135] = { "NeighborSolicitation" }, [136] = { "NeighborAdvertisement" },
	[137] = { "Redirect" },
};

static void put_icmp(struct buf *out, const struct icmp_type *t, uint8_t type, uint8_t code)
{
	if (!t->name)
		buf_printf(out, "%u(%u)", type, code);
	else if (!t->codes && !code)
		buf_add_str(out, t->name);
	else if (code < t->n_codes)
		buf_printf(out, "%s(%s)", t->name, t->codes[code]);
	else
		buf_printf(out, "%s(Code: %u)", t->name, code);
}

void layers_names_put_icmpv4(struct buf *out, uint8_t type, uint8_t code)
{
	put_icmp(out, &v4_types[type], type, code);
}

void layers_names_put_icmpv6(struct buf *out, uint8_t type, uint8_t code)
{
	put_icmp(out, &v6_types[type], type, code);
}

const char *layers_names_igmp(uint8_t type)
{
	switch (type) {
	case 0x11: return "IGMP Membership Query";
	case 0x12: return "IGMPv1 Membership Report";
	case 0x16: return "IGMPv2 Membership Report";
	case 0x17: return "Leave Group";
	case 0x22: return "IGMPv3 Membership Report";
	default: return "";
	}
}

const char *layers_names_vrrp_auth(uint8_t type)
{
	return type == 0 ? "No Authentication" : type <= 2 ? "Reserved" : "";
}
