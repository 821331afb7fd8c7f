// SPDX-License-Identifier: GPL-2.0-or-later
/* NATS: recorded connections with a server of version 2.9 (tests/fuzz/call_seeds.py), and holes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "call_replay.h"

/* A request with two replies, a request without responders, and messages without reply. */
static void test_asker(void **state)
{
	(void)state;
	assert_replay("call_nats/asker", "nats connect\n"
					 "nats subscribe _INBOX.a.* oneway\n"
					 "nats publish news oneway\n"
					 "nats publish nobody oneway\n"
					 "nats request work.y index=1\n"
					 "nats request work.x\n"
					 "nats request void status=503 503 failed\n");
}

/* The other side: it is asked by messages, and answers with messages. */
static void test_answerer(void **state)
{
	(void)state;
	assert_replay("call_nats/answerer", "nats connect\n"
					    "nats subscribe work.* oneway\n"
					    "nats subscribe news oneway\n"
					    "nats deliver news oneway\n"
					    "nats request work.y index=1\n"
					    "nats request work.x\n");
}

static void test_verbose(void **state)
{
	(void)state;
	assert_replay("call_nats/verbose", "nats connect\n"
					   "nats publish news\n"
					   "nats subscribe bad..subject Invalid Subject failed\n");
}

static void test_refused(void **state)
{
	(void)state;
	assert_replay("call_nats/refused", "nats connect Authorization Violation failed\n");
}

#define HELLO "INFO {\"server_id\":\"x\"}\r\n"
#define CONNECT "CONNECT {\"verbose\":false}\r\n"

/* Holes in messages cost nothing; behind one in a line the next chunk may begin with another. */
static void test_holes(void **state)
{
	struct feed f;

	(void)state;
	feed_init(&f);
	feed_received(&f, HELLO);
	feed_sent(&f, CONNECT "PING\r\n");
	feed_received(&f, "PONG\r\n");
	feed_bytes(&f, CALL_DIR_SENT, "PUB a 1000\r\nx", 13, 1001);
	feed_sent(&f, "PUB b in 3\r\nxyz\r\n");
	feed_bytes(&f, CALL_DIR_RECEIVED, "MSG in 1 1000\r\nx", 16, 1001);
	assert_int_equal(f.pool.missed[CALL_MISS_LOST], 0);
	feed_bytes(&f, CALL_DIR_SENT, "PUB c", 5, 100);
	assert_int_equal(call_conn_most(f.conn), 2);
	feed_sent(&f, "PUB d 1\r\nx\r\n");
	assert_string_equal(feed_calls(&f), "nats connect ask=27@2-2 answer=6@3-3\n"
					    "nats publish a ask=1014@4-4 oneway\n"
					    "nats request b ask=17@5-5 answer=1017@6-6\n"
					    "nats publish d ask=12@8-8 oneway\n");
	assert_int_equal(f.pool.missed[CALL_MISS_LOST], 1);
	feed_fini(&f);
}

/* Nothing is shown before both sides have spoken. */
static void test_one_side(void **state)
{
	struct feed f;

	(void)state;
	feed_init(&f);
	f.terse = true;
	feed_sent(&f, "PUB a 1\r\nx\r\n");
	assert_string_equal(feed_calls(&f), "");
	feed_received(&f, "PING\r\n");
	feed_sent(&f, "PONG\r\nPUB b 1\r\nx\r\n");
	assert_string_equal(feed_calls(&f), "nats publish a oneway\nnats publish b oneway\n");
	assert_int_equal(f.pool.missed[CALL_MISS_UNCONFIRMED], 0);
	feed_fini(&f);
	feed_init(&f);
	feed_sent(&f, "PUB a 1\r\nx\r\n");
	call_conn_close(f.conn);
	assert_string_equal(feed_calls(&f), "");
	assert_int_equal(f.pool.missed[CALL_MISS_UNCONFIRMED], 1);
	feed_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_asker),	cmocka_unit_test(test_answerer), cmocka_unit_test(test_verbose),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_holes),	 cmocka_unit_test(test_one_side),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
