// SPDX-License-Identifier: GPL-2.0-or-later
/* HTTP/1: framing, pipelines, holes, secrets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "call_feed.h"

static void test_one(void **state)
{
	struct feed f;

	(void)state;
	feed_init(&f);
	feed_sent(&f, "GET /a/b?user=bob&key=s3cret&flag HTTP/1.1\r\nHost: bob:pw@example.org\r\n"
		      "Traceparent: 00-1-2-01\r\nCookie: x\r\n\r\n");
	assert_string_equal(feed_calls(&f), "");
	feed_received(&f, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel");
	feed_received(&f, "lo");
	assert_string_equal(feed_calls(&f), "http GET /a/b?user=&key=&flag host=example.org status=200 ask=107@1-1 "
					    "answer=43@2-3\n  traceparent: 00-1-2-01\n");
	assert_int_equal(call_conn_state(f.conn), CALL_CONN_CONFIRMED);
	assert_false(call_conn_is_server(f.conn));
	feed_fini(&f);
}

static void test_pipeline(void **state)
{
	struct feed f;

	(void)state;
	feed_init(&f);
	f.terse = true;
	feed_received(&f, "GET /1 HTTP/1.1\r\n\r\nHEAD /2 HTTP/1.1\r\n\r\nPOST /3 HTTP/1.1\r\n"
			  "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGET /4 HTTP/1.1\r\n\r\nGET /5 HT");
	feed_received(&f, "TP/1.1\r\n\r\n");
	feed_sent(&f, "HTTP/1.1 204 No\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nHTTP/1.1 500 Oh\r\n"
		      "Transfer-Encoding: chunked\r\n\r\n1;a=b\r\nx\r\n0\r\nTrailer: 1\r\n\r\nHTTP/1.1 304 Not\r\n");
	assert_string_equal(feed_calls(&f), "http GET /1 status=204\nhttp HEAD /2 status=200 index=1\n"
					    "http POST /3 status=500 failed index=2\n");
	feed_sent(&f, "Content-Length: 9\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
	assert_string_equal(feed_calls(&f), "http GET /4 status=304 index=3\nhttp GET /5 status=404 client-error "
					    "index=4\n");
	assert_true(call_conn_is_server(f.conn));
	assert_int_equal(call_conn_most(f.conn), 5);
	feed_fini(&f);
}

/* Only the first bytes of requests that follow each other were kept: each response is a call. One answers HEAD. */
static void test_hidden_requests(void **state)
{
	const char *asks = "GET /1 HTTP/1.1\r\n\r\nGET /2 HT";
	struct feed f;

	(void)state;
	feed_init(&f);
	f.terse = true;
	feed_bytes(&f, CALL_DIR_SENT, asks, strlen(asks), 100);
	feed_received(&f, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno"
			  "HTTP/1.1 201 OK\r\nContent-Length: 2\r\n\r\nno"
			  "HTTP/1.1 202 OK\r\nContent-Length: 9\r\n\r\n"
			  "HTTP/1.1 203 OK\r\nContent-Length: 2\r\n\r\nno"
			  "HTTP/1.1 204 OK\r\n\r\n" "HTTP/1.1 404 OK\r\nContent-Length: 2\r\n\r\nno");
	feed_sent(&f, "GET /7 HTTP/1.1\r\n\r\n");
	feed_received(&f, "HTTP/1.1 500 OK\r\nContent-Length: 2\r\n\r\nno");
	assert_string_equal(feed_calls(&f), "http GET /1 status=200\nhttp GET /2 status=201 cut index=1\n"
					    "http status=202 cut\nhttp status=203 cut\nhttp status=204 cut\n"
					    "http status=404 client-error cut\nhttp status=500 failed cut\n");
	assert_int_equal(f.pool.missed[CALL_MISS_ORPHAN], 0);
	feed_fini(&f);
}

/* More requests than calls are kept, or than there is memory for: no response goes to another one's call. */
static void test_more_than_fit(void **state)
{
	char asks[4000] = "", answers[8000] = "";

	(void)state;
	for (int i = 0; i < 100; i++) {
		snprintf(asks + strlen(asks), sizeof(asks) - strlen(asks), "GET /%d HTTP/1.1\r\n\r\n", 300 + i);
		snprintf(answers + strlen(answers), sizeof(answers) - strlen(answers),
			 "HTTP/1.1 %d Yes\r\nContent-Length: 0\r\n\r\n", 300 + i);
	}
	for (size_t memory = 1000; memory < 40000; memory += 1000) {
		unsigned n = 0, path, status;
		struct feed f;

		feed_init(&f);
		f.terse = true;
		f.pool.bytes_max = memory;
		feed_sent(&f, asks);
		feed_received(&f, answers);
		for (const char *line = feed_calls(&f); *line; line = strchr(line, '\n') + 1, n++)
			if (sscanf(line, "http GET /%u status=%u", &path, &status) == 2)
				assert_int_equal(path, status);
			else
				assert_int_equal(sscanf(line, "http status=%u", &status), 1);
		assert_int_equal(n + f.pool.missed[CALL_MISS_MEMORY], 100);
		feed_fini(&f);
	}
}

