// SPDX-License-Identifier: GPL-2.0-or-later
/* Redis: recorded connections with a server of version 7.0: python3-redis, and RESP 3 with inline commands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "call/call_queue.h"
#include "call_replay.h"

static void test_client(void **state)
{
	(void)state;
	assert_replay("call_redis/redis_py",
		      "redis AUTH db=0\n"
		      "redis SELECT db=0\n"
		      "redis SET 01b7fe14ccc37d60 db=2\n"
		      "redis GET 01b7fe14ccc37d60 db=2\n"
		      "redis CONFIG GET db=2\n"
		      "redis LPUSH 01b7fe14ccc37d60 db=2 WRONGTYPE failed\n"
		      "redis MULTI db=2\n"
		      "redis INCRBY f7ec01a65d6a6277 db=2 index=1\n"
		      "redis HSET 08a7541b3691e88b db=2 index=2\n"
		      "redis EXEC db=2 index=3\n"
		      "redis GET 64d1efa5e7c21f14 db=2\n"
		      "redis GET b22f705978487675 db=2 index=1\n"
		      "redis GET 52a1c907adcd5738 db=2 index=2\n"
		      "redis GET 59c5b6e5ea93ea5a db=2 index=3\n"
		      "redis HGETALL 08a7541b3691e88b db=2\n");
}

/* Messages are no replies; a subscription of two channels has two confirmations. */
static void test_pubsub(void **state)
{
	(void)state;
	assert_replay("call_redis/pubsub",
		      "redis AUTH db=0\n"
		      "redis SUBSCRIBE 792905e2f2727169 db=0\n"
		      "redis UNSUBSCRIBE 792905e2f2727169 db=0\n");
}

static void test_resp3(void **state)
{
	(void)state;
	assert_replay("call_redis/resp3",
		      "redis HELLO db=0\n"
		      "redis SUBSCRIBE 5601da1cd1eea807 db=0\n"
		      "redis HGETALL 08a7541b3691e88b db=0\n"
		      "redis GET 01b7fe14ccc37d60 db=0\n"
		      "redis CLIENT SETNAME db=0\n"
		      "redis NOPE db=0 ERR failed\n");
}

/* Holes in values cost nothing, on both sides. */
static void test_holes(void **state)
{
	struct feed f;

	(void)state;
	feed_init(&f);
	feed_bytes(&f, CALL_DIR_SENT, "*3\r\n$3\r\nset\r\n$1\r\nk\r\n$1000\r\nxx", 29, 1000);
	feed_received(&f, "+OK\r\n");
	feed_sent(&f, "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n");
	feed_bytes(&f, CALL_DIR_RECEIVED, "$1000\r\nxx", 9, 1000);
	f.terse = true;
	assert_string_equal(feed_calls(&f), "redis SET 4dc0485dfa7c2b24 db=0 ask=1029@1-1 answer=5@2-2\n"
					    "redis GET 4dc0485dfa7c2b24 db=0 ask=20@3-3 answer=1009@4-4\n");
	assert_int_equal(f.pool.missed[CALL_MISS_LOST], 0);
	feed_fini(&f);
}

/* An array of strings is not a command. */
static void test_late(void **state)
{
	struct feed f;

	(void)state;
	feed_init(&f);
	f.terse = true;
	feed_received(&f, "*2\r\n$3\r\nfoo\r\n$3\r\nbar\r\n");
	assert_int_equal(call_conn_state(f.conn), CALL_CONN_NEW);
	feed_sent(&f, "*1\r\n$4\r\nPING\r\n");
	feed_received(&f, "+PONG\r\n");
	assert_string_equal(feed_calls(&f), "redis PING db=0\n");
	feed_fini(&f);
}

/* Of random bytes behind a command, two of 65,536 are a sign and the end of a line. */
static void test_half_an_end_of_line_is_no_reply(void **state)
{
	struct feed f;

	(void)state;
	feed_init(&f);
	f.terse = true;
	feed_sent(&f, "*1\r\n$4\r\nPING\r\n");
	feed_received(&f, "+\n\x8f\x02\x13");
	assert_string_equal(feed_calls(&f), "");
	feed_fini(&f);
}

