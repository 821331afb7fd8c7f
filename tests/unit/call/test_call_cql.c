// SPDX-License-Identifier: GPL-2.0-or-later
/* Cassandra: exchanges made by tests/e2e/call_messages.py, and holes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "call_replay.h"

/* Version 4: streams out of order, prepared statements, errors, an event, nothing of the login. */
static void test_client(void **state)
{
	(void)state;
	assert_replay(
		"call_cql/client",
		"cql OPTIONS\n"
		"cql STARTUP\n"
		"cql AUTH_RESPONSE\n"
		"cql USE [USE shop] status=0\n"
		"cql SELECT orders db=shop [SELECT notes FROM orders WHERE id = ? AND name = ?] status=0 rows=2\n"
		"cql INSERT orders db=shop [INSERT INTO orders (id, t) VALUES (?, ?)] status=0 index=1\n"
		"cql SELECT db=shop [SELECT ?] status=8192 SYNTAX_ERROR client-error\n"
		"cql UPDATE orders db=shop [UPDATE orders SET t = ? WHERE id = ?] status=0\n"
		"cql EXECUTE db=shop status=9472 UNPREPARED client-error midstream\n"
		"cql BATCH orders db=shop [DELETE FROM orders WHERE id = ?] status=4352 WRITE_TIMEOUT failed\n"
		"cql REGISTER db=shop\n"
		"cql SELECT orders db=shop [SELECT notes FROM orders] status=0 rows=1\n");
}

/* Version 5: segments of several frames, and a frame of several segments. */
static void test_segments(void **state)
{
	(void)state;
	assert_replay("call_cql/segments",
		      "cql STARTUP\n"
		      "cql SELECT b [SELECT a FROM b] status=8704 INVALID client-error index=1\n"
		      "cql SELECT orders [SELECT notes FROM orders] status=0 rows=1\n"
		      "cql SELECT orders [SELECT notes FROM orders WHERE name = ?] status=0 cut\n"
		      "cql TRUNCATE orders [TRUNCATE orders] status=0\n");
}

#define QUERY \
	"\4\0\0\1\7\0\0\3\350" \
	"\0\0\3\336" \
	"SELECT a FROM b WHERE c = 'x"
#define ROWS \
	"\204\0\0\1\10\0\0\3\350" \
	"\0\0\0\2" \
	"\0\0\0\5\0\0\0\1" \
	"\0\0\0\3"

/* A hole in a statement cuts it; one in rows costs nothing. */
static void test_holes(void **state)
{
	struct feed f;

	(void)state;
	feed_init(&f);
	feed_bytes(&f, CALL_DIR_SENT, QUERY, sizeof(QUERY) - 1, 1009 - (sizeof(QUERY) - 1));
	feed_bytes(&f, CALL_DIR_RECEIVED, ROWS, sizeof(ROWS) - 1, 1009 - (sizeof(ROWS) - 1));
	assert_string_equal(
		feed_calls(&f),
		"cql SELECT b [SELECT a FROM b WHERE c = ?] status=0 rows=3 ask=1009@1-1 answer=1009@2-2 cut\n");
	assert_int_equal(f.pool.missed[CALL_MISS_LOST], 0);
	feed_fini(&f);
}

/* A connection of version 5 from before: its segments show by their checksums. */
static void test_midstream(void **state)
{
	/* OPTIONS and SUPPORTED, 9 and 11 bytes */
	static const char ask[] = "\11\0\2\244\310\301"
				  "\5\0\0\1\5\0\0\0\0"
				  "....";
	static const char answer[] = "\13\0\2\224\010\021"
				     "\205\0\0\1\6\0\0\0\2\0\0"
				     "....";
	struct feed f;

	(void)state;
	feed_init(&f);
	call_conn_free(f.conn);
	f.conn = call_conn_new(&f.pool, CALL_ROLE_UNKNOWN, true, NULL);
	f.terse = true;
	feed_bytes(&f, CALL_DIR_SENT, ask, sizeof(ask) - 1, 0);
	feed_bytes(&f, CALL_DIR_RECEIVED, answer, sizeof(answer) - 1, 0);
	assert_string_equal(feed_calls(&f), "cql OPTIONS\n");
	feed_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_client),
		cmocka_unit_test(test_segments),
		cmocka_unit_test(test_holes),
		cmocka_unit_test(test_midstream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
