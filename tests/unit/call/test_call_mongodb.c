// SPDX-License-Identifier: GPL-2.0-or-later
/* MongoDB: exchanges made by tests/e2e/call_messages.py, and holes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "call_replay.h"

/* Responses in another order; documents beside the command; no answer; several answers; nothing of a login. */
static void test_client(void **state)
{
	(void)state;
	assert_replay("call_mongodb/client",
		      "mongodb isMaster db=admin status=0\n"
		      "mongodb saslStart status=18 AuthenticationFailed failed\n"
		      "mongodb find orders db=shop [{find: orders, filter: {status: ?, n: {$gt: ?, $in: [?]}}, "
		      "limit: ?}] status=0 rows=2\n"
		      "mongodb find orders db=shop [{find: orders, filter: {status: ?, n: {$gt: ?, $in: [?]}}, "
		      "limit: ?}] status=0 rows=0 index=1\n"
		      "mongodb find orders db=shop [{find: orders, filter: {status: ?, n: {$gt: ?, $in: [?]}}, "
		      "limit: ?}] status=0\n"
		      "mongodb insert orders db=shop [{insert: orders}] status=11000 11000 rows=1 failed\n"
		      "mongodb insert log db=shop [{insert: log, documents: [{a: ?, b: ?}, {c: ?}]}] oneway\n"
		      "mongodb aggregate orders db=shop [{aggregate: orders, pipeline: [{$match: {who: ?}}, {$group: "
		      "{_id: ?}}], cursor: {}}] status=13 Unauthorized failed\n"
		      "mongodb getMore orders db=shop [{getMore: ?, collection: orders}] status=0 rows=1\n"
		      "mongodb hello status=0\n"
		      "mongodb createUser status=0\n"
		      "mongodb update orders db=shop [{update: orders, updates: [{q: {_id: ?}, u: {$set: {a: ?}}}]}] "
		      "status=0 rows=1\n");
}

#define FIND \
	"\310\0\0\0\1\0\0\0\0\0\0\0\335\7\0\0" \
	"\0\0\0\0\0" \
	"\263\0\0\0" \
	"\2find\0\2\0\0\0c\0" \
	"\2x\0\226\0\0\0s"
#define FOUND \
	"\310\0\0\0\2\0\0\0\1\0\0\0\335\7\0\0" \
	"\0\0\0\0\0" \
	"\263\0\0\0" \
	"\3cursor\0\226\0\0\0"
#define OTHER \
	"\310\0\0\0\2\0\0\0\1\0\0\0\335\7\0\0" \
	"\0\0\0\0\0" \
	"\263\0\0\0" \
	"\2text\0\226\0\0\0"

/* Fields behind a hole are unknown. A cursor says that the command succeeded, also if its documents are in a hole. */
static void test_holes(void **state)
{
	struct feed f;

	(void)state;
	feed_init(&f);
	for (int i = 0; i < 2; i++) {
		feed_bytes(&f, CALL_DIR_SENT, FIND, sizeof(FIND) - 1, 200 - (sizeof(FIND) - 1));
		if (i)
			feed_bytes(&f, CALL_DIR_RECEIVED, OTHER, sizeof(OTHER) - 1, 200 - (sizeof(OTHER) - 1));
		else
			feed_bytes(&f, CALL_DIR_RECEIVED, FOUND, sizeof(FOUND) - 1, 200 - (sizeof(FOUND) - 1));
	}
	assert_string_equal(feed_calls(&f),
			    "mongodb find c [{find: c, x: ?}] status=0 ask=200@1-1 answer=200@2-2 cut\n"
			    "mongodb find c [{find: c, x: ?}] ask=200@3-3 answer=200@4-4 cut\n");
	assert_int_equal(f.pool.missed[CALL_MISS_LOST], 0);
	feed_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_client), cmocka_unit_test(test_holes) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
