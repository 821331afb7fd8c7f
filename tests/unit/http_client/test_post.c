// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The ledger of the queue to a server that is absent or does not answer; parsing of answers.
 * tests/e2e/rpc/test_rpc_otlp.py tests deliveries, with a server and the project's own reader.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <dirent.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "http_client/http_client.h"
#include "http_client/http_client_child.h"
#include "loop/loop.h"

#define MS 1000000ull

/* A socket that listens and never accepts, or (@listens false) an unused port. */
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

/* Skips if this build or machine has no HTTP. */
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

/* The last try is when its time is over, not before. */
static void a_message_is_tried_as_long_as_it_may(void **state)
{
	struct http_client_opts o = {
		.type = "text/plain", .things = "spans", .patience_ns = 400 * MS, .close_ns = 30000 * MS
	};
	struct http_client_stats s;
	char url[64];
	int fd = local_port(false, url, sizeof(url));
	struct http_client *p;
	uint64_t since_ns;

	(void)state;
	o.url = url;
	p = open_post(&o);
	since_ns = clock_boot_ns();
	http_client_put(p, "a", 1, 1);
	assert_int_equal(http_client_close(p, &s, NULL), -EIO);
	assert_int_equal(s.lost_unreached, 1);
	assert_true(clock_boot_ns() - since_ns >= o.patience_ns);
	close(fd);
}

static void on_answered(void *ctx, _unused_ enum http_client_outcome outcome, _unused_ const char *why)
{
	++*(int *)ctx;
}

/* A message that the socket to the process has no room for goes on in the loop: a quiet run has no other turns. */
static void a_loop_sends_what_waits_for_room(void **state)
{
	static char message[4 << 20];
	int answered = 0;
	struct http_client_opts o = {
		.type = "text/plain", .things = "spans", .patience_ns = 1, .loop = loop_new(),
		.answered = on_answered, .answered_ctx = &answered,
	};
	char url[64];
	int fd = local_port(false, url, sizeof(url));
	struct http_client *p;

	(void)state;
	assert_non_null(o.loop);
	o.url = url;
	p = open_post(&o);
	http_client_put(p, message, sizeof(message), 1);
	for (int quiet = 0; quiet < 20;)
		quiet = loop_once(o.loop, 50) ? 0 : quiet + 1;
	http_client_pump(p);	/* takes the answer */
	http_client_free(p);
	loop_free(o.loop);
	close(fd);
	assert_int_equal(answered, 1);
}

/* A server that hangs delays no caller; requests that do not fit the queue are counted. */
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

