// SPDX-License-Identifier: GPL-2.0-or-later
/* HTTP/2: a recorded connection of python3-grpcio, whole and without its first calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "call_replay.h"

static void test_grpc(void **state)
{
	(void)state;
	assert_replay("call_http2/grpc",
		      "grpc POST /pkg.Svc/Get host=127.0.0.1:55052 status=0 OK\n"
		      "grpc POST /pkg.Svc/Get host=127.0.0.1:55052 status=0 OK\n"
		      "  traceparent: 00-ab-cd-01\n"
		      "grpc POST /pkg.Svc/Bad host=127.0.0.1:55052 status=5 NOT_FOUND failed\n"
		      "grpc POST /pkg.Svc/Get host=127.0.0.1:55052 status=0 OK\n");
}

#define FRAME(len, type, flags, stream) "\0\0" len type flags "\0\0\0" stream

/* DATA in a hole costs nothing; a reset ends a stream; fields from before the start have numbers. */
static void test_frames(void **state)
{
	static const char ask[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" FRAME("\3", "\1", "\4", "\1") "\x83\x84\xc0"
				  FRAME("\x10", "\0", "\1", "\1") "start";
	static const char answer[] = FRAME("\1", "\1", "\5", "\1") "\x8d";
	static const char second[] = FRAME("\2", "\1", "\5", "\3") "\x82\xbe"
				     FRAME("\4", "\3", "\0", "\3") "\0\0\0\x08";
	struct feed f;

	(void)state;
	feed_init(&f);
	feed_bytes(&f, CALL_DIR_SENT, ask, sizeof(ask) - 1, 11);
	feed_bytes(&f, CALL_DIR_RECEIVED, answer, sizeof(answer) - 1, 0);
	assert_string_equal(feed_calls(&f), "http2 POST / status=404 ask=37@1-1 answer=10@2-2 client-error hpack\n");
	feed_bytes(&f, CALL_DIR_SENT, second, sizeof(second) - 1, 0);
	f.terse = true;
	assert_string_equal(feed_calls(&f), "http2 GET ?0 ask=11@3-3 reset hpack\n");
	feed_fini(&f);
}

/* SETTINGS of a server that does not wait for the preface, as over TLS. */
static void test_server_first(void **state)
{
	static const char settings[] = FRAME("\6", "\4", "\0", "\0") "\0\3\0\0\0\x80";
	static const char ask[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" FRAME("\0", "\4", "\0", "\0")
				  FRAME("\2", "\1", "\5", "\1") "\x82\x84";
	static const char answer[] = FRAME("\0", "\4", "\1", "\0") FRAME("\1", "\1", "\5", "\1") "\x88";
	struct feed f;

	(void)state;
	feed_init(&f);
	feed_bytes(&f, CALL_DIR_SENT, settings, sizeof(settings) - 1, 0);
	feed_bytes(&f, CALL_DIR_RECEIVED, ask, sizeof(ask) - 1, 0);
	feed_bytes(&f, CALL_DIR_SENT, answer, sizeof(answer) - 1, 0);
	assert_string_equal(feed_calls(&f), "http2 GET / status=200 ask=11@2-2 answer=10@3-3\n");
	feed_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grpc),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_server_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
