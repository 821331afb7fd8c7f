// SPDX-License-Identifier: GPL-2.0-or-later
/* PostgreSQL: recorded connections of psql and pgbench with a server of version 15; holes, TLS, late starts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "call_replay.h"

#define ACCOUNTS "SELECT pgbench_accounts db=postgres [SELECT abalance FROM pgbench_accounts WHERE aid = ?] rows=1\n"

static void test_simple(void **state)
{
	(void)state;
	assert_replay("call_postgresql/simple",
		      "postgresql CREATE t db=postgres [create table if not exists t(a int primary key, b text)]\n"
		      "postgresql INSERT t db=postgres [insert into t values (?,?)] rows=2\n"
		      "postgresql SELECT t db=postgres [select * from t where b = ? and a in (?)] rows=1\n"
		      "postgresql SELECT db=postgres [select ?/?] 22012 failed\n"
		      "postgresql BEGIN db=postgres [begin; update t set b=? where a>?; commit] rows=2\n"
		      "postgresql DELETE t db=postgres [delete from t where a=?] rows=1\n");
}

static void test_copy(void **state)
{
	(void)state;
	assert_replay("call_postgresql/copy_in", "postgresql COPY t db=postgres [copy t from stdin] rows=2\n");
	assert_replay("call_postgresql/copy_out", "postgresql COPY t db=postgres [copy t to stdout] rows=3\n");
}

static void test_extended(void **state)
{
	(void)state;
	assert_replay("call_postgresql/extended",
		      "postgresql " ACCOUNTS "postgresql " ACCOUNTS "postgresql " ACCOUNTS);
	assert_replay("call_postgresql/prepared",
		      "postgresql " ACCOUNTS "postgresql " ACCOUNTS "postgresql " ACCOUNTS);
}

/* An error ends the rest of its group. */
static void test_pipeline(void **state)
{
	(void)state;
	assert_replay("call_postgresql/pipeline",
		      "postgresql SELECT db=postgres [select ?] rows=1\n"
		      "postgresql SELECT pgbench_accounts db=postgres [select abalance from pgbench_accounts where "
		      "aid=?] rows=1 index=1\n"
		      "postgresql SELECT db=postgres [select ?] rows=1 index=2\n"
		      "postgresql SELECT db=postgres [select ?] rows=1\n"
		      "postgresql SELECT db=postgres [select ?/?] 22012 failed index=1\n"
		      "postgresql SELECT db=postgres [select ?] failed reset index=2\n");
}

#define SSL_REQUEST "\0\0\0\x08\x04\xd2\x16\x2f"
#define QUERY(text) "Q\0\0\0" text
#define DONE "C\0\0\0\rSELECT 7\0Z\0\0\0\005I"

static void test_tls(void **state)
{
	struct feed f;

	(void)state;
	feed_init(&f);
	feed_bytes(&f, CALL_DIR_SENT, SSL_REQUEST, 8, 0);
	feed_bytes(&f, CALL_DIR_RECEIVED, "S", 1, 0);
	assert_int_equal(f.switched, CALL_SWITCH_TLS);
	assert_int_equal(call_conn_state(f.conn), CALL_CONN_IGNORED);
	feed_fini(&f);
}

/* Rows in a hole cost nothing; a long statement is cut. */
static void test_holes(void **state)
{
	static const char rows[] = "T\0\0\x10\0abcd";
	struct feed f;

	(void)state;
	feed_init(&f);
	feed_bytes(&f, CALL_DIR_SENT, QUERY("\x0dselect 1"), 13, 0);
	feed_bytes(&f, CALL_DIR_SENT, "\0", 1, 0);
	feed_bytes(&f, CALL_DIR_RECEIVED, rows, 9, 0x1000 - 8);
	feed_bytes(&f, CALL_DIR_RECEIVED, DONE, sizeof(DONE) - 1, 0);
	assert_string_equal(feed_calls(&f), "postgresql SELECT [select ?] rows=7 ask=14@1-2 answer=4117@3-4\n");
	feed_bytes(&f, CALL_DIR_SENT, "Q\0\x10\0\0select 'secre", 18, 0x100000 + 1 - 18);
	feed_bytes(&f, CALL_DIR_RECEIVED, DONE, sizeof(DONE) - 1, 0);
	assert_string_equal(feed_calls(&f),
			    "postgresql SELECT [select ?] rows=7 ask=1048577@5-5 answer=20@6-6 cut\n");
	/* The responses' start is lost with a hole; the next query finds it again. */
	feed_bytes(&f, CALL_DIR_SENT, QUERY("\x0dselect 1"), 14, 0);
	feed_bytes(&f, CALL_DIR_RECEIVED, rows, 3, 3000);
	feed_bytes(&f, CALL_DIR_SENT, QUERY("\x0dselect 2"), 14, 0);
	feed_bytes(&f, CALL_DIR_RECEIVED, DONE, sizeof(DONE) - 1, 0);
	f.terse = true;
	assert_string_equal(feed_calls(&f),
			    "postgresql SELECT [select ?] ask=14@7-7 lost cut\n"
			    "postgresql SELECT [select ?] rows=7 ask=14@9-9 answer=20@10-10\n");
	feed_fini(&f);
}

