// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See battery.h. Addresses, ports and the like come from small pools that the expressions use too, so that most
 * expressions match some packets and refuse others; lengths, options, fragments and cuts are random.
 */
#include "battery.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

const char *const battery_exprs[] = {
	/* protocols */
	"ip", "ip6", "arp", "rarp", "tcp", "udp", "icmp", "icmp6", "igmp", "sctp", "esp", "ah", "vrrp", "pim",
	"ip proto 47", "ip proto 89", "ip6 proto 58", "ether proto 0x88cc", "llc", "stp", "ip or arp", "not ip",
	"proto \\sctp", "ip6 and not tcp and not udp",
	/* addresses */
	"host 10.0.0.1", "src host 10.0.0.2", "dst host 192.168.1.7", "net 10.0.0.0/8", "src net 192.168.0.0/16",
	"dst net 172.16.0.0/12", "host 2001:db8::1", "src net 2001:db8::/32", "dst host ff02::1",
	"ip6 host fe80::1", "host 10.0.0.1 and host 10.0.0.2", "not src net 10.0.0.0/8 and ip",
	"dst host 255.255.255.255 or ip multicast", "ip multicast", "ip6 multicast", "ether multicast",
	"ether broadcast", "broadcast", "ether host 02:00:00:00:00:01", "ether src 02:00:00:00:00:02",
	"arp host 10.0.0.1", "net 10.0.0.0 mask 255.255.255.252",
	/* ports */
	"port 53", "tcp port 80", "udp port 53", "src port 443", "dst port 22", "portrange 20-1024",
	"udp dst portrange 4000-5000", "sctp port 80", "tcp port 80 or tcp port 443 or tcp port 8080",
	"tcp and not port 22", "ip6 and tcp port 443", "host 10.0.0.1 and tcp port 80",
	"src 10.0.0.1 and not dst 10.0.0.2 and udp and (port 53 or port 123)",
	/* flags and bytes */
	"tcp[tcpflags] & tcp-syn != 0", "tcp[13] = 2",
	"tcp[tcpflags] & (tcp-syn|tcp-fin) != 0 and not host 10.0.0.1", "tcp[tcpflags] == tcp-syn|tcp-ack",
	"tcp[tcpflags] & tcp-rst != 0", "icmp[icmptype] = icmp-echo",
	"icmp[icmptype] != icmp-echo and icmp[icmptype] != icmp-echoreply", "icmp[0] = 3 and icmp[1] < 4",
	"icmp6[icmp6type] = icmp6-echo", "ip[0] & 0xf != 5", "ip[6:2] & 0x1fff != 0", "ip[6] & 0x20 != 0",
	"ip[8] < 5", "ip[2:2] > 576", "ip[1] & 0xfc >> 2 = 46", "ip6[6] = 44", "ip6[40] = 58", "ether[0] & 1 = 1",
	"ether[12:2] > 1500", "udp[4:2] > 100", "udp[8:2] & 0x8000 = 0", "tcp[0:2] = tcp[2:2]",
	"tcp[4:4] > 0x7fffffff", "tcp[((tcp[12:1] & 0xf0) >> 2):4] = 0x47455420",
	"ip[((ip[0] & 0xf) << 2) + 2 : 2] = 80",
	"(((ip[2:2] - ((ip[0] & 0xf) << 2)) - ((tcp[12] & 0xf0) >> 2)) != 0)", "ip[10:2] % 7 = 3",
	"ip[4:2] / 16 = 1", "ip[4:2] * 3 > 1000 and udp", "ip[8] / ip[1] = 1", "ip[8] % ip[1] = 1",
	"1 << ip[8] = 16", "udp[2:2] ^ 53 = 0", "ip[ip[9]] = 0", "ether[len - 1] = 0", "udp[udp[4:2] - 1] = 0xff",
	"ip[500] = 0", "tcp[1200:4] != 0", "ether[1100] & 1 = 1",
	/* length */
	"greater 200", "less 64", "len > 1000 and ip", "len = 60",
	/* VLAN, MPLS, PPPoE, tunnels */
	"vlan", "vlan 100", "vlan 100 and tcp port 80", "vlan and vlan", "vlan 100 and vlan 200", "vlan and ip6",
	"not vlan", "vlan and host 10.0.0.1", "vlan 1 and arp", "(vlan and tcp) or udp", "ether proto 0x8100",
	"ether[14:2] & 0xfff = 100", "vlan and ether[16:2] = 0x0800", "mpls", "mpls 1024", "mpls and ip",
	"mpls and mpls 2000 and ip", "pppoed", "pppoes", "pppoes 7 and ip", "geneve", "geneve 5 and ip",
	"udp port 4789 and udp[12:4] & 0xffffff00 = 0x500",
	/* everything and nothing */
	"", "ip or not ip", "len >= 0",
	NULL
};

