// SPDX-License-Identifier: GPL-2.0-or-later
/* Packets and numbers that the vectors of test_cilium.c lack, against the output of gopacket and Go's errno table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cilium/layers.h"
#include "cilium/notify.h"
#include "cilium/print.h"

#define ETHERNET "3333000000160a000000000186dd"
#define LINK_LOCAL "fe80000000000000" "0000000000000001" "ff02000000000000" "0000000000000016"
#define MAPPED "0000000000000000" "0000ffff0a000001" "0000000000000000" "0000ffff0a000002"
#define MLD_REPORT "8f0000000000000104000000" "ff0200000000000000000000000000fb"
#define MLD_HEADER "6000000000240001" LINK_LOCAL
#define UDP "003514e900080000"

static size_t from_hex(const char *hex, uint8_t *ret)
{
	size_t n = 0;

	for (unsigned byte; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		ret[n++] = (uint8_t)byte;
	return n;
}

static void parse(const char *hex, uint8_t *mem, struct layers *ret)
{
	struct cilium_packet p = { .data = mem };

	p.len = from_hex(hex, mem);
	layers_parse(ret, &p);
}

/* Everything below the Ethernet line. */
static void check_layers(const char *hex, const char *want)
{
	_cleanup_(buf_fini) struct buf out = { 0 };
	struct layers l;
	uint8_t mem[256];

	parse(hex, mem, &l);
	layers_put(&out, &l);
	assert_non_null(strchr(buf_str(&out), '\n'));
	assert_string_equal(strchr(buf_str(&out), '\n') + 1, want);
}

static void check_summary(const char *hex, const char *want)
{
	_cleanup_(buf_fini) struct buf out = { 0 };
	struct layers l;
	uint8_t mem[256];

	parse(hex, mem, &l);
	layers_summary(&out, &l);
	assert_string_equal(buf_str(&out), want);
}

#define IPV6_MLD "IPv6\t{Contents=[..40..] Payload=[..28..] Version=6 TrafficClass=0 FlowLabel=0 Length=36 " \
	"NextHeader=IPv6HopByHop HopLimit=1 SrcIP=fe80::1 DstIP=ff02::16 HopByHop={ Contents=[..8..] " \
	"Payload=[..28..] NextHeader=ICMPv6 HeaderLength=0 ActualLength=8 Options=[{OptionType=5 OptionLength=2 " \
	"ActualLength=4 OptionData=[0, 0] OptionAlignment=[0 0]}, {OptionType=1 OptionLength=0 ActualLength=2 " \
	"OptionData=[] OptionAlignment=[0 0]}]}}\n"

static void hop_by_hop_options_are_part_of_ipv6(void **state)
{
	(void)state;
	check_summary(ETHERNET MLD_HEADER "3a00050200000100" MLD_REPORT, "fe80::1 -> ff02::16 icmp 143(0)");
	check_layers(ETHERNET MLD_HEADER "3a00050200000100" MLD_REPORT, IPV6_MLD
		     "ICMPv6\t{Contents=[143, 0, 0, 0] Payload=[..24..] TypeCode=143(0) Checksum=0 TypeBytes=[]}\n"
		     "  Packet has been truncated\n");
}

static void broken_hop_by_hop_options_have_their_words(void **state)
{
	static const struct { const char *rest, *error; } rows[] = {
		{ "", "Invalid ip6-extension header. Length 0 less than 2" },
		{ "3a01050200000100", "Invalid ip6-extension header. Length 8 less than specified length 16" },
		{ "3a00050200000109", "IPv6 header TLV option too small" },
		{ "3a00050300000001", "IPv6 header option too small" },
		{ "3a00c20300000001" "00", "Jumbo length TLV data must have length 4" },
		{ "3a00c20400000001", "Jumbo length cannot be less than 65536" },
		{ "3a00c20400010000", "IPv6 has jumbo length and IPv6 length is not 0" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char hex[512];
		struct layers l;
		uint8_t mem[256];

		snprintf(hex, sizeof(hex), "%s%s%s", ETHERNET, MLD_HEADER, rows[i].rest);
		parse(hex, mem, &l);
		assert_string_equal(l.error, rows[i].error);
	}
	check_summary(ETHERNET MLD_HEADER, "[error]");
}

static void empty_ipv6_names_its_next_header(void **state)
{
	struct layers l;
	uint8_t mem[256];

	(void)state;
	parse(ETHERNET "6000000000001140" LINK_LOCAL, mem, &l);
	assert_string_equal(l.error, "IPv6 length 0, but next header is UDP, not HopByHop");
	parse(ETHERNET "6000000000000040" LINK_LOCAL "3a00050200000100", mem, &l);
	assert_string_equal(l.error, "IPv6 length 0, but HopByHop header does not have jumbogram option");
}

static void mapped_addresses_are_ipv4(void **state)
{
	(void)state;
	check_summary(ETHERNET "6000000000081140" MAPPED UDP, "10.0.0.1:53 -> 10.0.0.2:5353 udp");
}

static void check_errno(uint32_t number, const char *want)
{
	_cleanup_(buf_fini) struct buf out = { 0 };
	const struct cilium_print o = { 0 };
	const struct cilium_notify n = { .type = CILIUM_DEBUG, .subtype = 64, .arg = { number } };

	cilium_debug_put(&out, &n, &o);
	assert_string_equal(buf_str(&out) + strlen("Socket assign: "), want);
}

static void errors_of_socket_assign_are_gos(void **state)
{
	(void)state;
	check_errno(0, "Success");
	check_errno(98, "address already in use");
	check_errno(94, "socket type not supported");
	check_errno(132, "operation not possible due to RF-kill");
	check_errno(78, "remote address changed");
	check_errno(85, "interrupted system call should be restarted");
	check_errno(116, "stale NFS file handle");
	check_errno(95, "operation not supported");
	check_errno(41, "errno 41");
	check_errno(133, "errno 133");
	check_errno(UINT32_MAX, "errno 4294967295");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hop_by_hop_options_are_part_of_ipv6),
		cmocka_unit_test(broken_hop_by_hop_options_have_their_words),
		cmocka_unit_test(empty_ipv6_names_its_next_header),
		cmocka_unit_test(mapped_addresses_are_ipv4),
		cmocka_unit_test(errors_of_socket_assign_are_gos),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
