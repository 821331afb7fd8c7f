// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bytes that are no calls: random ones, ssh, TLS, and requests of each protocol that something else answers. Nothing
 * may be shown.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "call_feed.h"

#define CONNECTIONS 20000 /* of each kind */
#define CHUNK 200

static uint64_t seed = 1;

static uint8_t next_byte(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint8_t)(seed >> 56);
}

static size_t random_bytes(uint8_t *to)
{
	size_t n = 1 + next_byte() % CHUNK;

	for (size_t i = 0; i < n; i++)
		to[i] = next_byte();
	return n;
}

/* Printable lines: words, numbers and blanks. */
static size_t random_lines(uint8_t *to)
{
	static const char signs[] = "abcdefghijklmnopqrstuvwxyz0123456789      \r\n\n.,:{}";
	size_t n = random_bytes(to);

	for (size_t i = 0; i < n; i++)
		to[i] = (uint8_t)signs[to[i] % (sizeof(signs) - 1)];
	return n;
}

static size_t tls_record(uint8_t *to)
{
	size_t n = 5 + random_bytes(to + 5);

	memcpy(to, "\x17\3\3", 3);
	to[3] = 0;
	to[4] = (uint8_t)(n - 5);
	return n;
}

static size_t ssh_packet(uint8_t *to)
{
	size_t n = 4 + random_bytes(to + 4);

	memcpy(to, "\0\0", 2);
	to[2] = 0;
	to[3] = (uint8_t)(n - 4);
	return n;
}

typedef size_t (*make_fn)(uint8_t *to);

static void assert_nothing(make_fn ask, make_fn answer, const char *first)
{
	struct feed f;
	uint8_t bytes[CHUNK + 8];

	feed_init(&f);
	if (first)
		feed_sent(&f, first);
	for (int turn = 0; turn < 6; turn++) {
		make_fn make = (turn & 1) == (first != NULL) ? ask : answer;

		feed_bytes(&f, turn & 1 ? CALL_DIR_RECEIVED : CALL_DIR_SENT, bytes, make(bytes), 0);
	}
	call_conn_close(f.conn);
	assert_string_equal(feed_calls(&f), "");
	feed_fini(&f);
}

static void test_noise(void **state)
{
	static const make_fn makers[] = { random_bytes, random_lines, tls_record, ssh_packet };

	(void)state;
	for (int i = 0; i < CONNECTIONS; i++)
		for (size_t k = 0; k < ARRAY_SIZE(makers); k++)
			assert_nothing(makers[k], makers[k], k == 3 ? "SSH-2.0-OpenSSH_9.2p1\r\n" : NULL);
}

static size_t read_seed(const char *name, uint8_t *to, size_t most)
{
	char path[512];
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "%s/../fuzz/corpus/%s", TEST_DATA, name);
	file = fopen(path, "re");
	assert_non_null(file);
	n = fread(to, 1, most, file);
	fclose(file);
	return n;
}

/* The first request of a recorded connection. */
static size_t first_request(const char *name, uint8_t *to)
{
	uint8_t bytes[4096];
	size_t n = read_seed(name, bytes, sizeof(bytes)), at = 0;

	while (at < n) {
		uint8_t head = bytes[at++];
		size_t len = head >> 3;

		if (len == 30) {
			len = bytes[at++];
		} else if (len == 31) {
			len = bytes[at] | (size_t)bytes[at + 1] << 8;
			at += 2;
		}
		if (head & 1) {
			assert_true(at + len <= n);
			memcpy(to, bytes + at, len);
			return len;
		}
		at += len;
	}
	fail();
	return 0;
}

static void assert_no_answer(const uint8_t *request, size_t len)
{
	static const make_fn makers[] = { random_bytes, random_lines, tls_record, ssh_packet };
	uint8_t bytes[CHUNK + 8];

	for (int round = 0; round < CONNECTIONS / 10; round++) {
		make_fn make = makers[round % ARRAY_SIZE(makers)];
		struct feed f;

		feed_init(&f);
		feed_bytes(&f, CALL_DIR_SENT, request, len, 0);
		for (int turn = 0; turn < 3; turn++) {
			feed_bytes(&f, CALL_DIR_RECEIVED, bytes, make(bytes), 0);
			feed_bytes(&f, CALL_DIR_SENT, bytes, make(bytes), 0);
		}
		call_conn_close(f.conn);
		assert_string_equal(feed_calls(&f), "");
		feed_fini(&f);
	}
}

/* A request is not enough. */
static void test_one_side(void **state)
{
	static const char *const names[] = {
		"call_amqp/producer",  "call_cql/client",     "call_cql/segments",     "call_fastcgi/get",
		"call_http1/get",      "call_kafka/client",   "call_memcached/binary", "call_memcached/meta",
		"call_memcached/text", "call_mongodb/client", "call_nats/asker",       "call_redis/redis_py",
	};
	/* in the middle of a connection: queries of MySQL and PostgreSQL */
	static const char mysql[] = "\x09\0\0\0\x03SELECT 1", postgresql[] = "Q\0\0\0\x0dSELECT 1";
	uint8_t request[4096];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_no_answer(request, first_request(names[i], request));
	assert_no_answer((const uint8_t *)mysql, sizeof(mysql) - 1);
	assert_no_answer((const uint8_t *)postgresql, sizeof(postgresql));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_noise), cmocka_unit_test(test_one_side) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