const char *const battery_user_exprs[] = {
	"ip protochain 6", "ip6 protochain 17", "protochain 50 or arp",
	NULL
};

/* ---- generator ---- */

struct gen {
	uint64_t state;
	struct battery_packet *p;
};

static uint32_t rnd(struct gen *g, uint32_t below)
{
	g->state ^= g->state << 13;
	g->state ^= g->state >> 7;
	g->state ^= g->state << 17;
	return (uint32_t)(g->state >> 33) % below;
}

static bool one_in(struct gen *g, uint32_t n)
{
	return rnd(g, n) == 0;
}

static void put(struct gen *g, const void *data, size_t len)
{
	if (g->p->len + len > sizeof(g->p->data))
		len = sizeof(g->p->data) - g->p->len;
	memcpy(g->p->data + g->p->len, data, len);
	g->p->len += (uint32_t)len;
}

static void put8(struct gen *g, uint32_t v)
{
	put(g, &(uint8_t){ (uint8_t)v }, 1);
}

static void put16(struct gen *g, uint32_t v)
{
	put8(g, v >> 8);
	put8(g, v);
}

static void put32(struct gen *g, uint32_t v)
{
	put16(g, v >> 16);
	put16(g, v);
}

static void put_random(struct gen *g, uint32_t n)
{
	while (n--)
		put8(g, one_in(g, 4) ? (one_in(g, 2) ? 0 : 0xff) : rnd(g, 256));
}

static void set16(struct gen *g, uint32_t off, uint32_t v)
{
	if (off + 2 > g->p->len)
		return;
	g->p->data[off] = (uint8_t)(v >> 8);
	g->p->data[off + 1] = (uint8_t)v;
}

static uint32_t pick_port(struct gen *g)
{
	static const uint16_t ports[] = { 22, 53, 80, 80, 123, 443, 4789, 6081, 8080, 4500 };

	return one_in(g, 4) ? rnd(g, 65536) : ports[rnd(g, ARRAY_SIZE(ports))];
}

static void put_addr4(struct gen *g)
{
	static const uint32_t addrs[] = {
		0x0a000001, 0x0a000002, 0x0a000003, 0xc0a80107, 0xc0a80201, 0xac100001, 0xe0000001, 0xffffffff,
		0x0affffff,
	};

	put32(g, one_in(g, 8) ? rnd(g, UINT32_MAX) : addrs[rnd(g, ARRAY_SIZE(addrs))]);
}

static void put_addr6(struct gen *g)
{
	static const uint8_t addrs[][16] = {
		{ 0x20, 0x01, 0x0d, 0xb8, [15] = 1 }, { 0x20, 0x01, 0x0d, 0xb8, [15] = 2 }, { 0xfe, 0x80, [15] = 1 },
		{ 0xff, 0x02, [15] = 1 }, { 0xfd, [15] = 9 },
	};

	put(g, addrs[rnd(g, ARRAY_SIZE(addrs))], 16);
}

static uint32_t payload_len(struct gen *g)
{
	switch (rnd(g, 8)) {
	case 0:
		return 0;
	case 1:
		return 600 + rnd(g, 700);
	case 2:
		return 1100 + rnd(g, 250);
	default:
		return rnd(g, 120);
	}
}

static void gen_tcp(struct gen *g)
{
	static const uint8_t flags[] = { 0x02, 0x12, 0x10, 0x18, 0x11, 0x04, 0x14, 0x01, 0xc2, 0x00 };
	uint32_t words = one_in(g, 2) ? 5 : 5 + rnd(g, 11);

	put16(g, pick_port(g));
	put16(g, pick_port(g));
	put_random(g, 8);
	put8(g, words << 4);
	put8(g, flags[rnd(g, ARRAY_SIZE(flags))]);
	put_random(g, 6 + (words - 5) * 4);
	if (one_in(g, 3))
		put(g, "GET / HTTP/1.1\r\n", 16);
	put_random(g, payload_len(g));
}

static void gen_ip(struct gen *g, unsigned depth);
static void gen_ethernet(struct gen *g, unsigned depth);