#define ASK_ONE QUERY("\x0dselect 1")
#define ROW "T\0\0\0\x06\0\0D\0\0\0\x06\0"	/* the second message goes on in a hole */
#define FAILED "E\0\0\0\x1dSERROR\0C22012\0Mdivision\0\0Z\0\0\0\005I"

/* Behind a hole in the rows the end of the operation tells the status; else the call is cut. */
static void test_tail(void **state)
{
	struct feed f;

	(void)state;
	feed_init(&f);
	f.terse = true;
	feed_bytes(&f, CALL_DIR_SENT, ASK_ONE, 14, 0);
	feed_bytes(&f, CALL_DIR_RECEIVED, ROW, 13, 3000);
	feed_bytes(&f, CALL_DIR_RECEIVED, "more rows, not at their start", 29, 100);
	feed_bytes(&f, CALL_DIR_RECEIVED, "row" DONE, sizeof("row" DONE) - 1, 0);
	assert_string_equal(feed_calls(&f), "postgresql SELECT [select ?] rows=7\n");
	feed_bytes(&f, CALL_DIR_SENT, ASK_ONE, 14, 0);
	feed_bytes(&f, CALL_DIR_RECEIVED, ROW, 13, 3000);
	feed_bytes(&f, CALL_DIR_RECEIVED, "row" FAILED, sizeof("row" FAILED) - 1, 0);
	assert_string_equal(feed_calls(&f), "postgresql SELECT [select ?] 22012 failed\n");
	feed_bytes(&f, CALL_DIR_SENT, ASK_ONE, 14, 0);
	feed_bytes(&f, CALL_DIR_RECEIVED, ROW, 13, 3000);
	/* a length that does not fit */
	feed_bytes(&f, CALL_DIR_RECEIVED, "C\0\0\0\x0eSELECT 7\0Z\0\0\0\005I", 20, 0);
	assert_string_equal(feed_calls(&f), "");
	feed_bytes(&f, CALL_DIR_SENT, ASK_ONE, 14, 0);
	feed_bytes(&f, CALL_DIR_RECEIVED, DONE, sizeof(DONE) - 1, 0);
	assert_string_equal(feed_calls(&f),
			    "postgresql SELECT [select ?] cut\npostgresql SELECT [select ?] rows=7\n");
	feed_fini(&f);
}

/* The same of a statement that is longer than what was kept: its Bind, Execute and Sync are in a hole. */
static void test_tail_of_long(void **state)
{
	struct feed f;

	(void)state;
	feed_init(&f);
	f.terse = true;
	feed_bytes(&f, CALL_DIR_SENT, "P\0\0\x08\0\0select a from t", 21, 0x800 + 40);
	feed_bytes(&f, CALL_DIR_RECEIVED, "1\0\0\0\4" "2\0\0\0\4" ROW, 23, 3000);
	feed_bytes(&f, CALL_DIR_RECEIVED, "row" FAILED, sizeof("row" FAILED) - 1, 0);
	call_conn_close(f.conn);
	assert_string_equal(feed_calls(&f), "postgresql SELECT t [select a from t] 22012 failed cut\n");
	feed_fini(&f);
}

/* Of several calls at once the end belongs to the last, and says nothing of the others. */
static void test_tail_of_several(void **state)
{
	static const char two[] = "B\0\0\0\x0c\0\0\0\0\0\0\0\0E\0\0\0\x09\0\0\0\0\0";
	struct feed f;

	(void)state;
	feed_init(&f);
	f.terse = true;
	for (int i = 0; i < 2; i++)
		feed_bytes(&f, CALL_DIR_SENT, two, sizeof(two) - 1, 0);
	feed_bytes(&f, CALL_DIR_SENT, "S\0\0\0\4", 5, 0);
	feed_bytes(&f, CALL_DIR_RECEIVED, "2\0\0\0\4" ROW, 18, 3000);
	feed_bytes(&f, CALL_DIR_RECEIVED, DONE, sizeof(DONE) - 1, 0);
	assert_string_equal(feed_calls(&f), "");
	call_conn_close(f.conn);
	assert_string_equal(feed_calls(&f), "postgresql lost cut midstream\npostgresql lost cut midstream index=1\n");
	feed_fini(&f);
}

/* Statements prepared before the capture have no text. */
static void test_midstream(void **state)
{
	struct feed f;

	(void)state;
	feed_init(&f);
	f.terse = true;
	feed_bytes(&f, CALL_DIR_SENT, "B\0\0\0\x10\0stm1\0\0\0\0\0\0\0E\0\0\0\x09\0\0\0\0\0S\0\0\0\4", 32, 0);
	feed_bytes(&f, CALL_DIR_RECEIVED, "2\0\0\0\4" DONE, sizeof(DONE) - 1 + 5, 0);
	assert_string_equal(feed_calls(&f), "postgresql rows=7 midstream\n");
	feed_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_simple),
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_extended),
		cmocka_unit_test(test_pipeline),
		cmocka_unit_test(test_tls),
		cmocka_unit_test(test_holes),
		cmocka_unit_test(test_tail),
		cmocka_unit_test(test_tail_of_long),
		cmocka_unit_test(test_tail_of_several),
		cmocka_unit_test(test_midstream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
