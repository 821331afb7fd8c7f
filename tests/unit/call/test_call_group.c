// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names that calls are counted by: what counts as an id, and what must not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/macros.h"
#include "call/call_group.h"

struct row {
	const char *text, *separators, *grouped;
};

static void check(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct buf out = { 0 };

		call_group_add(&out, rows[i].text, strlen(rows[i].text), rows[i].separators);
		assert_string_equal(buf_str(&out), rows[i].grouped);
		buf_fini(&out);
	}
}

static void test_ids(void **state)
{
	static const struct row rows[] = {
		{ "/users/17", "/", "/users/_" },
		{ "/users/17/orders/0", "/", "/users/_/orders/_" },
		{ "/7", "/", "/_" },
		{ "/o/f47ac10b-58cc-4372-a567-0e02b2c3d479/x", "/", "/o/_/x" },
		{ "/o/F47AC10B-58CC-4372-A567-0E02B2C3D479", "/", "/o/_" },
		{ "/commit/8dc97d1c", "/", "/commit/_" },
		{ "/blob/e3b0c44298fc1c149afbf4c8996fb92427ae41e4", "/", "/blob/_" },
		{ "/logs/2026-11-28", "/", "/logs/_" },
		{ "orders.17.created", "/.:", "orders._.created" },
		{ "user:42:cart", "/.:", "user:_:cart" },
		{ "0123456789abcdef", "/.:", "_" },
		{ "4.3.2.1.in-addr.arpa", "/.:", "_._._._.in-addr.arpa" },
	};

	(void)state;
	check(rows, ARRAY_SIZE(rows));
}

/* Words, versions and names with numbers in them stay apart. */
static void test_words(void **state)
{
	static const struct row rows[] = {
		{ "", "/", "" },
		{ "/", "/", "/" },
		{ "//", "/", "//" },
		{ "/v2", "/", "/v2" },
		{ "/api/v1.2/users", "/", "/api/v1.2/users" },
		{ "/v2beta1/x", "/", "/v2beta1/x" },
		{ "/cafe/decade/feedface", "/", "/cafe/decade/feedface" }, /* no digit */
		{ "/abc1/beef2", "/", "/abc1/beef2" },			   /* too short */
		{ "/s3/ec2/utf8", "/", "/s3/ec2/utf8" },
		{ "/orders-2026", "/", "/orders-2026" },
		{ "/page1", "/", "/page1" },
		{ "/17.json", "/", "/17.json" },
		{ "/--------", "/", "/--------" },
		{ "orders_2026", "/.:", "orders_2026" },
		{ "metrics.v2", "/.:", "metrics.v2" },
		{ "/x/", "/", "/x/" },
	};

	(void)state;
	check(rows, ARRAY_SIZE(rows));
}

/* Bytes of a peer: a NUL is not a separator, and the text need not end with one. */
static void test_bytes(void **state)
{
	static const char text[] = { '/', '1', '\0', '/', '2', '/', '3', '4' };
	struct buf out = { 0 };

	(void)state;
	call_group_add(&out, text, sizeof(text) - 1, "/");
	assert_int_equal(out.len, 7);
	assert_memory_equal(out.data, "/1\0/_/_", 7);
	buf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