static void gen_udp(struct gen *g, unsigned depth)
{
	uint32_t at = g->p->len, dst = pick_port(g);

	put16(g, pick_port(g));
	put16(g, dst);
	put16(g, 0);
	put_random(g, 2);
	if (dst == 6081 && depth < 2) {
		uint32_t words = rnd(g, 3);

		put8(g, words);
		put8(g, 0);
		put16(g, 0x6558);
		put32(g, (one_in(g, 2) ? 5 : rnd(g, 100)) << 8);
		put_random(g, words * 4);
		gen_ethernet(g, depth + 1);
	} else if (dst == 4789 && depth < 2) {
		put32(g, 0x08000000);
		put32(g, 5 << 8);
		gen_ethernet(g, depth + 1);
	} else {
		put_random(g, payload_len(g));
	}
	set16(g, at + 4, g->p->len - at);
}

static void gen_icmp(struct gen *g, bool six)
{
	static const uint8_t types4[] = { 0, 3, 8, 11 }, types6[] = { 1, 2, 128, 129, 135, 136 };

	put8(g, six ? types6[rnd(g, ARRAY_SIZE(types6))] : types4[rnd(g, ARRAY_SIZE(types4))]);
	put8(g, rnd(g, 6));
	put_random(g, 6 + rnd(g, 60));
}

static void gen_sctp(struct gen *g)
{
	put16(g, pick_port(g));
	put16(g, pick_port(g));
	put_random(g, 8 + rnd(g, 80));
}

static uint32_t pick_proto(struct gen *g, bool six)
{
	static const uint8_t protos[] = { 6, 6, 6, 17, 17, 17, 1, 58, 2, 132, 47, 50, 51, 89, 103, 112, 4, 41 };
	uint32_t proto = protos[rnd(g, ARRAY_SIZE(protos))];

	return proto == 1 && six ? 58 : proto;
}

static void gen_transport(struct gen *g, uint32_t proto, unsigned depth)
{
	if (proto == 6)
		gen_tcp(g);
	else if (proto == 17)
		gen_udp(g, depth);
	else if (proto == 1 || proto == 58)
		gen_icmp(g, proto == 58);
	else if (proto == 132)
		gen_sctp(g);
	else if ((proto == 4 || proto == 41) && depth < 2)
		gen_ip(g, depth + 1);
	else
		put_random(g, 4 + rnd(g, 60));
}

static void gen_ipv4(struct gen *g, unsigned depth)
{
	static const uint16_t frags[] = { 0, 0, 0, 0x4000, 0x4000, 0x2000, 0x2010, 0x0010, 0x1fff };
	uint32_t words = one_in(g, 3) ? 5 + rnd(g, 11) : 5, at = g->p->len, proto = pick_proto(g, false);

	put8(g, 0x40 | words);
	put8(g, one_in(g, 3) ? rnd(g, 4) : rnd(g, 256));
	put16(g, 0);
	put16(g, rnd(g, one_in(g, 2) ? 64 : 65536));
	put16(g, frags[rnd(g, ARRAY_SIZE(frags))]);
	put8(g, one_in(g, 2) ? rnd(g, 8) : 64);
	put8(g, proto);
	put_random(g, 2);
	put_addr4(g);
	put_addr4(g);
	put_random(g, (words - 5) * 4);
	gen_transport(g, proto, depth);
	set16(g, at + 2, g->p->len - at);
}

static void gen_ipv6(struct gen *g, unsigned depth)
{
	static const uint8_t extensions[] = { 0, 43, 60, 44, 51 };
	uint32_t at = g->p->len, proto = pick_proto(g, true), n_ext = one_in(g, 3) ? rnd(g, 3) + 1 : 0;
	uint32_t next_at = at + 6;

	put32(g, 0x60000000 | rnd(g, 0x100000));
	put16(g, 0);
	put8(g, proto);
	put8(g, one_in(g, 2) ? 255 : 64);
	put_addr6(g);
	put_addr6(g);
	for (uint32_t i = 0; i < n_ext; i++) {
		uint32_t ext = extensions[rnd(g, ARRAY_SIZE(extensions))];

		g->p->data[next_at] = (uint8_t)ext;
		next_at = g->p->len;
		put8(g, proto);
		put8(g, ext == 44 ? 0 : ext == 51 ? 2 : rnd(g, 2));
		put_random(g, ext == 44 ? 6 : ext == 51 ? 14 : g->p->data[next_at + 1] * 8u + 6);
	}
	gen_transport(g, proto, depth);
	set16(g, at + 4, g->p->len - at - 40);
}

