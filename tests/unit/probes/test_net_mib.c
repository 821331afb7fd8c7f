// SPDX-License-Identifier: GPL-2.0-or-later
/* Losses by counters: the kernel's text to values, records to events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "event_words.h"
#include "probes/net/mib/net_mib_table.h"
#include "probes/net/mib/net_mib_wire.h"

extern const struct decoder_ops net_decoder;
static const struct decoder_ops *const decoders[] = { &net_decoder, NULL };

/* The search needs them in order, a record has room for their names. */
static void each_counter_is_found(void **state)
{
	(void)state;
	for (unsigned m = 0; m < NET_MIB__MAX; m++) {
		const char *name = net_mib_table_name(m);

		assert_in_range(strlen(name), 1, NET_MIB_NAME_BYTES - 1);
		assert_true(!m || strcmp(net_mib_table_name(m - 1), name) < 0);
		assert_non_null(net_mib_table_what(name, strlen(name)));
	}
	assert_null(net_mib_table_what("UdpInDatagrams", 14));
	assert_null(net_mib_table_what("", 0));
}

static void pairs_of_lines_have_values(void **state)
{
	static const char text[] = "TcpExt: SyncookiesSent ListenOverflows ListenDrops\n"
				   "TcpExt: 5 18446744073709551615 24\n"
				   "Udp: NoPorts InErrors\nUdp: 3 0\n";
	uint64_t values[NET_MIB__MAX] = { 0 };

	(void)state;
	assert_int_equal(net_mib_table_pairs(text, strlen(text), values), 4);
	assert_int_equal(values[NET_MIB_TcpExtListenOverflows], UINT64_MAX);
	assert_int_equal(values[NET_MIB_TcpExtListenDrops], 24);
	assert_int_equal(values[NET_MIB_UdpNoPorts], 3);
	assert_int_equal(values[NET_MIB_UdpInErrors], 0);
}

/* Values that are missing or no numbers leave what was there; a value is never given to another name. */
static void broken_text_changes_nothing_else(void **state)
{
	static const char *const texts[] = {
		"Udp: NoPorts InErrors\nTcp: 3 4\n", "Udp: NoPorts InErrors\n", "Udp: NoPorts\nUdp: x3\n",
		"Udp: NoPorts InErrors\nUdp:\n", "Udp: NoPorts\nUdp: -1\n",
		"Udp: NoPorts\nUdp: 99999999999999999999999\n", "", "\n\n\n", ": :\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		uint64_t values[NET_MIB__MAX] = { [NET_MIB_UdpNoPorts] = 7 };

		assert_int_equal(net_mib_table_pairs(texts[i], strlen(texts[i]), values), 0);
		assert_int_equal(values[NET_MIB_UdpNoPorts], 7);
		assert_int_equal(values[NET_MIB_UdpInErrors], 0);
	}
}

static void lines_have_values(void **state)
{
	static const char text[] = "Ip6InReceives                   \t9\n"
				   "Udp6NoPorts                     \t12\nUdp6InErrors";
	uint64_t values[NET_MIB__MAX] = { 0 };

	(void)state;
	assert_int_equal(net_mib_table_lines(text, strlen(text), values), 1);
	assert_int_equal(values[NET_MIB_Udp6NoPorts], 12);
}

static int take(void *ctx, struct event *ev)
{
	event_words_take(ctx, ev);
	return 0;
}

static void a_record_is_an_event(void **state)
{
	struct net_mib_rec r = {
		.hdr = { .len = sizeof(r), .type = NET_EV_MIB }, .count = 3, .total = 17, .interval_ns = 1000000000,
		.netns = 4026531840, .name = "UdpRcvbufErrors",
	};
	struct event_words w = { 0 };

	(void)state;
	assert_int_equal(decode_alone(decoders, &r, sizeof(r), take, &w), 0);
	has_word(&w, "mib.name=UdpRcvbufErrors ");
	has_word(&w, "mib.count=3 ");
	has_word(&w, "mib.total=17 ");
	assert_non_null(strstr(buf_str(&w.line), "xx counted 3 UdpRcvbufErrors in network namespace 4026531840 "
			       "(17 since the start): datagrams: full receive buffer\n"));
	strcpy(r.name, "OfANewerKernel");
	r.total = 3;
	assert_int_equal(decode_alone(decoders, &r, sizeof(r), take, &w), 0);
	has_no_word(&w, "mib.what");
	assert_non_null(strstr(buf_str(&w.line), "xx counted 3 OfANewerKernel in network namespace 4026531840\n"));
	assert_int_equal(decode_alone(decoders, &r, sizeof(r) - 1, take, &w), -EBADMSG);
	memset(r.name, 'x', sizeof(r.name));
	assert_int_equal(decode_alone(decoders, &r, sizeof(r), take, &w), -EBADMSG);
	event_words_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_counter_is_found),
		cmocka_unit_test(pairs_of_lines_have_values),
		cmocka_unit_test(broken_text_changes_nothing_else),
		cmocka_unit_test(lines_have_values),
		cmocka_unit_test(a_record_is_an_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
