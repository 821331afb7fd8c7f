// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "event/event.h"
#include "event/json.h"
#include "event/value.h"

static void check_json_string(const char *in, size_t len, const char *want)
{
	struct buf b = { 0 };

	assert_int_equal(json_string(&b, in, len), 0);
	assert_string_equal(buf_str(&b), want);
	buf_fini(&b);
}

static void json_strings_are_strict(void **state)
{
	(void)state;
	check_json_string("", 0, "\"\"");
	check_json_string("a\"b\\c/", 6, "\"a\\\"b\\\\c/\"");
	check_json_string("\b\f\n\r\t\x1f\x7f", 7, "\"\\b\\f\\n\\r\\t\\u001f\\u007f\"");
	check_json_string("a\0b", 3, "\"a\\u0000b\"");
	check_json_string("w\xc3\xb6rker \xe2\x82\xac \xf0\x9f\x90\xa7", 16,
			  "\"w\xc3\xb6rker \xe2\x82\xac \xf0\x9f\x90\xa7\"");
	check_json_string("\xff" "a\xc3", 3, "\"\\ufffda\\ufffd\"");		/* not UTF-8, cut */
	check_json_string("\xc0\xaf", 2, "\"\\ufffd\\ufffd\"");			/* overlong */
	check_json_string("\xed\xa0\x80", 3, "\"\\ufffd\\ufffd\\ufffd\"");	/* surrogate */
	check_json_string("\xe2\x80\xae", 3, "\"\\u202e\"");			/* bidi override */
	check_json_string("\xc2\x9b", 2, "\"\\u009b\"");			/* C1: CSI */
	check_json_string("\xef\xbb\xbf", 3, "\"\\ufeff\"");
}

/* No byte sequence of up to two bytes produces a raw control byte or an open quote. */
static void json_strings_hold_any_bytes(void **state)
{
	struct buf b = { 0 };

	(void)state;
	for (unsigned v = 0; v < 65536; v++) {
		char in[2] = { (char)(v >> 8), (char)v };

		buf_reset(&b);
		json_string(&b, in, 2);
		for (size_t i = 0; i < b.len; i++)
			assert_true((unsigned char)b.data[i] >= 0x20 && b.data[i] != 0x7f);
		for (size_t i = 1; i + 1 < b.len; i++) {
			assert_true(b.data[i] != '"');
			i += b.data[i] == '\\';
		}
		assert_true(b.data[b.len - 1] == '"');
	}
	buf_fini(&b);
}

static const struct xlat_val bit_vals[] = { { 1, "FIN" }, { 2, "SYN" }, { 16, "ACK" } };
static const struct xlat bits = { .vals = bit_vals, .n = ARRAY_SIZE(bit_vals), .is_flags = true };

static void values_have_a_text_and_a_json_form(void **state)
{
	static const struct { struct value v; const char *text, *json; } rows[] = {
		{ { .kind = VAL_NONE }, "", "null" },
		{ { .kind = VAL_UINT, .u = UINT64_MAX }, "18446744073709551615", "18446744073709551615" },
		{ { .kind = VAL_UINT, .u = 255, .hex = true }, "0xff", "255" },
		{ { .kind = VAL_UINT, .u = 0, .ns = true }, "0ns", "0" },
		{ { .kind = VAL_UINT, .u = 999, .ns = true }, "999ns", "999" },
		{ { .kind = VAL_UINT, .u = 1500, .ns = true }, "1.5us", "1500" },
		{ { .kind = VAL_UINT, .u = 2000001, .ns = true }, "2.000001ms", "2000001" },
		{ { .kind = VAL_UINT, .u = 60000000000, .ns = true }, "60s", "60000000000" },
		{ { .kind = VAL_UINT, .u = 1000000001, .ns = true }, "1.000000001s", "1000000001" },
		{ { .kind = VAL_INT, .i = INT64_MIN }, "-9223372036854775808", "-9223372036854775808" },
		{ { .kind = VAL_INT, .i = 7 }, "7", "7" },
		{ { .kind = VAL_BOOL, .u = 1 }, "true", "true" },
		{ { .kind = VAL_BOOL }, "false", "false" },
		{ { .kind = VAL_STR, .str = "a\n\"", .len = 3 }, "a\\n\"", "\"a\\n\\\"\"" },
		{ { .kind = VAL_IP, .ip = { .family = 4, .addr = { 10, 0, 0, 255 } } },
		  "10.0.0.255", "\"10.0.0.255\"" },
		{ { .kind = VAL_IP, .ip = { .family = 6, .addr = { 0xfe, 0x80, [15] = 1 } } },
		  "fe80::1", "\"fe80::1\"" },
		{ { .kind = VAL_IP, .ip = { .family = 9 } }, "", "\"\"" },
		{ { .kind = VAL_MAC, .str = "\x02\x00\x00\x00\x00\xab", .len = 6 }, "02:00:00:00:00:ab",
		  "\"02:00:00:00:00:ab\"" },
		{ { .kind = VAL_BYTES, .str = "\x00\xff", .len = 2 }, "00ff", "\"00ff\"" },
		{ { .kind = VAL_FLAGS, .u = 18, .xlat = &bits }, "SYN|ACK", "[\"SYN\",\"ACK\"]" },
		{ { .kind = VAL_FLAGS, .u = 0, .xlat = &bits }, "0", "[]" },
		{ { .kind = VAL_FLAGS, .u = 0x42, .xlat = &bits }, "SYN|0x40", "[\"SYN\",64]" },
		{ { .kind = VAL_FLAGS, .u = 0x40, .xlat = &bits }, "0x40", "[64]" },
		{ { .kind = VAL_FLAGS, .u = 5 }, "0x5", "[5]" },
		{ { .kind = VAL_LIST, .str = "main\0a\x1b", .len = 8 }, "main;a\\e", "[\"main\",\"a\\u001b\"]" },
	};
	struct buf b = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		buf_reset(&b);
		assert_int_equal(value_text(&rows[i].v, &b), 0);
		assert_string_equal(buf_str(&b), rows[i].text);
		buf_reset(&b);
		assert_int_equal(value_json(&rows[i].v, &b), 0);
		assert_string_equal(buf_str(&b), rows[i].json);
	}
	buf_fini(&b);
}