/* A server that ends an idle connection with a response, as Apache and HAProxy do. */
/* A client's thread reads while another one's send has not ended: no response goes to another one's request. */
static void test_answered_during_the_send(void **state)
{
	struct feed f;

	(void)state;
	feed_init(&f);
	f.terse = true;
	feed_received(&f, "HTTP/1.1 204 OK\r\n\r\n");
	feed_sent(&f, "GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\n");
	feed_received(&f, "HTTP/1.1 404 Not\r\nContent-Length: 0\r\n\r\n");
	assert_string_equal(feed_calls(&f), "http GET /1 lost cut\nhttp GET /2 lost cut\n");
	feed_fini(&f);
}

static void test_request_timeout(void **state)
{
	struct feed f;

	(void)state;
	feed_init(&f);
	f.terse = true;
	feed_sent(&f, "GET /1 HTTP/1.1\r\n\r\n");
	feed_received(&f, "HTTP/1.1 204 OK\r\n\r\n");
	feed_received(&f, "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n<html>");
	call_conn_close(f.conn);
	assert_string_equal(feed_calls(&f), "http GET /1 status=204\n");
	assert_int_equal(f.pool.missed[CALL_MISS_ORPHAN], 0);
	feed_fini(&f);
}

static void test_hole_in_body(void **state)
{
	struct feed f;

	(void)state;
	feed_init(&f);
	for (int i = 0; i < 3; i++) {
		const char *head = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nstart";

		feed_sent(&f, "GET / HTTP/1.1\r\n\r\n");
		feed_bytes(&f, CALL_DIR_RECEIVED, head, strlen(head), 99995);
	}
	assert_string_equal(feed_calls(&f), "http GET / status=200 ask=18@1-1 answer=100043@2-2\n"
					    "http GET / status=200 ask=18@3-3 answer=100043@4-4\n"
					    "http GET / status=200 ask=18@5-5 answer=100043@6-6\n");
	assert_int_equal(f.pool.missed[CALL_MISS_LOST], 0);
	feed_fini(&f);
}

/* Calls of which nothing was kept: at least one, where a message is in a hole of both directions. */
static void test_nothing_of_a_call(void **state)
{
	static const char ask[] = "POST /1 HTTP/1.1\r\nContent-Length: 10\r\n\r\n";
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n";
	struct feed f;

	(void)state;
	feed_init(&f);
	f.terse = true;
	for (unsigned more = 0; more < 3; more++) {
		feed_bytes(&f, CALL_DIR_SENT, ask, sizeof(ask) - 1, more == 2 ? 11 : 10);
		feed_bytes(&f, CALL_DIR_RECEIVED, answer, sizeof(answer) - 1, more ? 1000 : 10);
		assert_int_equal(f.pool.missed[CALL_MISS_NO_BYTES], 0);
	}
	call_conn_close(f.conn);
	assert_int_equal(f.pool.missed[CALL_MISS_NO_BYTES], 1);
	assert_string_equal(feed_calls(&f), "http POST /1 status=200\nhttp POST /1 status=200\n"
					    "http POST /1 lost cut\n");
	feed_fini(&f);
}

