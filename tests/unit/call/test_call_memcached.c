// SPDX-License-Identifier: GPL-2.0-or-later
/* memcached: recorded connections with a server of version 1.6 (tests/fuzz/call_seeds.py), and holes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "call_replay.h"

static void test_text(void **state)
{
	(void)state;
	assert_replay("call_memcached/text", "memcached set 1e0249c84e0d5b08\n"
					     "memcached get 1e0249c84e0d5b08 rows=1\n"
					     "memcached get a58dd1f9873a4b6d rows=0\n"
					     "memcached gets 1e0249c84e0d5b08 rows=1\n"
					     "memcached add 1e0249c84e0d5b08 NOT_STORED\n"
					     "memcached append 1e0249c84e0d5b08\n"
					     "memcached cas 1e0249c84e0d5b08 EXISTS\n"
					     "memcached set f7ec01a65d6a6277\n"
					     "memcached incr f7ec01a65d6a6277\n"
					     "memcached incr a58dd1f9873a4b6d NOT_FOUND\n"
					     "memcached incr 1e0249c84e0d5b08 CLIENT_ERROR client-error\n"
					     "memcached touch f7ec01a65d6a6277\n"
					     "memcached gat f7ec01a65d6a6277 rows=1\n"
					     "memcached set 8acafbd4d227d854 oneway\n"
					     "memcached delete 8acafbd4d227d854 oneway\n"
					     "memcached get 8acafbd4d227d854 rows=0\n"
					     "memcached get f7ec01a65d6a6277 rows=1\n"
					     "memcached get 1e0249c84e0d5b08 rows=1 index=1\n"
					     "memcached version index=2\n"
					     "memcached delete f7ec01a65d6a6277\n"
					     "memcached stats\n"
					     "memcached ERROR client-error\n"
					     "memcached flush_all\n");
}

/* Quiet commands: a miss is silent, a hit is known by opaque or key. */
static void test_meta(void **state)
{
	(void)state;
	assert_replay("call_memcached/meta", "memcached ms 1e0249c84e0d5b08\n"
					     "memcached mg 1e0249c84e0d5b08 rows=1\n"
					     "memcached mg a58dd1f9873a4b6d EN rows=0\n"
					     "memcached md a58dd1f9873a4b6d NF\n"
					     "memcached ms f7ec01a65d6a6277\n"
					     "memcached ma f7ec01a65d6a6277 rows=1 index=1\n"
					     "memcached mg a58dd1f9873a4b6d oneway\n"
					     "memcached mg 1e0249c84e0d5b08 rows=1 index=1\n"
					     "memcached mg 94604d921bbb095f oneway index=2\n"
					     "memcached mn index=3\n"
					     "memcached mg a58dd1f9873a4b6d oneway\n"
					     "memcached mg f7ec01a65d6a6277 rows=1 index=1\n"
					     "memcached mg 1e0249c84e0d5b08 rows=1 index=2\n"
					     "memcached mn index=3\n"
					     "memcached ms e406aafa7800b20a oneway\n"
					     "memcached md e406aafa7800b20a oneway index=1\n"
					     "memcached mn index=2\n"
					     "memcached me 1e0249c84e0d5b08\n");
}

static void test_binary(void **state)
{
	(void)state;
	assert_replay("call_memcached/binary",
		      "memcached set 1e0249c84e0d5b08 status=0\n"
		      "memcached get 1e0249c84e0d5b08 status=0 rows=1\n"
		      "memcached get a58dd1f9873a4b6d status=1 KEY_NOT_FOUND rows=0\n"
		      "memcached get a58dd1f9873a4b6d oneway\n"
		      "memcached get 1e0249c84e0d5b08 status=0 rows=1 index=1\n"
		      "memcached get 94604d921bbb095f oneway index=2\n"
		      "memcached noop status=0 index=3\n"
		      "memcached set e406aafa7800b20a oneway\n"
		      "memcached delete e406aafa7800b20a oneway index=1\n"
		      "memcached delete e406aafa7800b20a status=1 KEY_NOT_FOUND index=2\n"
		      "memcached noop status=0 index=3\n"
		      "memcached incr f7ec01a65d6a6277 status=0\n"
		      "memcached incr 1e0249c84e0d5b08 status=6 NON_NUMERIC_VALUE client-error\n"
		      "memcached version status=0\n"
		      "memcached sasl auth status=129 UNKNOWN_COMMAND client-error\n");
}