/* In milliseconds, and that of the signal first. */
static void the_environment_limits_a_request(void **state)
{
	struct http_client_opts o = {
		.path = "/v1/traces", .type = "text/plain", .things = "spans", .patience_ns = MS
	};
	struct http_client_stats s;
	struct err err = { 0 };
	char url[64];
	int fd = local_port(true, url, sizeof(url));
	struct http_client *p;

	(void)state;
	o.url = url;
	setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "9000", 1);
	setenv("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "150", 1);
	p = open_post(&o);
	http_client_put(p, "a", 1, 3);
	assert_int_equal(http_client_close(p, &s, &err), -EIO);
	unsetenv("OTEL_EXPORTER_OTLP_TIMEOUT");
	unsetenv("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT");
	assert_int_equal(s.lost_unreached, 3);
	assert_non_null(strstr(err.msg, "timed out after"));
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

/* A child of @parent; 0 = it has none. */
static pid_t child_of(pid_t parent)
{
	DIR *d = opendir("/proc");
	const struct dirent *e;
	pid_t found = 0;

	while (d && !found && (e = readdir(d))) {
		char path[300];
		_cleanup_fclose_ FILE *f = NULL;
		int pid = atoi(e->d_name), of;

		snprintf(path, sizeof(path), "/proc/%.20s/stat", e->d_name);
		f = pid > 0 ? fopen(path, "re") : NULL;
		if (f && fscanf(f, "%*d (%*[^)]) %*c %d", &of) == 1 && of == parent)
			found = pid;
	}
	if (d)
		closedir(d);
	return found;
}

/* Takes the first request and never answers it, all others with 200. @told gets a byte at the first. */
static void answer_but_the_first(int fd, int told)
{
	static const char ok[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
	char text[4096];

	for (int first = 1;; first = 0) {
		int c = accept(fd, NULL, NULL);
		size_t len = 0;
		ssize_t n;

		while (c >= 0 && !memmem(text, len, "\r\n\r\nbody", 8) &&
		       (n = read(c, text + len, sizeof(text) - len)) > 0)
			len += (size_t)n;
		if (first && write(told, "x", 1) != 1)
			_exit(1);
		if (!first && (write(c, ok, sizeof(ok) - 1) < 0 || close(c) < 0))
			_exit(1);
	}
}

static void on_news(void *ctx, const char *sentence)
{
	assert_string_equal(ctx, ""); /* once */
	snprintf(ctx, 512, "%s", sentence);
}

/* The message that the process had is counted, later ones are sent by a new process, and one sentence says so. */
static void the_process_is_started_again(void **state)
{
	char news[512] = "";
	struct http_client_opts o = {
		.path = "/", .type = "text/plain", .things = "spans", .news = on_news, .news_ctx = news
	};
	struct http_client_stats s = { 0 };
	const pid_t self = getpid();
	char url[64], byte;
	int fd = local_port(true, url, sizeof(url)), told[2];
	struct http_client *p;
	pid_t server, sender;

	(void)state;
	o.url = url;
	p = open_post(&o);
	sender = child_of(child_of(self));
	assert_true(sender > 0);
	assert_int_equal(pipe(told), 0);
	server = fork();
	if (!server)
		answer_but_the_first(fd, told[1]);
	http_client_put(p, "body", 4, 3);
	assert_int_equal(read(told[0], &byte, 1), 1);
	assert_int_equal(kill(sender, SIGKILL), 0);
	http_client_put(p, "body", 4, 4);
	while (s.delivered + s.lost_unreached < 7) {
		http_client_wait(p, 100 * MS);
		http_client_pump(p);
		http_client_stats(p, &s);
	}
	assert_int_equal(s.lost_unreached, 3);
	assert_int_equal(s.delivered, 4);
	books_close(&s);
	assert_non_null(strstr(news, "(Killed) and is started again"));
	assert_int_equal(http_client_close(p, NULL, NULL), -EIO);
	assert_int_equal(kill(server, SIGKILL), 0);
	assert_int_equal(waitpid(server, NULL, 0), server);
	close(told[0]);
	close(told[1]);
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
	static const struct { const char *bytes; size_t len; uint64_t rejected; const char *why; } rows[] = {
		{ "", 0, 0, "" },
		{ "\x0a\x00", 2, 0, "" },
		{ "\x0a\x02\x08\x05", 4, 5, "" },
		{ "\x0a\x03\x08\xac\x02", 5, 300, "" },
		{ "\x0a\x04\x12\x02no", 6, 0, "no" },	/* a warning only */
		{ "\x0a\x06\x12\x02no\x08\x07", 8, 7, "no" },
		{ "\x0a\x0a\x12\x06n\x1b[2Jo\x08\x07", 12, 7, "n?[2Jo" },
		{ "\x12\x01x\x0a\x02\x08\x05", 7, 5, "" },	/* behind a field that is not known */
		{ "\x0a\x7f\x08\x05", 4, 0, "" },		/* longer than there is */
		{ "\x0f", 1, 0, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char why[16];

		assert_int_equal(http_client_reply_rejected(rows[i].bytes, rows[i].len, why, sizeof(why)),
				 rows[i].rejected);
		assert_string_equal(why, rows[i].why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_listens),
		cmocka_unit_test(a_message_is_tried_as_long_as_it_may),
		cmocka_unit_test(a_loop_sends_what_waits_for_room),
		cmocka_unit_test(a_server_that_hangs),
		cmocka_unit_test(the_environment_limits_a_request),
		cmocka_unit_test(nothing_is_no_loss),
		cmocka_unit_test(the_process_is_started_again),
		cmocka_unit_test(urls),
		cmocka_unit_test(answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
