// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Prints layers as Go's %v does: each header's fields; lists of more than four elements as a count.
 */
#include <sys/socket.h>

#include "base/buf.h"
#include "base/macros.h"
#include "cilium/goip.h"
#include "cilium/layers.h"
#include "cilium/layers_names.h"
#include "cilium/ports.h"

static uint16_t be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)be16(p) << 16 | be16(p + 2);
}

static const char *yes_no(bool v)
{
	return v ? "true" : "false";
}

/* [1, 2] or [..5..] */
static void put_bytes(struct buf *out, const uint8_t *p, size_t len)
{
	if (len > 4) {
		buf_printf(out, "[..%zu..]", len);
		return;
	}
	buf_add_char(out, '[');
	for (size_t i = 0; i < len; i++)
		buf_printf(out, "%s%u", i ? ", " : "", p[i]);
	buf_add_char(out, ']');
}

static void put_port(struct buf *out, uint16_t port, unsigned transport)
{
	const char *name = ports_name(port, transport);

	buf_add_u64(out, port);
	if (name)
		buf_printf(out, "(%s)", name);
}

/* ---- fields ---- */

static void put_ethernet(struct buf *out, const uint8_t *h)
{
	uint16_t type = be16(h + 12);

	buf_add_str(out, " SrcMAC=");
	buf_add_mac(out, h + 6);
	buf_add_str(out, " DstMAC=");
	buf_add_mac(out, h);
	buf_printf(out, " EthernetType=%s Length=%u", layers_names_ether_type(type), type < 0x600 ? type : 0);
}

static void put_options(struct buf *out, const uint8_t *opt, size_t len, void (*put)(struct buf *, const uint8_t *))
{
	const uint8_t *at[5] = { NULL };
	size_t n = 0, padding = 0;

	for (size_t i = 0; i < len; i += opt[i] <= 1 ? 1 : opt[i + 1]) {
		if (n < ARRAY_SIZE(at))
			at[n] = opt + i;
		n++;
		if (opt[i] == 0) {
			padding = len - i - 1;
			break;
		}
	}
	buf_add_str(out, " Options=[");
	if (n > 4)
		buf_printf(out, "..%zu..", n);
	for (size_t i = 0; n <= 4 && i < n; i++) {
		buf_add_str(out, i ? ", " : "");
		put(out, at[i]);
	}
	buf_add_str(out, "] Padding=");
	put_bytes(out, opt + len - padding, padding);
}

static void put_ipv4_option(struct buf *out, const uint8_t *opt)
{
	buf_printf(out, "IPv4Option(%u:[", opt[0]);
	for (size_t i = 2; opt[0] > 1 && i < opt[1]; i++)
		buf_printf(out, "%s%u", i > 2 ? " " : "", opt[i]);
	buf_add_str(out, "])");
}

static void put_ipv4(struct buf *out, const uint8_t *h, size_t len, size_t payload)
{
	static const char *const flags[] = { "", "MF", "DF", "DF|MF", "Evil", "Evil|MF", "Evil|DF", "Evil|DF|MF" };

	buf_printf(out, " Version=%u IHL=%u TOS=%u Length=%u Id=%u", h[0] >> 4, h[0] & 15, h[1],
		   be16(h + 2) ?: (unsigned)(len + payload), be16(h + 4));
	buf_printf(out, " Flags=%s FragOffset=%u TTL=%u Protocol=%s Checksum=%u", flags[h[6] >> 5],
		   be16(h + 6) & 0x1fff, h[8], layers_names_protocol(h[9]), be16(h + 10));
	buf_add_str(out, " SrcIP=");
	goip_put(out, AF_INET, h + 12);
	buf_add_str(out, " DstIP=");
	goip_put(out, AF_INET, h + 16);
	put_options(out, h + 20, len - 20, put_ipv4_option);
}

static size_t ipv6_option_len(const uint8_t *opt)
{
	return opt[0] ? opt[1] + 2u : 1;
}

static void put_ipv6_option(struct buf *out, const uint8_t *opt)
{
	buf_printf(out, "{OptionType=%u OptionLength=%u ActualLength=%zu OptionData=", opt[0], opt[0] ? opt[1] : 0,
		   ipv6_option_len(opt));
	put_bytes(out, opt + 2, opt[0] ? opt[1] : 0);
	buf_add_str(out, " OptionAlignment=[0 0]}");
}