static void check(const char *sent, const char *received, const char *calls)
{
	struct feed f;

	feed_init(&f);
	f.terse = true;
	feed_sent(&f, sent);
	feed_received(&f, received);
	call_conn_close(f.conn);
	assert_string_equal(feed_calls(&f), calls);
	feed_fini(&f);
}

/* Of two quiet commands without opaque or key either may have been answered: neither gets the answer. */
static void test_doubt(void **state)
{
	(void)state;
	check("mg a v q\r\nmg b v q\r\nmn\r\n", "VA 1\r\nx\r\nMN\r\n",
	      "memcached mg e406aafa7800b20a oneway cut\n"
	      "memcached mg 6d7e71bebb948cc9 oneway cut index=1\n"
	      "memcached mn index=2\n");
	/* a set that is quiet answers failures only */
	check("ms a 1 q\r\nx\r\nms b 1\r\ny\r\n", "HD\r\n",
	      "memcached ms e406aafa7800b20a oneway\n"
	      "memcached ms 6d7e71bebb948cc9 index=1\n");
	check("ms a 1 q\r\nx\r\nms b 1\r\ny\r\n", "NS\r\nHD\r\n",
	      "memcached ms e406aafa7800b20a oneway cut\n"
	      "memcached ms 6d7e71bebb948cc9 cut index=1\n");
}

/* Holes in values cost nothing, on both sides; one in a line does. */
static void test_holes(void **state)
{
	struct feed f;

	(void)state;
	feed_init(&f);
	feed_bytes(&f, CALL_DIR_SENT, "set k 0 0 1000\r\nxx", 18, 1000);
	feed_received(&f, "STORED\r\n");
	feed_sent(&f, "get k\r\n");
	feed_bytes(&f, CALL_DIR_RECEIVED, "VALUE k 0 1000\r\nxx", 18, 1000);
	feed_received(&f, "END\r\n");
	assert_int_equal(f.pool.missed[CALL_MISS_LOST], 0);
	feed_bytes(&f, CALL_DIR_SENT, "get k k k", 9, 1000);
	feed_received(&f, "VALUE k 0 2\r\nxx\r\nEND\r\n");
	feed_sent(&f, "get k\r\n");
	feed_received(&f, "END\r\n");
	assert_string_equal(feed_calls(&f), "memcached set 4dc0485dfa7c2b24 ask=1018@1-1 answer=8@2-2\n"
					    "memcached get 4dc0485dfa7c2b24 rows=1 ask=7@3-3 answer=1023@4-5\n"
					    "memcached get 4dc0485dfa7c2b24 rows=1 ask=1009@6-6 answer=22@7-7 cut\n"
					    "memcached get 4dc0485dfa7c2b24 rows=0 ask=7@8-8 answer=5@9-9\n");
	assert_int_equal(f.pool.missed[CALL_MISS_LOST], 1);
	feed_fini(&f);
}