static void json_writer_puts_the_commas(void **state)
{
	struct buf b = { 0 };
	struct json j = { .out = &b };

	(void)state;
	json_open(&j, '{');
	json_key(&j, "a");
	json_open(&j, '[');
	json_u64(&j, 1);
	json_i64(&j, -2);
	json_open(&j, '[');
	json_close(&j, ']');
	json_bool(&j, false);
	json_close(&j, ']');
	json_key(&j, "b");
	json_open(&j, '{');
	json_close(&j, '}');
	json_key(&j, "c");
	json_str(&j, "x", 1);
	json_close(&j, '}');
	assert_string_equal(buf_str(&b), "{\"a\":[1,-2,[],false],\"b\":{},\"c\":\"x\"}");
	buf_fini(&b);
}

static void networks_contain_addresses(void **state)
{
	static const struct { const char *net, *ip; bool in; } rows[] = {
		{ "10.0.0.0/8", "10.255.0.1", true },	{ "10.0.0.0/8", "11.0.0.0", false },
		{ "10.1.2.3", "10.1.2.3", true },	{ "10.1.2.3", "10.1.2.2", false },
		{ "0.0.0.0/0", "1.2.3.4", true },	{ "0.0.0.0/0", "::1", false },
		{ "10.1.2.128/25", "10.1.2.129", true }, { "10.1.2.128/25", "10.1.2.127", false },
		{ "fe80::/10", "febf::1", true },	{ "fe80::/10", "fec0::1", false },
		{ "::1", "::1", true },			{ "2001:db8::/33", "2001:db8:8000::", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct ipnet net;
		struct ipaddr ip;

		assert_int_equal(ipaddr_ipnet_parse(rows[i].net, &net), 0);
		assert_int_equal(ipaddr_parse(rows[i].ip, &ip), 0);
		if (ipaddr_ipnet_contains(&net, &ip) != rows[i].in)
			fail_msg("%s in %s", rows[i].ip, rows[i].net);
	}
}

static void bad_networks_are_refused(void **state)
{
	static const char *const bad[] = {
		"", "/8", "10.0.0.0/", "10.0.0.0/33", "::/129", "10.0.0.0/8/8", "10.0.0.0/-1", "10.0.0.0/ 8",
		"10.0.0", "x", "1:2:3:4:5:6:7:8:9", "10.0.0.0 ",
		"0000000000000000000000000000000000000000000000000000000000000000000000000000",
	};
	struct ipnet net;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (ipaddr_ipnet_parse(bad[i], &net) != -EINVAL)
			fail_msg("%s was taken", bad[i]);
}

/* Section lengths are not trusted. */
static void sections_are_checked(void **state)
{
	struct { struct sec_packet h; uint8_t data[8]; } p = { .h = { .cap_len = 8 } };
	struct { struct sec_proc h; char text[8]; } proc = { .h = { .comm = { 0, 4 }, .exe = { 4, 4 } },
							     .text = "nameexec" };
	struct event ev = { 0 };
	const uint8_t *data;
	size_t len;

	(void)state;
	assert_null(event_packet(&ev, &data));
	assert_null(event_proc(&ev));
	event_add_section(&ev, SEC_PACKET, &p, sizeof(p));
	event_add_section(&ev, SEC_PROC, &proc, sizeof(proc));
	assert_non_null(event_packet(&ev, &data));
	assert_ptr_equal(data, p.data);
	p.h.cap_len = 9;
	assert_null(event_packet(&ev, NULL));
	ev.sec[0].len = sizeof(struct sec_packet) - 1;
	assert_null(event_packet(&ev, NULL));
	assert_memory_equal(event_sec_proc_str(event_proc(&ev), &ev.sec[1], proc.h.exe, &len), "exec", 4);
	assert_int_equal(len, 4);
	event_sec_proc_str(event_proc(&ev), &ev.sec[1], (struct sec_str){ 5, 4 }, &len);
	assert_int_equal(len, 0);
	event_sec_proc_str(event_proc(&ev), &ev.sec[1], (struct sec_str){ UINT32_MAX, 4 }, &len);
	assert_int_equal(len, 0);
	ev.sec[1].len = sizeof(struct sec_proc) - 1;
	assert_null(event_proc(&ev));
	while (ev.n_sec < EVENT_MAX_SECTIONS)
		assert_int_equal(event_add_section(&ev, SEC_TEXT, "", 0), 0);
	assert_int_equal(event_add_section(&ev, SEC_TEXT, "", 0), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_strings_are_strict),
		cmocka_unit_test(json_strings_hold_any_bytes),
		cmocka_unit_test(values_have_a_text_and_a_json_form),
		cmocka_unit_test(json_writer_puts_the_commas),
		cmocka_unit_test(networks_contain_addresses),
		cmocka_unit_test(bad_networks_are_refused),
		cmocka_unit_test(sections_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