/* The lines of @text that begin with @begin and have @word. */
static int count_lines(const char *text, const char *begin, const char *word)
{
	int n = 0;

	for (const char *stop; (stop = strchr(text, '\n')); text = stop + 1)
		n += !strncmp(text, begin, strlen(begin)) && memmem(text, (size_t)(stop - text), word, strlen(word));
	return n;
}

/* Of commands that follow each other, only the first bytes were kept, whichever: each reply is a call. */
static void test_hidden_commands(void **state)
{
	static const char command[] = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$3\r\nabc\r\n";
	static const char replies[] = "+OK\r\n+OK\r\n-ERR no\r\n$2\r\nOK\r\n", ping[] = "*1\r\n$4\r\nPING\r\n";
	const size_t n = sizeof(command) - 1, kept_min = 13;	/* the word that shows the protocol */
	char commands[4 * sizeof(command)];

	(void)state;
	snprintf(commands, sizeof(commands), "%s%s%s%s", command, command, command, command);
	for (size_t kept = kept_min; kept < 4 * n; kept++) {
		const char *calls;
		int pings;
		struct feed f;

		feed_init(&f);
		f.terse = true;
		feed_bytes(&f, CALL_DIR_SENT, commands, kept, 4 * n - kept);
		feed_received(&f, replies);
		feed_sent(&f, ping);
		feed_received(&f, "+PONG\r\n");
		calls = feed_calls(&f);
		assert_int_equal(count_lines(calls, "redis", ""), 5);
		/* Unless a value alone is in the hole, it is unknown whether all were answered when PING came. */
		pings = count_lines(calls, "redis PING db=0", "");
		assert_int_equal(pings, kept > 4 * n - 6);
		assert_int_equal(count_lines(calls, "redis SET", "") - count_lines(calls, "redis SET", " cut") +
					 count_lines(calls, "redis", " cut"),
				 5 - pings);
		assert_int_equal(call_conn_most(f.conn) > 1, 1);
		feed_fini(&f);
	}
}

/* More commands than calls are kept: no reply goes to another one's call, and each is a call. */
static void test_more_than_fit(void **state)
{
	enum { N = CALL_QUEUE_MAX + 35 };
	static char commands[40 * N], replies[40 * N];
	const char *calls;
	struct feed f;

	(void)state;
	for (int i = 0; i < N; i++) {
		snprintf(commands + strlen(commands), sizeof(commands) - strlen(commands),
			 "*2\r\n$3\r\n%s\r\n$1\r\nk\r\n", i % 3 ? "GET" : "DEL");
		snprintf(replies + strlen(replies), sizeof(replies) - strlen(replies), "%s",
			 i % 3 ? "$1\r\nx\r\n" : "-ERR\r\n");
	}
	feed_init(&f);
	f.terse = true;
	feed_sent(&f, commands);
	feed_received(&f, replies);
	calls = feed_calls(&f);
	assert_int_equal(count_lines(calls, "redis GET", " failed"), 0);
	assert_int_equal(count_lines(calls, "redis DEL", " failed"), count_lines(calls, "redis DEL", ""));
	assert_int_equal(count_lines(calls, "redis DEL", "") + count_lines(calls, "redis GET", ""), CALL_QUEUE_MAX);
	assert_int_equal(count_lines(calls, "redis", " cut"), N - CALL_QUEUE_MAX);
	assert_int_equal(count_lines(calls, "redis", ""), N);
	feed_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_client),
		cmocka_unit_test(test_pubsub),
		cmocka_unit_test(test_resp3),
		cmocka_unit_test(test_holes),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_half_an_end_of_line_is_no_reply),
		cmocka_unit_test(test_hidden_commands),
		cmocka_unit_test(test_more_than_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
