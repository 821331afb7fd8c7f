// SPDX-License-Identifier: GPL-2.0-or-later
/* Kafka: exchanges made by tests/e2e/call_messages.py, and holes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "call_replay.h"

/* Old and flexible versions; pipelined requests; a produce without answer; errors at each place. */
static void test_client(void **state)
{
	(void)state;
	assert_replay("call_kafka/client", "kafka ApiVersions status=0\n"
					   "kafka SaslHandshake PLAIN status=0\n"
					   "kafka SaslAuthenticate status=58 SASL_AUTHENTICATION_FAILED failed\n"
					   "kafka Metadata orders\n"
					   "kafka Produce orders status=0\n"
					   "kafka Produce orders status=6 NOT_LEADER_OR_FOLLOWER failed\n"
					   "kafka Produce metrics oneway\n"
					   "kafka Fetch orders status=0\n"
					   "kafka Fetch orders status=0\n"
					   "kafka Fetch gone status=3 UNKNOWN_TOPIC_OR_PARTITION failed index=1\n"
					   "kafka Fetch orders status=70 FETCH_SESSION_ID_NOT_FOUND failed index=2\n"
					   "kafka Fetch AAECAwQFBgcICQoLDA0ODw\n"
					   "kafka FindCoordinator shop status=0\n"
					   "kafka JoinGroup shop status=79 MEMBER_ID_REQUIRED failed\n"
					   "kafka Heartbeat shop status=27 REBALANCE_IN_PROGRESS failed\n"
					   "kafka OffsetCommit shop status=22 ILLEGAL_GENERATION failed\n"
					   "kafka CreateTopics orders status=36 TOPIC_ALREADY_EXISTS failed\n");
}

#define PRODUCE \
	"\0\0\3\350" \
	"\0\0\0\7\0\0\0\1\0\1c" \
	"\377\377\0\1\0\0\0\1" \
	"\0\0\0\1\0\1t" \
	"\0\0\0\1"
#define PRODUCED \
	"\0\0\0\25" \
	"\0\0\0\1" \
	"\0\0\0\1\0\1t" \
	"\0\0\0\1\0\0\0\0\0\5"

/* Holes in records cost nothing; a topic that was not captured is unknown. */
static void test_holes(void **state)
{
	struct feed f;

	(void)state;
	feed_init(&f);
	feed_bytes(&f, CALL_DIR_SENT, PRODUCE, sizeof(PRODUCE) - 1, 1004 - (sizeof(PRODUCE) - 1));
	feed_bytes(&f, CALL_DIR_RECEIVED, PRODUCED, sizeof(PRODUCED) - 1, 0);
	feed_bytes(&f, CALL_DIR_SENT, PRODUCE, 24, 1004 - 24);
	feed_bytes(&f, CALL_DIR_RECEIVED, PRODUCED, 8, 25 - 8);
	assert_string_equal(feed_calls(&f),
			    "kafka Produce t status=5 LEADER_NOT_AVAILABLE ask=1004@1-1 answer=25@2-2 failed\n"
			    "kafka Produce ask=1004@3-3 answer=25@4-4 cut\n");
	assert_int_equal(f.pool.missed[CALL_MISS_LOST], 0);
	feed_fini(&f);
}

/* The first response has to have the number of a request. */
static void test_contradiction(void **state)
{
	struct feed f;

	(void)state;
	feed_init(&f);
	feed_bytes(&f, CALL_DIR_SENT, PRODUCE, sizeof(PRODUCE) - 1, 1004 - (sizeof(PRODUCE) - 1));
	feed_bytes(&f, CALL_DIR_RECEIVED, "\0\0\0\10\0\0\0\2\0\0\0\0", 12, 0);
	assert_string_equal(feed_calls(&f), "");
	assert_int_equal(f.pool.missed[CALL_MISS_CONTRADICTED], 1);
	feed_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_client),
		cmocka_unit_test(test_holes),
		cmocka_unit_test(test_contradiction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