/* The whole extension header and the rest of the packet. */
static void put_hop_by_hop(struct buf *out, const uint8_t *ext, size_t len)
{
	size_t ext_len = ext[1] * 8u + 8, n = 0;

	buf_add_str(out, "{ Contents=");
	put_bytes(out, ext, ext_len);
	buf_add_str(out, " Payload=");
	put_bytes(out, ext + ext_len, len - ext_len);
	buf_printf(out, " NextHeader=%s HeaderLength=%u ActualLength=%zu Options=[", layers_names_protocol(ext[0]),
		   ext[1], ext_len);
	for (size_t at = 2; at < ext_len; at += ipv6_option_len(ext + at))
		n++;
	if (n > 4)
		buf_printf(out, "..%zu..", n);
	for (size_t at = 2; n <= 4 && at < ext_len; at += ipv6_option_len(ext + at)) {
		buf_add_str(out, at > 2 ? ", " : "");
		put_ipv6_option(out, ext + at);
	}
	buf_add_str(out, "]}");
}

static void put_ipv6(struct buf *out, const struct layer *l)
{
	const uint8_t *h = l->head;

	buf_printf(out,
		   " Version=%u TrafficClass=%u FlowLabel=%u Length=%u NextHeader=%s HopLimit=%u SrcIP=", h[0] >> 4,
		   be16(h) >> 4 & 0xff, be32(h) & 0xfffff, be16(h + 4), layers_names_protocol(h[6]), h[7]);
	goip_put(out, AF_INET6, h + 8);
	buf_add_str(out, " DstIP=");
	goip_put(out, AF_INET6, h + 24);
	buf_add_str(out, " HopByHop=");
	if (h[6])
		buf_add_str(out, "nil");
	else
		put_hop_by_hop(out, h + 40, l->all_len);
}

static const char *tcp_option_name(uint8_t kind)
{
	static const char *const names[] = {
		"EndList", "NOP", "MSS", "WindowScale", "SACKPermitted", "SACK", "Echo", "EchoReply", "Timestamps",
		"PartialOrderConnectionPermitted", "PartialOrderServiceProfile", "CC", "CCNew", "CCEcho",
		"AltChecksum", "AltChecksumData",
	};

	return kind < ARRAY_SIZE(names) ? names[kind] : NULL;
}

static void put_tcp_option(struct buf *out, const uint8_t *opt)
{
	size_t len = opt[0] <= 1 ? 2 : opt[1];
	const char *name = tcp_option_name(opt[0]);

	buf_add_str(out, "TCPOption(");
	if (name)
		buf_add_str(out, name);
	else
		buf_printf(out, "Unknown(%u)", opt[0]);
	buf_add_char(out, ':');
	if (opt[0] == 2 && len >= 4)
		buf_add_u64(out, be16(opt + 2));
	if (opt[0] == 8 && len == 10)
		buf_printf(out, "%u/%u", be32(opt + 2), be32(opt + 6));
	for (size_t i = 2; i < len; i++)
		buf_printf(out, "%s%02x", i == 2 ? " 0x" : "", opt[i]);
	buf_add_char(out, ')');
}

/* Has the segment an option of MPTCP? */
static bool is_multipath(const uint8_t *opt, size_t len)
{
	for (size_t i = 0; i < len && opt[i] != 0; i += opt[i] == 1 ? 1 : opt[i + 1])
		if (opt[i] == 30)
			return true;
	return false;
}

static void put_ports(struct buf *out, const uint8_t *h, unsigned transport)
{
	buf_add_str(out, " SrcPort=");
	put_port(out, be16(h), transport);
	buf_add_str(out, " DstPort=");
	put_port(out, be16(h + 2), transport);
}

