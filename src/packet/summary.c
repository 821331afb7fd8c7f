// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One line per packet, in the format of cilium monitor (Cilium 1.20, pkg/monitor/dissect.go) with PSH and the length:
 *
 *   sip:sport -> dip:dport tcp FLAGS N B  of SYN, PSH, ACK, RST, FIN, in this order, joined by ", "
 *   sip:sport -> dip:dport udp|sctp N B   IPv6 in brackets
 *   sip -> dip icmp TYPE(CODE) N B        for ICMPv6 too
 *   sip -> dip vrrp TYPE id prio          sip -> dip igmp TYPE group
 *   sip -> dip N B                        other protocols, and every fragment
 *   smac -> dmac ETHERTYPE               no IP directly after Ethernet; tags are not followed
 *   INNER [tunnel sip:sport -> dip:dport vxlan|geneve]
 *   [error] for a truncated header, [unknown] without a packet
 *
 * N is the length of the payload by the length fields; absent without payload.
 *
 * Beyond Cilium: IPv6 extension headers are skipped, GRE and IP in IP count as tunnels (without ports), and captures
 * that do not start at Ethernet print the ethertype alone if it is not IP.
 */
#include "packet/packet.h"

#include "base/buf.h"
#include "base/cursor.h"
#include "packet/names.h"
#include "packet/print.h"

#define TCP_FIN 0x01
#define TCP_SYN 0x02
#define TCP_RST 0x04
#define TCP_PSH 0x08
#define TCP_ACK 0x10

static const struct packet_layer *find_layer(const struct packet *p, enum packet_layer_kind kind)
{
	for (int i = p->n_layers - 1; i >= 0; i--) {
		if (p->layers[i].kind == kind)
			return &p->layers[i];
	}
	return NULL;
}

static struct cursor layer_cursor(const struct packet *p, const struct packet_layer *l)
{
	return cur_init(p->data + l->off, l->len);
}

static void add_tcp_flags(struct buf *out, uint8_t flags)
{
	static const struct { uint8_t bit; const char *name; } rows[] = {
		{ TCP_SYN, "SYN" }, { TCP_PSH, "PSH" }, { TCP_ACK, "ACK" }, { TCP_RST, "RST" }, { TCP_FIN, "FIN" },
	};
	const char *sep = " ";

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!(flags & rows[i].bit))
			continue;
		buf_add_str(out, sep);
		buf_add_str(out, rows[i].name);
		sep = ", ";
	}
}

void packet_summary_pair(struct buf *out, const struct packet_flow *f)
{
	if (f->has_ports)
		packet_names_text_ip_port(out, f->family, f->saddr, f->sport);
	else
		packet_names_text_ip(out, f->family, f->saddr);
	buf_add_str(out, " -> ");
	if (f->has_ports)
		packet_names_text_ip_port(out, f->family, f->daddr, f->dport);
	else
		packet_names_text_ip(out, f->family, f->daddr);
}

static void add_vrrp(const struct packet *p, struct buf *out)
{
	const struct packet_layer *l = find_layer(p, LAYER_VRRP);
	struct cursor c = layer_cursor(p, l);
	uint8_t first = cur_u8(&c), id = cur_u8(&c), prio = cur_u8(&c);

	buf_printf(out, " vrrp VRRPv%u %s %u %u", first >> 4, (first & 15) == 1 ? "Advertisement" : "Unknown", id,
		   prio);
}

/* A version 3 report has its groups in records, so no group is shown. */
static void add_igmp(const struct packet *p, struct buf *out)
{
	const struct packet_layer *l = find_layer(p, LAYER_IGMP);
	struct cursor c = layer_cursor(p, l);
	uint8_t type = cur_u8(&c);
	const char *name = packet_names_igmp_name(type);

	buf_printf(out, " igmp %s ", name ? name : "");
	cur_skip(&c, 3);
	if (type == 0x22)
		buf_add_str(out, "<nil>");
	else
		packet_names_text_ip(out, SONDE_IPV4, cur_bytes(&c, 4));
}