/* Of commands that follow each other only the first bytes were kept: each answer is a call, by name if binary. */
static void test_hidden_commands(void **state)
{
	static const char command[] = "\x80\x00\x00\x01\0\0\0\0\0\0\0\x01\0\0\0\x07\0\0\0\0\0\0\0\0k";
	static const char answer[] = "\x81\x00\0\0\0\0\0\x01\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0\0";
	static const char other[] = "\x81\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\0";
	struct feed f;

	(void)state;
	feed_init(&f);
	f.terse = true;
	feed_bytes(&f, CALL_DIR_SENT, "get a\r\nget b\r\nge", 16, 100);
	feed_received(&f, "END\r\nVALUE b 0 1\r\nx\r\nEND\r\nEND\r\nSTORED\r\nNOT_FOUND\r\n");
	assert_string_equal(feed_calls(&f), "memcached get e406aafa7800b20a rows=0\n"
					    "memcached get 6d7e71bebb948cc9 rows=1 index=1\nmemcached cut\n"
					    "memcached cut\nmemcached NOT_FOUND cut\n");
	assert_int_equal(f.pool.missed[CALL_MISS_ORPHAN], 0);
	feed_fini(&f);
	feed_init(&f);
	f.terse = true;
	feed_bytes(&f, CALL_DIR_SENT, command, sizeof(command) - 1, 100);
	feed_bytes(&f, CALL_DIR_RECEIVED, answer, sizeof(answer) - 1, 0);
	feed_bytes(&f, CALL_DIR_RECEIVED, other, sizeof(other) - 1, 0);
	assert_string_equal(feed_calls(&f), "memcached get 4dc0485dfa7c2b24 status=1 KEY_NOT_FOUND rows=0\n"
					    "memcached delete status=0 cut\n");
	feed_fini(&f);
}

/* Without answers there are no turns: behind a loss any chunk may begin with a command. */
static void test_unanswered(void **state)
{
	struct feed f;

	(void)state;
	feed_init(&f);
	f.terse = true;
	feed_sent(&f, "get k\r\n");
	feed_received(&f, "END\r\n");
	feed_bytes(&f, CALL_DIR_SENT, "delete k norep", 14, 20);
	assert_int_equal(call_conn_most(f.conn), 2);
	feed_sent(&f, "delete k noreply\r\n");
	feed_sent(&f, "touch k 1 noreply\r\n");
	assert_string_equal(feed_calls(&f), "memcached get 4dc0485dfa7c2b24 rows=0\n"
					    "memcached delete 4dc0485dfa7c2b24 lost cut\n"
					    "memcached delete 4dc0485dfa7c2b24 oneway\n"
					    "memcached touch 4dc0485dfa7c2b24 oneway\n");
	feed_fini(&f);
}

/* Commands that nothing answers come first: they are shown with the first answer, or never. */
static void test_unanswered_first(void **state)
{
	struct feed f;

	(void)state;
	check("set a 0 0 1 noreply\r\nx\r\nincr b 1\r\ndelete k noreply\r\n", "NOT_FOUND\r\n",
	      "memcached set e406aafa7800b20a oneway\n"
	      "memcached delete 4dc0485dfa7c2b24 oneway index=1\n"
	      "memcached incr 6d7e71bebb948cc9 NOT_FOUND\n");
	check("delete a noreply\r\n", "", "");
	feed_init(&f);
	for (int i = 0; i < 1030; i++)
		feed_sent(&f, "delete a noreply\r\n");
	feed_sent(&f, "version\r\n");
	assert_int_equal(f.pool.missed[CALL_MISS_MEMORY], 0);
	assert_int_equal(f.out.len, 0);
	feed_received(&f, "VERSION 1\r\n");
	assert_int_equal(f.pool.missed[CALL_MISS_MEMORY], 6);
	assert_int_equal(f.pool.n_held, 0);
	feed_fini(&f);
}

/* Words that other protocols have, too. */
static void test_others(void **state)
{
	static const char *const texts[] = { "get \x01",   "set\r\n",	   "GET / HTTP/1.0\r\n", "stats? none\r\n",
					     "delete\r\n", "incr k x\r\n", "\x80\x7f",		 "quit now\x02" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct feed f;

		feed_init(&f);
		f.pool.conf.kinds = 1u << CALL_KIND_MEMCACHED;
		feed_sent(&f, texts[i]);
		assert_null(call_conn_protocol(f.conn));
		feed_fini(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),   cmocka_unit_test(test_meta),  cmocka_unit_test(test_binary),
		cmocka_unit_test(test_doubt),  cmocka_unit_test(test_holes), cmocka_unit_test(test_hidden_commands),
		cmocka_unit_test(test_unanswered), cmocka_unit_test(test_unanswered_first),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
