// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "packet/packet.h"
#include "packets.h"

#define MADE TEST_DATA "/packets/made.tsv"
#define CILIUM TEST_DATA "/packets/cilium.tsv"

static void summary_of(const struct packet *p, struct buf *out)
{
	buf_reset(out);
	assert_int_equal(packet_summary(p, out), 0);
}

static void layers_of(const struct packet *p, struct buf *out)
{
	buf_reset(out);
	for (int i = 0; i < p->n_layers; i++)
		buf_printf(out, "%s%s", i ? " " : "", packet_layer_name(p->layers[i].kind));
}

static void check_row(const struct packet_row *row)
{
	struct buf out = { 0 };
	struct packet p;

	packet_dissect(row->link, row->data, row->len, row->len, &p);
	summary_of(&p, &out);
	if (strcmp(buf_str(&out), row->summary))
		fail_msg("%s: summary is \"%s\", expected \"%s\"", row->name, buf_str(&out), row->summary);
	layers_of(&p, &out);
	if (strcmp(row->layers, "-") && strcmp(buf_str(&out), row->layers))
		fail_msg("%s: layers are \"%s\", expected \"%s\"", row->name, buf_str(&out), row->layers);
	buf_fini(&out);
}

static void every_protocol_has_its_summary_and_layers(void **state)
{
	(void)state;
	assert_true(packet_rows(MADE, check_row) > 70);
}

/* Removes PSH and the length, which Cilium's line does not have. */
static void strip_ours(char *line)
{
	char *psh = strstr(line, "PSH, "), *end, *begin;

	if (psh)
		memmove(psh, psh + 5, strlen(psh + 5) + 1);
	end = strstr(line, " B [");
	end = end ? end : line + strlen(line) - 2;
	begin = end;
	while (begin > line && strchr("0123456789", begin[-1]))
		begin--;
	if (begin < end && begin > line && begin[-1] == ' ' && !strncmp(end, " B", 2))
		memmove(begin - 1, end + 2, strlen(end + 2) + 1);
}

static void check_cilium_row(const struct packet_row *row)
{
	struct buf out = { 0 };
	struct packet p;

	packet_dissect(row->link, row->data, row->len, row->len, &p);
	summary_of(&p, &out);
	strip_ours((char *)buf_str(&out));
	assert_string_equal(out.data, row->summary);
	buf_fini(&out);
}

static void summaries_are_those_of_cilium(void **state)
{
	(void)state;
	assert_true(packet_rows(CILIUM, check_cilium_row) >= 28);
}

/* Layers lie inside the captured bytes, in order; text is printable. */
static void check_sane(const struct packet *p, const char *name)
{
	struct buf out = { 0 };
	uint32_t end = 0;

	for (int i = 0; i < p->n_layers; i++) {
		const struct packet_layer *l = &p->layers[i];

		if (l->off != end || l->off + l->len > p->cap_len)
			fail_msg("%s: layer %d at %u+%u, captured %u", name, i, l->off, l->len, p->cap_len);
		end = l->off + l->len;
	}
	assert_int_equal(packet_print(p, &out), 0);
	for (size_t i = 0; i < out.len; i++) {
		unsigned char c = (unsigned char)out.data[i];

		if ((c < 0x20 && c != '\n') || c == 0x7f)
			fail_msg("%s: control byte %#x in the listing", name, c);
	}
	buf_fini(&out);
}

/*
 * Truncated everywhere: the bytes are an exact allocation, so that a sanitizer reports a read beyond them. Only
 * packets shorter than their headers are marked.
 */
static void check_cuts(const struct packet_row *row)
{
	struct buf out = { 0 };
	struct packet whole, p;
	uint32_t headers = 0;

	packet_dissect(row->link, row->data, row->len, row->len, &whole);
	check_sane(&whole, row->name);
	for (int i = 0; i < whole.n_layers; i++) {
		const struct packet_layer *l = &whole.layers[i];

		if (l->kind != LAYER_PAYLOAD && l->kind != LAYER_DNS)
			headers = l->off + l->len;
	}
	for (uint32_t len = 0; len < row->len; len++) {
		void *copy = malloc(len ? len : 1);

		assert_non_null(copy);
		memcpy(copy, row->data, len);
		packet_dissect(row->link, copy, len, row->len, &p);
		check_sane(&p, row->name);
		summary_of(&p, &out);
		if (len >= headers && !whole.cut && p.cut)
			fail_msg("%s: cut at %u of %u header bytes", row->name, len, headers);
		if (len == 0)
			assert_string_equal(buf_str(&out), "[unknown]");
		free(copy);
	}
	buf_fini(&out);
}