static void put_tcp(struct buf *out, const uint8_t *h, size_t len)
{
	static const char *const flags[] = { "FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR" };

	put_ports(out, h, PORT_TCP);
	buf_printf(out, " Seq=%u Ack=%u DataOffset=%u", be32(h + 4), be32(h + 8), h[12] >> 4);
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		buf_printf(out, " %s=%s", flags[i], yes_no(h[13] >> i & 1));
	buf_printf(out, " NS=%s Window=%u Checksum=%u Urgent=%u", yes_no(h[12] & 1), be16(h + 14), be16(h + 16),
		   be16(h + 18));
	put_options(out, h + 20, len - 20, put_tcp_option);
	buf_printf(out, " Multipath=%s", yes_no(is_multipath(h + 20, len - 20)));
}

static void put_udp(struct buf *out, const uint8_t *h)
{
	put_ports(out, h, PORT_UDP);
	buf_printf(out, " Length=%u Checksum=%u", be16(h + 4), be16(h + 6));
}

static void put_sctp(struct buf *out, const uint8_t *h)
{
	put_ports(out, h, PORT_SCTP);
	buf_printf(out, " VerificationTag=%u Checksum=%u", be32(h + 4), be32(h + 8));
}

static void put_icmpv4(struct buf *out, const uint8_t *h)
{
	buf_add_str(out, " TypeCode=");
	layers_names_put_icmpv4(out, h[0], h[1]);
	buf_printf(out, " Checksum=%u Id=%u Seq=%u", be16(h + 2), be16(h + 4), be16(h + 6));
}

static void put_icmpv6(struct buf *out, const uint8_t *h)
{
	buf_add_str(out, " TypeCode=");
	layers_names_put_icmpv6(out, h[0], h[1]);
	buf_printf(out, " Checksum=%u TypeBytes=[]", be16(h + 2));
}

static void put_vrrp(struct buf *out, const uint8_t *h)
{
	buf_printf(out, " Version=%u Type=VRRPv2 Advertisement VirtualRtrID=%u Priority=%u CountIPAddr=%u",
		   h[0] >> 4, h[1], h[2], h[3]);
	buf_printf(out, " AuthType=%s AdverInt=%u Checksum=%u IPAddress=[", layers_names_vrrp_auth(h[4]), h[5],
		   be16(h + 6));
	if (h[3] > 4)
		buf_printf(out, "..%u..", h[3]);
	for (size_t i = 0; h[3] <= 4 && i < h[3]; i++) {
		buf_add_str(out, i ? ", " : "");
		goip_put(out, AF_INET, h + 8 + 4 * i);
	}
	buf_add_char(out, ']');
}

/* A code with its top bit set is a floating-point number; gopacket keeps the low 8 bits of its value. */
static unsigned igmp_deciseconds(uint8_t code)
{
	return code & 0x80 ? (uint8_t)(((code >> 4 & 7u) | 16u) << ((code & 15u) + 3)) : code;
}

/* Go's format of a time.Duration below one minute. */
static void put_deciseconds(struct buf *out, unsigned n)
{
	if (n % 10 == 0)
		buf_printf(out, "%us", n / 10);
	else if (n < 10)
		buf_printf(out, "%ums", n * 100);
	else
		buf_printf(out, "%u.%us", n / 10, n % 10);
}

/* gopacket parses every version as IGMPv2 and leaves the version 0. */
static void put_igmp(struct buf *out, const uint8_t *h)
{
	buf_printf(out, " Type=%s MaxResponseTime=", layers_names_igmp(h[0]));
	put_deciseconds(out, igmp_deciseconds(h[1]));
	buf_printf(out, " Checksum=%u GroupAddress=", be16(h + 2));
	goip_put(out, AF_INET, h + 4);
	buf_add_str(out, " Version=0");
}

static void put_vxlan(struct buf *out, const uint8_t *h)
{
	buf_printf(out, " ValidIDFlag=%s VNI=%u GBPExtension=%s GBPDontLearn=%s GBPApplied=%s GBPGroupPolicyID=%u",
		   yes_no(h[0] & 8), be32(h + 4) >> 8, yes_no(h[0] & 0x80), yes_no(h[1] & 0x40),
		   yes_no(h[1] & 0x80), be16(h + 2));
}

