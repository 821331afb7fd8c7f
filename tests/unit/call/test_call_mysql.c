// SPDX-License-Identifier: GPL-2.0-or-later
/* MySQL: recorded connections of python3-pymysql and mariadb-client with a server of MariaDB 10.11. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "call_replay.h"

/* Errors, two results, LOCAL INFILE, a change of the database. */
static void test_pymysql(void **state)
{
	(void)state;
	assert_replay("call_mysql/pymysql",
		      "mysql CREATE t db=d [create or replace table t (a int, b varchar(?))] rows=0\n"
		      "mysql INSERT t db=d [insert into t values (?,?)] rows=2\n"
		      "mysql SELECT t db=d [select * from t where b=? or a in (?)] rows=2\n"
		      "mysql SELECT nowhere db=d [select * from nowhere] status=1146 42S02 failed\n"
		      "mysql SELECT t db=d [select ?; select ? from t] rows=3\n"
		      "mysql LOAD t db=d [load data local infile ? into table t (b)] rows=2\n"
		      "mysql PING db=d\n"
		      "mysql INIT DB mysql db=d\n"
		      "mysql UPDATE d.t db=mysql [update d.t set b=?] rows=4\n");
}

static void test_client(void **state)
{
	(void)state;
	assert_replay("call_mysql/client",
		      "mysql SELECT t db=d [select a from t] rows=4\n"
		      "mysql DELETE t db=d [delete from t where a=?] rows=1\n");
}

/* A prepare is shown only if it fails. */
static void test_prepared(void **state)
{
	(void)state;
	assert_replay("call_mysql/prepared",
		      "mysql SELECT t db=d [select a, b from t where a < ?] rows=1\n"
		      "mysql UPDATE t db=d [update t set b=? where a > ?] rows=1\n"
		      "mysql SELECT t db=d [select a, b from t where a < ?] rows=1\n"
		      "mysql SELECT db=d [select nonsense from] status=1064 42000 failed\n"
		      "mysql UPDATE t db=d [update t set b=? where a > ?] rows=0\n");
}

#define GREETING "\x30\0\0\0\x0a" "8.0.36\0" "....12345678\0" "\0\x08\x21\2\0\0\0\x15..........123456789012"

static void test_tls(void **state)
{
	static const char ask[] = "\x20\0\0\1\0\x08\0\0\0\0\0\1\x21.......................";
	struct feed f;

	(void)state;
	feed_init(&f);
	feed_bytes(&f, CALL_DIR_RECEIVED, GREETING, 52, 0);
	feed_bytes(&f, CALL_DIR_SENT, ask, 36, 0);
	assert_int_equal(f.switched, CALL_SWITCH_TLS);
	feed_fini(&f);
}

/* A result set without EOF packets, then a row in a hole. */
static void test_holes(void **state)
{
	static const char rows[] = "\1\0\0\1\1" "\3\0\0\2abc" "\x80\0\0\3\x7frow";
	struct feed f;

	(void)state;
	feed_init(&f);
	feed_bytes(&f, CALL_DIR_SENT, "\x09\0\0\0\3select 1", 13, 0);
	feed_bytes(&f, CALL_DIR_RECEIVED, rows, 20, 0x7c);
	feed_bytes(&f, CALL_DIR_RECEIVED, "\7\0\0\4\xfe\0\0\2\0\0\0", 11, 0);
	assert_string_equal(feed_calls(&f), "mysql SELECT [select ?] rows=1 ask=13@1-1 answer=155@2-3\n");
	feed_fini(&f);
}

/* Only the header was seen, first of the response, then of its row: both contradict nothing, and say no end. */
static void test_headers(void **state)
{
	static const char rows[] = "\1\0\0\1\1" "\3\0\0\2abc" "\5\0\0\3";
	struct feed f;

	(void)state;
	feed_init(&f);
	f.terse = true;
	feed_bytes(&f, CALL_DIR_SENT, "\x09\0\0\0\3select 1", 13, 0);
	feed_bytes(&f, CALL_DIR_RECEIVED, "\1\0\0\1", 4, 60);
	feed_bytes(&f, CALL_DIR_SENT, "\x09\0\0\0\3select 2", 13, 0);
	feed_bytes(&f, CALL_DIR_RECEIVED, rows, 16, 30);
	feed_bytes(&f, CALL_DIR_SENT, "\x09\0\0\0\3select 3", 13, 0);
	feed_bytes(&f, CALL_DIR_RECEIVED, "\7\0\0\1\0\1\0\2\0\0\0", 11, 0);
	assert_string_equal(feed_calls(&f), "mysql SELECT [select ?] lost cut\n"
					    "mysql SELECT [select ?] cut\n"
					    "mysql SELECT [select ?] rows=1\n");
	feed_fini(&f);
}