static void add_transport(const struct packet *p, const struct packet_flow *f, struct buf *out)
{
	switch (f->proto) {
	case PROTO_TCP:
		buf_add_str(out, " tcp");
		add_tcp_flags(out, f->tcp_flags);
		break;
	case PROTO_UDP:
		buf_add_str(out, " udp");
		break;
	case PROTO_SCTP:
		buf_add_str(out, " sctp");
		break;
	case PROTO_ICMP:
	case PROTO_ICMPV6:
		buf_add_str(out, " icmp ");
		packet_names_text_icmp_type(out, f->proto == PROTO_ICMPV6 ? SONDE_IPV6 : SONDE_IPV4, f->icmp_type,
					    f->icmp_code);
		break;
	case PROTO_VRRP:
		add_vrrp(p, out);
		break;
	case PROTO_IGMP:
		add_igmp(p, out);
		break;
	default:
		break;
	}
}

static void add_flow(const struct packet *p, const struct packet_flow *f, struct buf *out)
{
	packet_summary_pair(out, f);
	if (!f->fragment)
		add_transport(p, f, out);
	if (f->payload_len && f->proto != PROTO_VRRP && f->proto != PROTO_IGMP)
		buf_printf(out, " %u B", f->payload_len);
}

static void add_ethernet(const struct packet *p, const struct packet_layer *l, struct buf *out)
{
	struct cursor c = layer_cursor(p, l);
	const uint8_t *dst = cur_bytes(&c, 6), *src = cur_bytes(&c, 6);
	uint16_t type = cur_u16be(&c);
	const char *name = type < 0x600 ? "LLC" : packet_names_ethertype_name(type);

	packet_names_text_mac(out, src);
	buf_add_str(out, " -> ");
	packet_names_text_mac(out, dst);
	buf_printf(out, " %s", name ? name : "UnknownEthernetType");
}

static bool ethernet_holds_ip(const struct packet *p, const struct packet_layer *l)
{
	struct cursor c = layer_cursor(p, l);
	uint16_t type;

	cur_skip(&c, 12);
	type = cur_u16be(&c);
	return type == ETHERTYPE_IPV4 || type == ETHERTYPE_IPV6;
}

/* The innermost packet. */
static void add_packet(const struct packet *p, unsigned depth, struct buf *out)
{
	const struct packet_layer *eth = find_layer(p, LAYER_ETHERNET);
	const struct packet_flow *f = depth ? &p->inner : &p->outer;

	if (eth && eth->depth == depth && !ethernet_holds_ip(p, eth))
		add_ethernet(p, eth, out);
	else if (f->family)
		add_flow(p, f, out);
	else if (p->ethertype)
		buf_add_str(out, packet_names_ethertype_name(p->ethertype) ? packet_names_ethertype_name(p->ethertype)
									   : "UnknownEthernetType");
	else
		buf_add_str(out, "[unknown]");
}

/* Tunnels without a header of their own, named as by ip-link. */
static const char *tunnel_name(const struct packet *p)
{
	switch (p->tunnel) {
	case LAYER_VXLAN: return "vxlan";
	case LAYER_GENEVE: return "geneve";
	case LAYER_GRE: return "gre";
	case LAYER_IPV4: return p->outer.family == SONDE_IPV4 ? "ipip" : "ipip6";
	default: return p->outer.family == SONDE_IPV4 ? "sit" : "ip6ip6";
	}
}

static unsigned innermost_depth(const struct packet *p)
{
	unsigned depth = 0;

	for (int i = 0; i < p->n_layers; i++)
		depth = MAX(depth, p->layers[i].depth);
	return depth;
}

int packet_summary(const struct packet *p, struct buf *out)
{
	unsigned depth = innermost_depth(p);

	if (!p->cap_len) {
		buf_add_str(out, "[unknown]");
	} else if (p->cut) {
		buf_add_str(out, "[error]");
	} else {
		add_packet(p, depth, out);
		if (depth) {
			buf_add_str(out, " [tunnel ");
			packet_summary_pair(out, &p->outer);
			buf_printf(out, " %s]", tunnel_name(p));
		}
	}
	return buf_error(out);
}