static void put_geneve(struct buf *out, const uint8_t *h)
{
	size_t n = 0, len = (h[0] & 0x3f) * 4u;

	for (size_t at = 0; at + 4 <= len; at += (h[8 + at + 3] & 0x1fu) * 4 + 4)
		n++;
	buf_printf(out, " Version=%u OptionsLength=%zu OAMPacket=%s CriticalOption=%s Protocol=%s VNI=%u Options=[",
		   h[0] >> 7, len, yes_no(h[1] & 0x80), yes_no(h[1] & 0x40), layers_names_ether_type(be16(h + 2)),
		   be32(h + 4) >> 8);
	if (n)
		buf_printf(out, "..%zu..", n);
	buf_add_char(out, ']');
}

static const struct { const char *name, *key; unsigned level; } kinds[] = {
	[LAYER_ETHERNET] = { "Ethernet", "ethernet", 2 }, [LAYER_IPV4] = { "IPv4", "ipv4", 3 },
	[LAYER_IPV6] = { "IPv6", "ipv6", 3 }, [LAYER_TCP] = { "TCP", "tcp", 4 }, [LAYER_UDP] = { "UDP", "udp", 4 },
	[LAYER_SCTP] = { "SCTP", "sctp", 4 }, [LAYER_ICMPV4] = { "ICMPv4", "icmpv4", 0 },
	[LAYER_ICMPV6] = { "ICMPv6", "icmpv6", 0 }, [LAYER_VRRP] = { "VRRP", "vrrp", 0 },
	[LAYER_IGMP] = { "IGMP", "igmp", 0 }, [LAYER_VXLAN] = { "VXLAN", "vxlan", 0 },
	[LAYER_GENEVE] = { "Geneve", "geneve", 0 },
};
_Static_assert(ARRAY_SIZE(kinds) == LAYER__MAX, "a name for each kind");

const char *layers_text_key(enum layer_kind kind)
{
	return kinds[kind].key;
}

unsigned layers_text_level(enum layer_kind kind)
{
	return kinds[kind].level;
}

static void put_fields(struct buf *out, const struct layer *l)
{
	const uint8_t *h = l->head;

	switch (l->kind) {
	case LAYER_ETHERNET: put_ethernet(out, h); break;
	case LAYER_IPV4: put_ipv4(out, h, l->head_len, l->payload_len); break;
	case LAYER_IPV6: put_ipv6(out, l); break;
	case LAYER_TCP: put_tcp(out, h, l->head_len); break;
	case LAYER_UDP: put_udp(out, h); break;
	case LAYER_SCTP: put_sctp(out, h); break;
	case LAYER_ICMPV4: put_icmpv4(out, h); break;
	case LAYER_ICMPV6: put_icmpv6(out, h); break;
	case LAYER_VRRP: put_vrrp(out, h); break;
	case LAYER_IGMP: put_igmp(out, h); break;
	case LAYER_VXLAN: put_vxlan(out, h); break;
	case LAYER_GENEVE: put_geneve(out, h); break;
	case LAYER__MAX: break;
	}
}

void layers_text_put(struct buf *out, const struct layer *l)
{
	buf_printf(out, "%s\t{Contents=", kinds[l->kind].name);
	put_bytes(out, l->head, l->kind == LAYER_IGMP ? 0 : l->head_len);	/* IGMP: always empty */
	buf_add_str(out, " Payload=");
	put_bytes(out, l->payload, l->payload_len);
	put_fields(out, l);
	buf_add_char(out, '}');
}

void layers_put(struct buf *out, const struct layers *l)
{
	for (size_t i = 0; i < l->n; i++) {
		if (l->tunnel && i == l->tunnel && l->truncated[0])
			buf_add_str(out, "  Packet has been truncated\n");
		layers_text_put(out, &l->at[i]);
		buf_add_char(out, '\n');
	}
	if (l->truncated[l->tunnel != 0])
		buf_add_str(out, "  Packet has been truncated\n");
	if (l->error[0])
		buf_printf(out, "  Failed to decode layer: %s\n", l->error);
}

bool layers_text_ends(const struct layer *l, struct buf *src, struct buf *dst)
{
	const uint8_t *h = l->head;

	switch (kinds[l->kind].level) {
	case 2:
		buf_add_mac(src, h + 6);
		buf_add_mac(dst, h);
		return true;
	case 3: {
		int v6 = l->kind == LAYER_IPV6;

		goip_put(src, v6 ? AF_INET6 : AF_INET, h + (v6 ? 8 : 12));
		goip_put(dst, v6 ? AF_INET6 : AF_INET, h + (v6 ? 24 : 16));
		return true;
	}
	case 4:
		buf_add_u64(src, be16(h));
		buf_add_u64(dst, be16(h + 2));
		return true;
	default:
		return false;
	}
}