/* Of two calls the first response and the second request were lost: the second response is not the first one. */
static void test_lost(void **state)
{
	struct feed f;

	(void)state;
	feed_init(&f);
	f.terse = true;
	feed_bytes(&f, CALL_DIR_SENT, "\x09\0\0\0\3select 1", 13, 0);
	feed_bytes(&f, CALL_DIR_RECEIVED, "\7\0\0\1\0\1\0\2\0\0\0", 11, 0);
	assert_string_equal(feed_calls(&f), "mysql SELECT [select ?] rows=1\n");
	feed_bytes(&f, CALL_DIR_SENT, "\x09\0\0\0\3select 2", 13, 0);
	f.offsets[CALL_DIR_RECEIVED] += 11;
	f.offsets[CALL_DIR_SENT] += 13;
	feed_bytes(&f, CALL_DIR_RECEIVED, "\x09\0\0\1\xff\x7a\4#42S02", 13, 0);
	call_conn_close(f.conn);
	assert_string_equal(feed_calls(&f), "mysql SELECT [select ?] lost cut\n");
	feed_fini(&f);
}

/* The server reads headers first. Of the second call the rest was lost: its response is not that of the third. */
static void test_lost_rest(void **state)
{
	static const char ok[] = "\7\0\0\1\0\1\0\2\0\0\0", error[] = "\x09\0\0\1\xff\x7a\4#42S02";
	struct feed f;

	(void)state;
	feed_init(&f);
	f.terse = true;
	feed_bytes(&f, CALL_DIR_RECEIVED, "\x09\0\0\0\3select 1", 13, 0);
	feed_bytes(&f, CALL_DIR_SENT, ok, 11, 0);
	assert_string_equal(feed_calls(&f), "mysql SELECT [select ?] rows=1\n");
	feed_bytes(&f, CALL_DIR_RECEIVED, "\x09\0\0\0", 4, 0);
	f.offsets[CALL_DIR_RECEIVED] += 9;
	feed_bytes(&f, CALL_DIR_SENT, error, 13, 0);
	for (int i = 0; i < 2; i++) {
		feed_bytes(&f, CALL_DIR_RECEIVED, "\x09\0\0\0", 4, 0);
		feed_bytes(&f, CALL_DIR_RECEIVED, "\3select 1", 9, 0);
		feed_bytes(&f, CALL_DIR_SENT, ok, 11, 0);
	}
	assert_string_equal(feed_calls(&f), "mysql SELECT [select ?] rows=1\n");	/* the fourth */
	f.offsets[CALL_DIR_RECEIVED] += 13;
	f.turn = true;
	feed_bytes(&f, CALL_DIR_RECEIVED, "\x09\0\0\0\3select 1", 13, 0);
	f.turn = false;
	feed_bytes(&f, CALL_DIR_SENT, ok, 11, 0);
	assert_string_equal(feed_calls(&f), "mysql SELECT [select ?] rows=1\n");
	feed_fini(&f);
}

/* Behind a hole in the rows the last packet of the operation tells the status. */
static void test_tail(void **state)
{
	static const char rows[] = "\1\0\0\1\1" "\3\0\0\2abc" "\3\0\0\3\2ro";
	static const struct {
		const char *end, *call;
		size_t len;
	} ends[] = {
		{ "w\5\0\0\4\xfe\0\0\2\0", "mysql SELECT [select ?]\n", 10 },
		{ "w\7\0\0\4\xfe\0\0\2\0\0\0", "mysql SELECT [select ?]\n", 12 },
		{ "w\x0b\0\0\4\xff\x5b\5#42000no", "mysql SELECT [select ?] status=1371 42000 failed\n", 16 },
	};
	struct feed f;

	(void)state;
	feed_init(&f);
	f.terse = true;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		feed_bytes(&f, CALL_DIR_SENT, "\x09\0\0\0\3select 1", 13, 0);
		feed_bytes(&f, CALL_DIR_RECEIVED, rows, 18, 3000);
		feed_bytes(&f, CALL_DIR_RECEIVED, ends[i].end, ends[i].len, 0);
		assert_string_equal(feed_calls(&f), ends[i].call);
	}
	feed_bytes(&f, CALL_DIR_SENT, "\x09\0\0\0\3select 1", 13, 0);
	feed_bytes(&f, CALL_DIR_RECEIVED, rows, 18, 3000);
	feed_bytes(&f, CALL_DIR_RECEIVED, "nothing of that kind", 20, 0);
	feed_bytes(&f, CALL_DIR_SENT, "\1\0\0\0\x0e", 5, 0);
	assert_string_equal(feed_calls(&f), "mysql SELECT [select ?] cut\n");
	feed_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pymysql),
		cmocka_unit_test(test_client),
		cmocka_unit_test(test_prepared),
		cmocka_unit_test(test_tls),
		cmocka_unit_test(test_holes),
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_lost_rest),
		cmocka_unit_test(test_tail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