static void every_truncation_is_survived(void **state)
{
	(void)state;
	assert_true(packet_rows(MADE, check_cuts) > 0);
	assert_true(packet_rows(CILIUM, check_cuts) > 0);
}

/* Within the fixed part of each header truncation is always detected. */
static void check_cut_is_marked(const struct packet_row *row)
{
	struct packet whole, p;

	packet_dissect(row->link, row->data, row->len, row->len, &whole);
	if (whole.cut)
		return;
	for (int i = 0; i < whole.n_layers; i++) {
		const struct packet_layer *l = &whole.layers[i];

		if (l->kind == LAYER_PAYLOAD || l->kind == LAYER_DNS)
			continue;
		for (uint32_t len = l->off + 1; len < l->off + MIN(l->len, 4u); len++) {
			packet_dissect(row->link, row->data, len, row->len, &p);
			if (!p.cut || !p.layers[p.n_layers - 1].cut)
				fail_msg("%s: cut at byte %u of %s is not marked", row->name, len - l->off,
					 packet_layer_name(l->kind));
		}
	}
}

static void a_cut_header_is_marked(void **state)
{
	(void)state;
	assert_true(packet_rows(MADE, check_cut_is_marked) > 0);
}

/* One packet of the table, by name. */
static const char *wanted;
static struct packet found;
static uint8_t found_data[1024];

static void find_row(const struct packet_row *row)
{
	if (strcmp(row->name, wanted))
		return;
	memcpy(found_data, row->data, row->len);
	packet_dissect(row->link, found_data, row->len, row->len, &found);
}

static const struct packet *by_name(const char *name)
{
	wanted = name;
	found = (struct packet){ 0 };
	assert_true(packet_rows(MADE, find_row) > 0);
	if (!found.data)
		fail_msg("no packet %s", name);
	return &found;
}

static void fields_are_those_of_the_headers(void **state)
{
	const struct packet *p = by_name("tcp-data");
	static const uint8_t src[4] = { 10, 0, 0, 1 }, dst[4] = { 10, 0, 0, 2 }, mac[6] = { 10, 0, 0, 0, 0, 2 };

	(void)state;
	assert_int_equal(p->outer.family, 4);
	assert_int_equal(p->outer.proto, 6);
	assert_memory_equal(p->outer.saddr, src, 4);
	assert_memory_equal(p->outer.daddr, dst, 4);
	assert_memory_equal(p->dmac, mac, 6);
	assert_int_equal(p->ethertype, 0x800);
	assert_int_equal(p->outer.sport, 1234);
	assert_int_equal(p->outer.dport, 80);
	assert_int_equal(p->outer.tcp_seq, 1000);
	assert_int_equal(p->outer.tcp_ack, 2000);
	assert_int_equal(p->outer.tcp_flags, 0x18);
	assert_int_equal(p->outer.ttl, 64);
	assert_int_equal(p->outer.payload_len, 18);
	p = by_name("udp-padded");
	assert_int_equal(p->outer.payload_len, 1);
	p = by_name("qinq");
	assert_int_equal(p->n_vlan, 2);
	assert_int_equal(p->vlan[0] & 0xfff, 200);
	assert_int_equal(p->vlan[1] & 0xfff, 100);
	assert_int_equal(p->vlan[1] & 0x1000, 0x1000);
	assert_int_equal(p->ethertype, 0x800);
	p = by_name("vlan-three");
	assert_int_equal(p->n_vlan, 2);
	p = by_name("ipv6-frag-last");
	assert_true(p->outer.fragment);
	assert_int_equal(p->outer.proto, 17);
	assert_false(p->outer.has_ports);
	p = by_name("tso-length-zero");
	assert_int_equal(p->outer.payload_len, 64);
}

static void tunnels_have_two_flows(void **state)
{
	const struct packet *p = by_name("vxlan");

	(void)state;
	assert_int_equal(p->tunnel, LAYER_VXLAN);
	assert_int_equal(p->vni, 42);
	assert_int_equal(p->outer.dport, 4789);
	assert_int_equal(p->inner.dport, 80);
	assert_ptr_equal(packet_flow(p), &p->inner);
	p = by_name("geneve");
	assert_int_equal(p->tunnel, LAYER_GENEVE);
	assert_int_equal(p->vni, 99);
	p = by_name("gre-key");
	assert_int_equal(p->tunnel, LAYER_GRE);
	assert_int_equal(p->vni, 0x1234);
	p = by_name("vxlan6-arp");
	assert_int_equal(p->inner.family, 0);
	assert_ptr_equal(packet_flow(p), &p->outer);
	p = by_name("gre-in-vxlan");
	assert_int_equal(p->tunnel, LAYER_VXLAN);
	assert_int_equal(p->inner.dport, 80);
}