/* ---- summary line ---- */

static const struct layer *find(const struct layers *l, size_t from, size_t to, unsigned level)
{
	for (size_t i = to; i-- > from;)
		if (kinds[l->at[i].kind].level == level)
			return &l->at[i];
	return NULL;
}

static void put_end(struct buf *out, const struct layer *ip, bool dst, const uint8_t *port)
{
	int family = ip->kind == LAYER_IPV6 ? AF_INET6 : AF_INET;
	const uint8_t *addr = ip->head + (family == AF_INET6 ? (dst ? 24 : 8) : dst ? 16 : 12);
	bool brackets = port && goip_has_colons(family, addr);

	buf_add_str(out, brackets ? "[" : "");
	goip_put(out, family, addr);
	buf_add_str(out, brackets ? "]" : "");
	if (port)
		buf_printf(out, ":%u", be16(port));
}

static void put_ends(struct buf *out, const struct layer *ip, const struct layer *l4)
{
	put_end(out, ip, false, l4 ? l4->head : NULL);
	buf_add_str(out, " -> ");
	put_end(out, ip, true, l4 ? l4->head + 2 : NULL);
}

static void put_l4(struct buf *out, const struct layer *l)
{
	static const struct { uint8_t bit; const char *name; } flags[] = {
		{ 2, "SYN" }, { 16, "ACK" }, { 4, "RST" }, { 1, "FIN" },
	};
	const char *between = "";

	buf_printf(out, " %s", kinds[l->kind].key);
	if (l->kind != LAYER_TCP)
		return;
	buf_add_char(out, ' ');
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (l->head[13] & flags[i].bit) {
			buf_printf(out, "%s%s", between, flags[i].name);
			between = ", ";
		}
}

/* Text after the addresses, for packets without ports. */
static void put_other(struct buf *out, const struct layer *l)
{
	const uint8_t *h = l->head;

	switch (l->kind) {
	case LAYER_ICMPV4:
	case LAYER_ICMPV6:
		buf_add_str(out, " icmp ");
		l->kind == LAYER_ICMPV4 ? layers_names_put_icmpv4(out, h[0], h[1])
					: layers_names_put_icmpv6(out, h[0], h[1]);
		break;
	case LAYER_VRRP:
		buf_printf(out, " vrrp VRRPv2 Advertisement %u %u", h[1], h[2]);
		break;
	case LAYER_IGMP:
		buf_printf(out, " igmp %s ", layers_names_igmp(h[0]));
		goip_put(out, AF_INET, h + 4);
		break;
	default:
		break;
	}
}

static void put_range(struct buf *out, const struct layers *l, size_t from, size_t to)
{
	const struct layer *l2 = find(l, from, to, 2), *ip = find(l, from, to, 3), *l4 = find(l, from, to, 4);

	if (ip) {
		put_ends(out, ip, l4);
		if (l4)
			put_l4(out, l4);
		else
			put_other(out, &l->at[to - 1]);
	} else if (l2) {
		buf_add_mac(out, l2->head + 6);
		buf_add_str(out, " -> ");
		buf_add_mac(out, l2->head);
		buf_printf(out, " %s", layers_names_ether_type(be16(l2->head + 12)));
	} else {
		buf_add_str(out, "[unknown]");
	}
}

void layers_summary(struct buf *out, const struct layers *l)
{
	const struct layer *ip, *l4;

	if (l->error[0]) {
		buf_add_str(out, "[error]");
		return;
	}
	put_range(out, l, l->tunnel ? l->tunnel + 1 : 0, l->n);
	if (!l->tunnel)
		return;
	ip = find(l, 0, l->tunnel, 3);
	l4 = find(l, 0, l->tunnel, 4);
	buf_add_str(out, " [tunnel ");
	if (ip)
		put_ends(out, ip, l4);
	buf_printf(out, " %s]", kinds[l->at[l->tunnel].kind].key);
}