static void test_hole_in_head(void **state)
{
	const char *ask = "GET /long HTTP/1.1\r\nCookie: aaaa", *answer = "HTTP/1.1 503 Busy\r\nSet-Cookie: bb";
	struct feed f;

	(void)state;
	feed_init(&f);
	feed_bytes(&f, CALL_DIR_SENT, ask, strlen(ask), 500);
	feed_received(&f, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	assert_string_equal(feed_calls(&f), "http GET /long status=200 ask=532@1-1 answer=38@2-2 cut\n");
	feed_sent(&f, "GET /2 HTTP/1.1\r\n\r\n");
	feed_bytes(&f, CALL_DIR_RECEIVED, answer, strlen(answer), 2000);
	feed_received(&f, "more of the body");
	assert_string_equal(feed_calls(&f), "");
	feed_sent(&f, "GET /3 HTTP/1.1\r\n\r\n");
	assert_string_equal(feed_calls(&f), "http GET /2 status=503 ask=19@3-3 answer=2049@4-5 failed cut\n");
	feed_received(&f, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	assert_string_equal(feed_calls(&f), "http GET /3 status=200 ask=19@6-6 answer=38@7-7\n");
	feed_fini(&f);
}

static void test_hole_in_chunks(void **state)
{
	const char *answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nabcd";
	struct feed f;

	(void)state;
	feed_init(&f);
	f.terse = true;
	feed_sent(&f, "GET /1 HTTP/1.1\r\n\r\n");
	feed_bytes(&f, CALL_DIR_RECEIVED, answer, strlen(answer), 5000);
	feed_received(&f, "0\r\n\r\n");
	assert_string_equal(feed_calls(&f), "http GET /1 status=200\n");
	feed_sent(&f, "GET /2 HTTP/1.1\r\n\r\n");
	feed_bytes(&f, CALL_DIR_RECEIVED, answer, strlen(answer), 5000);
	feed_sent(&f, "GET /3 HTTP/1.1\r\n\r\n");
	assert_string_equal(feed_calls(&f), "http GET /2 status=200\n");
	feed_received(&f, "HTTP/1.0 200 OK\r\n\r\nuntil the end");
	assert_string_equal(feed_calls(&f), "");
	call_conn_close(f.conn);
	assert_string_equal(feed_calls(&f), "http GET /3 status=200\n");
	feed_fini(&f);
}

static void test_upgrade(void **state)
{
	struct feed f;

	(void)state;
	feed_init(&f);
	feed_sent(&f, "GET /chat HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
	feed_received(&f, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\x81\x05hello");
	assert_string_equal(feed_calls(&f), "http GET /chat status=101 ask=63@1-1 answer=56@2-2\n");
	assert_int_equal(f.switched, CALL_SWITCH_WEBSOCKET);
	feed_received(&f, "\x81\x01x");
	assert_int_equal(call_conn_state(f.conn), CALL_CONN_IGNORED);
	feed_fini(&f);
}

static void test_continue(void **state)
{
	struct feed f;

	(void)state;
	feed_init(&f);
	feed_sent(&f, "PUT /f HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
	feed_received(&f, "HTTP/1.1 100 Continue\r\n\r\n");
	feed_sent(&f, "data");
	feed_received(&f, "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
	assert_string_equal(feed_calls(&f), "http PUT /f status=201 ask=64@1-3 answer=43@4-4\n");
	feed_fini(&f);
}

static void test_no_http(void **state)
{
	struct feed f;

	(void)state;
	feed_init(&f);
	for (int i = 0; i < 2; i++) {
		feed_sent(&f, "GET nothing of the kind\r\n\r\n");
		feed_received(&f, "-ERR what?\r\n");
	}
	assert_string_equal(feed_calls(&f), "");
	assert_int_equal(call_conn_state(f.conn), CALL_CONN_NEW);
	feed_sent(&f, "GET nothing of the kind\r\n\r\n");
	feed_received(&f, "-ERR what?\r\n");
	assert_int_equal(call_conn_state(f.conn), CALL_CONN_IGNORED);
	feed_fini(&f);
}

/* An incomplete head keeps only what calls show, and its memory is accounted. */
static void test_half_a_head(void **state)
{
	char cookie[2000];
	size_t before;
	struct feed f;

	(void)state;
	feed_init(&f);
	f.terse = true;
	memset(cookie, 'x', sizeof(cookie) - 1);
	cookie[sizeof(cookie) - 1] = '\0';
	feed_sent(&f, "GET /a HTTP/1.1\r\nHo");
	before = f.pool.bytes;
	feed_sent(&f, "st: here\r\nCookie: ");
	feed_sent(&f, cookie);
	feed_sent(&f, cookie);
	assert_true(f.pool.bytes <= before);
	feed_sent(&f, "\r\nX-Request-Id");
	feed_sent(&f, ": 7\r\n\r\n");
	feed_received(&f, "HTTP/1.1 204 \r\n\r\n");
	assert_string_equal(feed_calls(&f), "http GET /a host=here status=204\n  x-request-id: 7\n");
	feed_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one),
		cmocka_unit_test(test_pipeline),
		cmocka_unit_test(test_hidden_requests),
		cmocka_unit_test(test_more_than_fit),
		cmocka_unit_test(test_answered_during_the_send),
		cmocka_unit_test(test_request_timeout),
		cmocka_unit_test(test_hole_in_body),
		cmocka_unit_test(test_nothing_of_a_call),
		cmocka_unit_test(test_hole_in_head),
		cmocka_unit_test(test_hole_in_chunks),
		cmocka_unit_test(test_upgrade),
		cmocka_unit_test(test_continue),
		cmocka_unit_test(test_half_a_head),
		cmocka_unit_test(test_no_http),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