/* A listing of @name holds @text. */
static void check_print(const char *name, const char *text)
{
	struct buf out = { 0 };

	assert_int_equal(packet_print(by_name(name), &out), 0);
	if (!strstr(buf_str(&out), text))
		fail_msg("%s: \"%s\" is not in:\n%s", name, text, buf_str(&out));
	buf_fini(&out);
}

static void listings_show_what_matters(void **state)
{
	(void)state;
	check_print("tcp-syn", "1234 -> 80, flags [SYN], seq 1000, win 64240");
	check_print("tcp-syn", "options [mss 1460, sackOK, TS val 1 ecr 0, nop, wscale 7");
	check_print("tcp-syn", "TCP, ttl 64, id 4711, DF, length 60, checksum ");
	check_print("tcp-syn", "(right)");
	check_print("tcp-sack", "sack 10:20 30:40");
	check_print("ipv4-options", "options [RA]");
	check_print("ipv4-frag-first", "fragment offset 0, MF");
	check_print("ipv4-frag-last", "fragment offset 24, last");
	check_print("icmp-port", "original [10.0.0.2:5000 -> 10.0.0.1:9 UDP]");
	check_print("icmp-frag-needed", "mtu 1400, original [10.0.0.2:1234 -> 10.0.0.1:80 TCP]");
	check_print("icmp-redirect", "to 10.0.0.9, original");
	check_print("icmp-echo", "EchoRequest, checksum 0x");
	check_print("icmp-echo", "id 7, seq 3, 4 bytes");
	check_print("icmp6-ns", "who has fd00::2, source 0a:00:00:00:00:01");
	check_print("icmp6-na", "target fd00::1, solicited, override, target 0a:00:00:00:00:01");
	check_print("icmp6-ra", "managed");
	check_print("icmp6-ra", "prefix fd00:1::/64, mtu 1400");
	check_print("icmp6-too-big", "mtu 1280, original [[fd00::2]:5000 -> [fd00::1]:9 UDP]");
	check_print("mld2", "listener report v2, 1 groups, type 4 ff02::1:3");
	check_print("mld2", "hop-by-hop, ICMPv6, 8 bytes, router alert");
	check_print("ipv6-ext", "routing, TCP, 24 bytes, type 0, segments left 1");
	check_print("ipv6-frag-last", "offset 16, last, id 0x00000063, UDP");
	check_print("ipv4-ah", "spi 0x00000100, seq 5, 24 bytes, TCP");
	check_print("esp", "spi 0x00000200, seq 9");
	check_print("sctp-init", "chunks [INIT tag 0x11223344 window 65536 streams 10/10]");
	check_print("sctp-data", "chunks [SACK tsn 7 window");
	check_print("sctp-data", "DATA tsn 8 stream 1 seq 2 ppid 3");
	check_print("vrrp2", "version 2, type 1, router 1, priority 100, 1 addresses 10.0.0.254");
	check_print("igmp3", "1 groups, type 4 224.0.0.251");
	check_print("arp-request", "who has 10.0.0.2? tell 10.0.0.1 at 0a:00:00:00:00:01");
	check_print("arp-reply-padded", "reply 10.0.0.1 is at 0a:00:00:00:00:01, to 10.0.0.2");
	check_print("vlan", "id 100, prio 3, IPv4");
	check_print("qinq", "id 100, prio 0, drop eligible, IPv4");
	check_print("mpls", "label 16, tc 0, ttl 64; label 17, tc 0, ttl 63, bottom");
	check_print("vxlan", "VXLAN     vni 42, flags 0x08\n  Ethernet ");
	check_print("geneve-options", "8 bytes of options, 0x0102/0x03:aabbccdd");
	check_print("gre-key", "key 0x00001234, seq 5");
	check_print("sll", "from us, arphrd 1, source 0a:00:00:00:00:01, IPv4");
	check_print("sll2", "from us, arphrd 1, source 0a:00:00:00:00:01, interface 2, IPv4");
	check_print("dns-query", "query id 4660, rd, question example.com. AAAA");
	check_print("dns-answer", "NoError, question www.example.com. A, "
		    "answer www.example.com. CNAME ttl 60 example.com., example.com. A ttl 30 93.184.216.34");
	check_print("dns-hostile", "question \\e[1m.a\\.b. A");
	check_print("dns-loop", "cut");
	check_print("bad-doff", "cut or wrong length");
}

