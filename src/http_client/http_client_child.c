// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Child process that talks to the server, without rights. Retries follow OTLP/HTTP, "Failures" and "Throttling".
 */
#include "http_client/http_client_child.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/macros.h"
#include "base/str.h"
#include "http_client/http_exchange.h"

#define ANSWER_MS 10000
#define ANSWER_MOST_MS 3600000
#define FIRST_WAIT_NS 250000000ull /* before the first retry; doubles each time */
#define WAIT_MAX_NS (HTTP_CLIENT_CLOSE_NS / 5 * 3) /* a server that is back at the end gets what waits */
#define REPLY_MAX (64u << 10)
#define HEADERS_MAX 32
#define GZIP_FROM 1024u	/* bytes of a message that is compressed */

struct sender {
	struct http_exchange *x;	/* owned */
	struct http_exchange *gzip;	/* the same for compressed messages, owned; NULL = none is compressed */
	const struct http_client_child *conf;
	char reply[REPLY_MAX];
	size_t reply_len;
	const char *headers[HEADERS_MAX + 1];
	size_t n_headers;
	char type[128];
};

/* Longer bodies are truncated: only the beginning is parsed. */
static int on_reply(void *ctx, const void *data, size_t size)
{
	struct sender *s = ctx;
	size_t len = MIN(size, sizeof(s->reply) - s->reply_len);

	memcpy(s->reply + s->reply_len, data, len);
	s->reply_len += len;
	return 0;
}

static void add_header(struct sender *s, const char *line)
{
	if (line && s->n_headers < HEADERS_MAX)
		s->headers[s->n_headers++] = line;
}

/* "KEY=VALUE", the value percent-encoded as in W3C Baggage. Other words, and values with newlines, are left out. */
static void add_pair(struct sender *s, const char *pair, size_t len)
{
	const char *equals = memchr(pair, '=', len);
	struct buf line = { 0 };

	if (!equals || equals == pair)
		return;
	buf_printf(&line, "%.*s: ", (int)(equals - pair), pair);
	str_percent_decode(&line, equals + 1, (size_t)(pair + len - equals - 1));
	buf_add_char(&line, '\0');
	if (!buf_error(&line) && strlen(line.data) == line.len - 1 && !strpbrk(line.data, "\r\n"))
		add_header(s, line.data);
	else
		buf_fini(&line);
}

/* Adds headers from the environment: KEY=VALUE,... It can carry passwords, a command line cannot. */
static void add_env(struct sender *s, const char *at)
{
	while (at && *at) {
		size_t len = strcspn(at, ",");

		while (len && isspace((unsigned char)*at)) {
			at++;
			len--;
		}
		add_pair(s, at, len);
		at += len + (at[len] == ',');
	}
}

/* OTEL_EXPORTER_OTLP_TRACES_HEADERS takes the place of OTEL_EXPORTER_OTLP_HEADERS, and so on. NULL = unset. */
static const char *env_of(const char *path, const char *what)
{
	static const struct {
		const char *path, *signal;
	} signals[] = {
		{ "/v1/traces", "TRACES_" },
		{ "/v1/metrics", "METRICS_" },
		{ "/v1/logs", "LOGS_" },
		{ "/v1development/profiles", "PROFILES_" },
	};
	const char *own = NULL;
	char name[64];

	for (size_t i = 0; path && i < ARRAY_SIZE(signals); i++) {
		if (strcmp(path, signals[i].path) != 0)
			continue;
		snprintf(name, sizeof(name), "OTEL_EXPORTER_OTLP_%s%s", signals[i].signal, what);
		own = getenv(name);
	}
	snprintf(name, sizeof(name), "OTEL_EXPORTER_OTLP_%s", what);
	return own && *own ? own : getenv(name);
}

static bool compresses(const char *path)
{
	const char *compression = env_of(path, "COMPRESSION");

	return !compression || strcmp(compression, "none") != 0;
}

/* Longest time of a request, in ms. */
static uint64_t time_limit(const char *path)
{
	const char *timeout = env_of(path, "TIMEOUT");
	uint64_t ms = 0;

	if (!timeout || str_to_u64(timeout, 10, &ms) < 0 || !ms)
		return ANSWER_MS;
	return MIN(ms, (uint64_t)ANSWER_MOST_MS);
}

/* 0, or -ENOSYS with the reason. The lines stay until the process ends. */
static int set_up(struct sender *s, char why[HTTP_EXCHANGE_WHY])
{
	struct http_exchange_opts o = { .headers = s->headers, .answer_ms = time_limit(s->conf->path) };
	int r;

	snprintf(s->type, sizeof(s->type), "Content-Type: %s", s->conf->type);
	if (s->conf->deliver) {
		for (size_t i = 0; s->conf->headers && s->conf->headers[i]; i++)
			add_header(s, s->conf->headers[i]);
		o.answer_ms = s->conf->answer_ms;
		o.once = true;
	} else {
		add_header(s, s->type);
		add_env(s, env_of(s->conf->path, "HEADERS"));
	}
	r = http_exchange_new(&o, &s->x, why);
	if (r < 0 || s->conf->deliver || !compresses(s->conf->path))
		return r;
	add_header(s, "Content-Encoding: gzip");
	return http_exchange_new(&o, &s->gzip, why);
}