static void gen_ip(struct gen *g, unsigned depth)
{
	if (rnd(g, 5) < 3)
		gen_ipv4(g, depth);
	else
		gen_ipv6(g, depth);
}

static void gen_arp(struct gen *g)
{
	put16(g, 1);
	put16(g, 0x0800);
	put16(g, 0x0604);
	put16(g, 1 + rnd(g, 4));
	put_random(g, 6);
	put_addr4(g);
	put_random(g, 6);
	put_addr4(g);
	put_random(g, one_in(g, 2) ? 18 : 0);
}

static void gen_mpls(struct gen *g)
{
	uint32_t labels = 1 + rnd(g, 3);

	put16(g, one_in(g, 4) ? 0x8848 : 0x8847);
	for (uint32_t i = 0; i < labels; i++)
		put32(g, (one_in(g, 2) ? 1024 : 2000) << 12 | (i + 1 == labels) << 8 | 64);
	gen_ip(g, 1);
}

static void gen_pppoe(struct gen *g)
{
	bool session = rnd(g, 3);

	put16(g, session ? 0x8864 : 0x8863);
	put8(g, 0x11);
	put8(g, session ? 0 : 9);
	put16(g, one_in(g, 2) ? 7 : rnd(g, 65536));
	put16(g, 100);
	if (session)
		put16(g, one_in(g, 4) ? 0xc021 : 0x0021);
	gen_ipv4(g, 1);
}

static void gen_llc(struct gen *g)
{
	uint32_t at = g->p->len;

	put16(g, 0);
	put8(g, one_in(g, 2) ? 0x42 : 0xaa);
	put8(g, one_in(g, 2) ? 0x42 : 0xaa);
	put8(g, 3);
	put_random(g, 35 + rnd(g, 20));
	set16(g, at, g->p->len - at - 2);
}

/* From the EtherType on. */
static void gen_network(struct gen *g)
{
	static const uint16_t types[] = { 0x88cc, 0x8035, 0x9000, 0x0600 };
	uint32_t kind = rnd(g, 20), at = g->p->len;

	if (kind < 13) {
		put16(g, 0);
		gen_ip(g, 0);
		set16(g, at, g->p->data[at + 2] >> 4 == 4 ? 0x0800 : 0x86dd);
	} else if (kind < 15) {
		put16(g, 0x0806);
		gen_arp(g);
	} else if (kind == 15) {
		gen_mpls(g);
	} else if (kind == 16) {
		gen_pppoe(g);
	} else if (kind == 17) {
		gen_llc(g);
	} else {
		put16(g, types[rnd(g, ARRAY_SIZE(types))]);
		put_random(g, rnd(g, 100));
	}
}

static void put_mac(struct gen *g)
{
	static const uint8_t macs[][6] = {
		{ 2, 0, 0, 0, 0, 1 }, { 2, 0, 0, 0, 0, 2 }, { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff },
		{ 1, 0, 0x5e, 0, 0, 1 }, { 0x33, 0x33, 0, 0, 0, 1 },
	};

	put(g, macs[rnd(g, ARRAY_SIZE(macs))], 6);
}

static void gen_ethernet(struct gen *g, unsigned depth)
{
	static const uint16_t tags[] = { 0x8100, 0x8100, 0x8100, 0x88a8, 0x9100 };
	static const uint16_t ids[] = { 0, 1, 100, 100, 200, 4095 };
	uint32_t n_tags = one_in(g, 2) ? 1 + one_in(g, 3) + one_in(g, 6) : 0;

	put_mac(g);
	put_mac(g);
	while (n_tags--) {
		put16(g, tags[rnd(g, ARRAY_SIZE(tags))]);
		put16(g, rnd(g, 8) << 13 | one_in(g, 8) << 12 | ids[rnd(g, ARRAY_SIZE(ids))]);
	}
	if (!depth) {
		gen_network(g);
		return;
	}
	put16(g, 0x0800);
	gen_ipv4(g, depth);
}

struct battery_packet *battery_packets(size_t n, bool ethernet, uint64_t seed)
{
	struct battery_packet *all = calloc(n, sizeof(*all));
	struct gen g = { .state = seed };

	if (!all)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		g.p = &all[i];
		if (ethernet)
			gen_ethernet(&g, 0);
		else
			gen_ip(&g, 0);
		/* a veth with the usual MTU takes no more */
		g.p->len = MIN(g.p->len, ethernet ? 1514u : 1500u);
		if (one_in(&g, 6))
			g.p->len = rnd(&g, g.p->len);
		g.p->len = MAX(g.p->len, 14u);
	}
	return all;
}