static void hexdump_is_that_of_hexdump(void **state)
{
	struct buf out = { 0 };

	(void)state;
	buf_add_hexdump(&out, "0123456789abcdef\x01\xff~", 19);
	assert_string_equal(buf_str(&out),
		"00000000  30 31 32 33 34 35 36 37  38 39 61 62 63 64 65 66  |0123456789abcdef|\n"
		"00000010  01 ff 7e                                          |..~|\n");
	buf_reset(&out);
	buf_add_hexdump(&out, "", 0);
	assert_int_equal(out.len, 0);
	buf_fini(&out);
}

/* Layers beyond the limit become payload; a tunnel in a tunnel in a tunnel ends. */
static void nesting_is_bounded(void **state)
{
	static const uint8_t ipip[20] = {
		0x45, 0, 0, 0, 0, 0, 0, 0, 64, 4, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
	};
	uint8_t data[4096];
	struct buf out = { 0 };
	struct packet p;

	(void)state;
	memset(data, 0, sizeof(data));
	for (size_t i = 12; i + 4 <= sizeof(data); i += 4)	/* endless 802.1Q tags */
		memcpy(data + i, "\x81\x00\x00\x01", 4);
	packet_dissect(1, data, sizeof(data), sizeof(data), &p);
	assert_int_equal(p.n_layers, PACKET_MAX_LAYERS);
	assert_int_equal(p.layers[p.n_layers - 1].kind, LAYER_PAYLOAD);
	check_sane(&p, "tags");
	for (size_t i = 0; i + sizeof(ipip) <= sizeof(data); i += sizeof(ipip))	/* IPv4 in IPv4, lengths 0 */
		memcpy(data + i, ipip, sizeof(ipip));
	packet_dissect(101, data, sizeof(data), sizeof(data), &p);
	assert_int_equal(p.n_layers, PACKET_MAX_LAYERS);
	check_sane(&p, "ipip");
	summary_of(&p, &out);
	assert_string_equal(buf_str(&out), "10.0.0.1 -> 10.0.0.2 3636 B [tunnel 10.0.0.1 -> 10.0.0.2 ipip]");
	buf_fini(&out);
}

static void unknown_link_types_are_payload(void **state)
{
	struct buf out = { 0 };
	struct packet p;

	(void)state;
	packet_dissect(999, "hello", 5, 5, &p);
	assert_int_equal(p.n_layers, 1);
	assert_int_equal(p.layers[0].kind, LAYER_PAYLOAD);
	summary_of(&p, &out);
	assert_string_equal(buf_str(&out), "[unknown]");
	buf_fini(&out);
}

/* For comparing with other dissectors: one line of fields per row of a table of packets. */
static void put_flow(const struct packet_flow *f)
{
	char src[INET6_ADDRSTRLEN] = "", dst[INET6_ADDRSTRLEN] = "";
	int family = f->family == 6 ? AF_INET6 : AF_INET;

	if (f->family) {
		inet_ntop(family, f->saddr, src, sizeof(src));
		inet_ntop(family, f->daddr, dst, sizeof(dst));
	}
	printf("\t%s\t%s\t%u\t%u\t%u\t%u\t%u\t%u\t%u\t%u\t%u\t%u", src, dst, f->family, f->proto, f->ttl, f->sport,
	       f->dport, f->tcp_flags, f->tcp_seq, f->tcp_ack, f->icmp_type, f->icmp_code);
}

static void put_fields(const struct packet_row *row)
{
	struct packet p;

	packet_dissect(row->link, row->data, row->len, row->len, &p);
	printf("%s\t%u\t%u\t%u\t%u\t%u", row->name, p.tunnel, p.vni, p.n_vlan, p.vlan[0] & 0xfff, p.vlan[1] & 0xfff);
	put_flow(&p.outer);
	put_flow(&p.inner);
	printf("\t%u\n", packet_flow(&p)->payload_len);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_protocol_has_its_summary_and_layers),
		cmocka_unit_test(summaries_are_those_of_cilium),
		cmocka_unit_test(every_truncation_is_survived),
		cmocka_unit_test(a_cut_header_is_marked),
		cmocka_unit_test(fields_are_those_of_the_headers),
		cmocka_unit_test(tunnels_have_two_flows),
		cmocka_unit_test(listings_show_what_matters),
		cmocka_unit_test(hexdump_is_that_of_hexdump),
		cmocka_unit_test(nesting_is_bounded),
		cmocka_unit_test(unknown_link_types_are_payload),
	};

	if (argc == 3 && !strcmp(argv[1], "--fields"))
		return packet_rows(argv[2], put_fields) < 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
