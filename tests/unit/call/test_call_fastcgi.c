// SPDX-License-Identifier: GPL-2.0-or-later
/* FastCGI: recorded connections with php-fpm 8.2 (tests/fuzz/call_seeds.py), and holes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "call_replay.h"

/* Query values and credentials are not shown. */
static void test_get(void **state)
{
	(void)state;
	assert_replay("call_fastcgi/get", "fastcgi GET /page.php?size=&token= host=here status=200\n"
					  "  x-request-id: r7\n");
}

static void test_kept(void **state)
{
	(void)state;
	assert_replay("call_fastcgi/kept", "fastcgi GET /page.php?how= host=here status=404 client-error\n"
					   "  x-request-id: r7\n"
					   "fastcgi GET /page.php?how= host=here status=302\n"
					   "  x-request-id: r7\n"
					   "fastcgi GET /page.php?how= host=here status=503 failed\n"
					   "  x-request-id: r7\n"
					   "fastcgi POST /page.php host=here status=200\n"
					   "  x-request-id: r7\n"
					   "fastcgi GET /absent.php host=here status=404 client-error\n"
					   "  x-request-id: r7\n");
}

static void test_large(void **state)
{
	(void)state;
	assert_replay("call_fastcgi/large", "fastcgi POST /page.php?size= host=here status=200\n"
					    "  x-request-id: r7\n");
}

static const char end[] = "\1\3\0\1\0\10\0\0\0\0\0\0\0\0\0\0";

/* Parameters that were not captured are unknown; input and output of known length cost nothing. */
static void test_holes(void **state)
{
	static const char ask[] = "\1\1\0\1\0\10\0\0\0\1\1\0\0\0\0\0"
				  "\1\4\0\1\0\60\0\0\16\3REQUEST_METHODGET\13\2SCRIPT_NAME/a\14\200\0\0";
	static const char rest[] = "\1\4\0\1\0\0\0\0\1\5\0\1\0\0\0\0";
	static const char head[] = "\1\6\0\1\20\0\0\0Status: 500 no\r\nContent-type: text/plain\r\n\r\n";
	struct feed f;

	(void)state;
	feed_init(&f);
	feed_bytes(&f, CALL_DIR_SENT, ask, sizeof(ask) - 1, 16 + 8 + 48 - (sizeof(ask) - 1));
	feed_bytes(&f, CALL_DIR_SENT, rest, sizeof(rest) - 1, 0);
	feed_bytes(&f, CALL_DIR_RECEIVED, head, sizeof(head) - 1, 8 + 4096 - (sizeof(head) - 1));
	feed_bytes(&f, CALL_DIR_RECEIVED, end, sizeof(end) - 1, 0);
	assert_string_equal(feed_calls(&f), "fastcgi GET /a status=500 ask=88@1-2 answer=4120@3-4 failed cut\n");
	assert_int_equal(f.pool.missed[CALL_MISS_LOST], 0);
	feed_fini(&f);
}

/* The program ends with a status of its own, or refuses the request. */
static void test_ends(void **state)
{
	static const char ask[] = "\1\1\0\1\0\10\0\0\0\1\1\0\0\0\0\0\1\4\0\1\0\0\0\0\1\5\0\1\0\0\0\0";
	static const char exits[] = "\1\3\0\1\0\10\0\0\0\0\0\7\0\0\0\0", full[] = "\1\3\0\1\0\10\0\0\0\0\0\0\2\0\0\0";
	struct feed f;

	(void)state;
	feed_init(&f);
	f.terse = true;
	feed_bytes(&f, CALL_DIR_SENT, ask, sizeof(ask) - 1, 0);
	feed_bytes(&f, CALL_DIR_RECEIVED, exits, sizeof(exits) - 1, 0);
	feed_bytes(&f, CALL_DIR_SENT, ask, sizeof(ask) - 1, 0);
	feed_bytes(&f, CALL_DIR_RECEIVED, full, sizeof(full) - 1, 0);
	assert_string_equal(feed_calls(&f), "fastcgi exit 7 failed\n"
					    "fastcgi OVERLOADED failed\n");
	feed_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_get),   cmocka_unit_test(test_kept), cmocka_unit_test(test_large),
		cmocka_unit_test(test_holes), cmocka_unit_test(test_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