/* ---- one message ---- */

static bool is_worth_another_try(long code)
{
	return code == 0 || code == 429 || code == 502 || code == 503 || code == 504;
}

/* One request. The HTTP status, or 0 without an answer; a->why has the reason. */
static long try(struct sender *s, struct http_exchange *x, const char *data, size_t len, struct http_client_answer *a)
{
	s->reply_len = 0;
	a->tries++;
	return http_exchange_post(x, s->conf->url, data, len, on_reply, s, a->why);
}

/*
 * Nanoseconds until the next try, with 20 % jitter, so that clients do not retry together; the last one is at
 * @end_ns. False: none before that.
 */
static bool pause_ns(struct http_exchange *x, uint32_t tries, uint64_t end_ns, uint64_t *ret)
{
	const uint64_t now_ns = clock_boot_ns(), after_ns = http_exchange_retry_after_ns(x);
	const uint64_t left_ns = end_ns > now_ns ? end_ns - now_ns : 0;
	const uint64_t doubled_ns = FIRST_WAIT_NS << MIN(tries - 1, 8u);
	uint64_t ns = MIN(doubled_ns, WAIT_MAX_NS);

	ns += (uint64_t)random() % (ns / 5 * 2) - ns / 5;
	*ret = after_ns ? after_ns : MIN(ns, left_ns);
	return *ret && *ret <= left_ns;
}

static void deliver(struct sender *s, struct http_exchange *x, const char *data, size_t len,
		    struct http_client_answer *a)
{
	uint64_t end_ns = clock_boot_ns() + s->conf->patience_ns;
	char text[72];	/* of a partial success */
	uint64_t rejected, ns;
	long code;

	for (;;) {
		code = try(s, x, data, len, a);
		if (!is_worth_another_try(code))
			break;
		a->outcome = POST_UNREACHED;
		if (!pause_ns(x, a->tries, end_ns, &ns))
			return;
		poll(NULL, 0, (int)(ns / NS_PER_MS) + 1);
	}
	a->outcome = code >= 200 && code < 300 ? POST_DELIVERED : POST_REFUSED;
	rejected = http_client_reply_rejected(s->reply, s->reply_len, text, sizeof(text));
	if (a->outcome != POST_DELIVERED)
		rejected = 0;
	a->rejected = (uint32_t)MIN(rejected, (uint64_t)a->n);
	if (a->outcome == POST_DELIVERED)
		snprintf(a->why, sizeof(a->why), "%s%s%s", a->rejected ? "the server left some out" : "",
			 a->rejected && *text ? ": " : "", a->rejected ? text : "");
}

/* A gzip member (RFC 1952) of the message, without name and time. NULL without memory, or unless it is shorter. */
static char *compress_message(const char *data, size_t len, size_t *ret_len)
{
	z_stream z = { .next_in = (Bytef *)data, .avail_in = (uInt)len };
	char *out = malloc(len);

	if (!out || deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(out);
		return NULL;
	}
	z.next_out = (Bytef *)out;
	z.avail_out = (uInt)len;
	if (deflate(&z, Z_FINISH) != Z_STREAM_END) {
		free(out);
		out = NULL;
	}
	*ret_len = z.total_out;
	deflateEnd(&z);
	return out;
}

/* Compressed if that pays. */
static void send_message(struct sender *s, const char *data, size_t len, struct http_client_answer *a)
{
	size_t packed_len = 0;
	char *packed = s->gzip && len >= GZIP_FROM ? compress_message(data, len, &packed_len) : NULL;

	if (packed)
		deliver(s, s->gzip, packed, packed_len, a);
	else
		deliver(s, s->x, data, len, a);
	free(packed);
}

/* False when the keeper has ended. */
static bool take_head(int sock, struct http_client_head *ret)
{
	ssize_t n;

	n = TEMP_FAILURE_RETRY(recv(sock, ret, sizeof(*ret), 0));
	return n == sizeof(*ret) && ret->len <= POST_MESSAGE_MAX;
}

static bool answer(int sock, const struct http_client_answer *a)
{
	return send(sock, a, sizeof(*a), MSG_NOSIGNAL) == sizeof(*a);
}

int http_client_child(const struct http_client_child *conf, const char *message, int sock)
{
	struct sender *s = calloc(1, sizeof(*s));
	struct http_client_answer a = { .outcome = POST_READY };
	struct http_client_head head;

	srandom((unsigned)(clock_boot_ns() ^ (uint64_t)getpid()));
	if (!s)
		return 1;
	s->conf = conf;
	if (set_up(s, a.why) < 0) {
		a.outcome = POST_NO_LIBRARY;
		answer(sock, &a);
		return 1;
	}
	if (!answer(sock, &a))
		return 1;
	while (take_head(sock, &head)) {
		a = (struct http_client_answer){ .n = head.n };
		if (conf->deliver)
			conf->deliver(s->x, conf, message, head.len, &a);
		else
			send_message(s, message, head.len, &a);
		if (!answer(sock, &a))
			return 1;
	}
	return 0;
}
