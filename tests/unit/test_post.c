// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The books of the queue in front of a server that is not there, or does not answer; what answers say. Deliveries are
 * tested with a server and the project's own reader in tests/e2e/test_rpc_otlp.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "http_client/http_client.h"
#include "http_client/http_client_child.h"

#define MS 1000000ull

/* A socket that listens and never accepts, or (@listens false) a port that nobody has. */
static int local_port(bool listens, char *ret_url, size_t cap)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sin);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (void *)&sin, sizeof(sin)), 0);
	assert_int_equal(getsockname(fd, (void *)&sin, &len), 0);
	if (listens)
		assert_int_equal(listen(fd, 1), 0);
	snprintf(ret_url, cap, "http://127.0.0.1:%u", ntohs(sin.sin_port));
	return fd;
}

/* Skips where this build or machine has no HTTP. */
static struct http_client *open_post(const struct http_client_opts *o)
{
	struct err err = { 0 };
	struct http_client *p = NULL;
	int r = http_client_open(o, &p, &err);

	if (r == -ENOSYS) {
		print_message("skipped: %s\n", err.msg);
		skip();
	}
	assert_int_equal(r, 0);
	return p;
}

static void books_close(const struct http_client_stats *s)
{
	assert_int_equal(s->items, s->delivered + s->lost_queue + s->lost_refused + s->lost_unreached);
}

static void nobody_listens(void **state)
{
	struct http_client_opts o = {
		.path = "/v1/traces", .type = "text/plain", .things = "spans", .close_ns = 300 * MS
	};
	struct http_client_stats s;
	struct err err = { 0 };
	char url[64];
	int fd = local_port(false, url, sizeof(url));
	struct http_client *p;

	(void)state;
	o.url = url;
	p = open_post(&o);
	http_client_put(p, "a", 1, 3);
	http_client_put(p, "b", 1, 4);
	assert_int_equal(http_client_close(p, &s, &err), -EIO);
	assert_int_equal(s.items, 7);
	assert_int_equal(s.lost_unreached, 7);
	books_close(&s);
	assert_non_null(strstr(err.msg, "lost 7 of 7 spans"));
	close(fd);
}

/* A server that hangs costs nobody any time; what the queue does not hold is counted. */
static void a_server_that_hangs(void **state)
{
	static char message[64 << 10];
	struct http_client_opts o = {
		.type = "text/plain", .things = "spans", .queue_bytes = 256 << 10, .close_ns = 100 * MS
	};
	struct http_client_stats s;
	char url[64];
	int fd = local_port(true, url, sizeof(url));
	struct http_client *p;

	(void)state;
	o.url = url;
	p = open_post(&o);
	for (int i = 0; i < 200; i++)	/* 12.5 MiB: more than the queue and all socket buffers */
		http_client_put(p, message, sizeof(message), 10);
	http_client_stats(p, &s);
	assert_int_equal(s.items, 2000);
	assert_true(s.lost_queue > 0 && s.lost_queue < 2000);
	assert_int_equal(http_client_close(p, &s, NULL), -EIO);
	assert_int_equal(s.delivered, 0);
	assert_true(s.lost_unreached > 0);
	books_close(&s);
	close(fd);
}

static void nothing_is_no_loss(void **state)
{
	struct http_client_opts o = { .type = "text/plain", .things = "spans" };
	struct http_client_stats s;
	char url[64];
	int fd = local_port(false, url, sizeof(url));

	(void)state;
	o.url = url;
	assert_int_equal(http_client_close(open_post(&o), &s, NULL), 0);
	assert_int_equal(s.items, 0);
	close(fd);
}

static void urls(void **state)
{
	static const char *const bad[] = {
		"http://", "http:///x", "http://:80", "ftp://x", "http://a b", "https://?x",
	};
	struct http_client_opts o = { .type = "text/plain", .things = "spans" };
	struct err err = { 0 };
	struct http_client *p;

	(void)state;
	assert_true(http_client_is_url("http://x") && http_client_is_url("HTTPS://x"));
	assert_false(http_client_is_url("x.otlp") || http_client_is_url(NULL) || http_client_is_url("-") ||
		     http_client_is_url("httpx://a"));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		o.url = bad[i];
		assert_int_equal(http_client_open(&o, &p, &err), -EINVAL);
		assert_non_null(strstr(err.msg, bad[i]));
	}
}

static void answers(void **state)
{
	static const struct { const char *bytes; size_t len; uint64_t rejected; } rows[] = {
		{ "", 0, 0 },
		{ "\x0a\x00", 2, 0 },
		{ "\x0a\x02\x08\x05", 4, 5 },
		{ "\x0a\x03\x08\xac\x02", 5, 300 },
		{ "\x0a\x04\x12\x02no", 6, 0 },		/* a warning only */
		{ "\x0a\x06\x12\x02no\x08\x07", 8, 7 },
		{ "\x12\x01x\x0a\x02\x08\x05", 7, 5 },	/* behind a field that is not known */
		{ "\x0a\x7f\x08\x05", 4, 0 },		/* longer than there is */
		{ "\x0f", 1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(http_client_reply_rejected(rows[i].bytes, rows[i].len), rows[i].rejected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_listens),
		cmocka_unit_test(a_server_that_hangs),
		cmocka_unit_test(nothing_is_no_loss),
		cmocka_unit_test(urls),
		cmocka_unit_test(answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
