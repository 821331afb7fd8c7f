// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Child process that talks to the server, without rights. It loads libcurl, so that other runs do not pay for it.
 * Retries follow OTLP/HTTP, "Failures" and "Throttling".
 */
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "http_client/http_client_child.h"

#ifdef HAVE_CURL

#include <curl/curl.h>
#include <dlfcn.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/macros.h"

#define CONNECT_MS 5000l
#define ANSWER_MS 10000l
#define FIRST_WAIT_NS 250000000ull	/* before the first retry; doubles each time */
#define WAIT_MAX_NS 30000000000ull
#define REPLY_MAX (64u << 10)

/* Functions of libcurl in use, named without "curl_". */
struct curl_calls {
	__typeof__(curl_global_init) *global_init;
	__typeof__(curl_easy_init) *easy_init;
	__typeof__(curl_easy_setopt) *setopt;
	__typeof__(curl_easy_perform) *perform;
	__typeof__(curl_easy_getinfo) *getinfo;
	__typeof__(curl_easy_strerror) *strerror;
	__typeof__(curl_slist_append) *append;
};

struct sender {
	struct curl_calls f;
	CURL *curl;
	struct http_client_child *conf;
	char reply[REPLY_MAX];
	size_t reply_len;
	char error[CURL_ERROR_SIZE];
	char *message;
	size_t cap;
};

static bool load(struct curl_calls *f)
{
	static const char *const names[] = { "libcurl-gnutls.so.4", "libcurl.so.4" };
	void *lib = NULL;

	for (size_t i = 0; !lib && i < ARRAY_SIZE(names); i++)
		lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		return false;
	*(void **)&f->global_init = dlsym(lib, "curl_global_init");
	*(void **)&f->easy_init = dlsym(lib, "curl_easy_init");
	*(void **)&f->setopt = dlsym(lib, "curl_easy_setopt");
	*(void **)&f->perform = dlsym(lib, "curl_easy_perform");
	*(void **)&f->getinfo = dlsym(lib, "curl_easy_getinfo");
	*(void **)&f->strerror = dlsym(lib, "curl_easy_strerror");
	*(void **)&f->append = dlsym(lib, "curl_slist_append");
	return f->global_init && f->easy_init && f->setopt && f->perform && f->getinfo && f->strerror && f->append;
}

/* Longer bodies are truncated: only the beginning is parsed. */
static size_t on_reply(char *data, size_t size, size_t n, void *ctx)
{
	struct sender *s = ctx;
	size_t len = MIN(size * n, sizeof(s->reply) - s->reply_len);

	memcpy(s->reply + s->reply_len, data, len);
	s->reply_len += len;
	return size * n;
}

/* Adds headers from the environment variable @name: KEY=VALUE,... It can carry passwords, a command line cannot. */
static struct curl_slist *add_env(struct sender *s, struct curl_slist *list, const char *name)
{
	const char *at = getenv(name);

	while (at && *at) {
		size_t len = strcspn(at, ",");
		const char *equals = memchr(at, '=', len);
		char line[1024];

		while (len && isspace((unsigned char)*at)) {
			at++;
			len--;
		}
		if (equals > at && len < sizeof(line) - 2) {
			snprintf(line, sizeof(line), "%.*s: %.*s", (int)(equals - at), at,
				 (int)(at + len - equals - 1), equals + 1);
			if (!strpbrk(line, "\r\n"))
				list = s->f.append(list, line);
		}
		at += len + (at[len] == ',');
	}
	return list;
}

static bool set_up(struct sender *s)
{
	struct curl_slist *headers = NULL;
	char type[128];

	if (s->f.global_init(CURL_GLOBAL_DEFAULT) || !(s->curl = s->f.easy_init()))
		return false;
	snprintf(type, sizeof(type), "Content-Type: %s", s->conf->type);
	headers = s->f.append(NULL, type);
	headers = s->f.append(headers, "Expect:");	/* no "Expect: 100-continue" round trip */
	headers = add_env(s, headers, "OTEL_EXPORTER_OTLP_HEADERS");
	headers = add_env(s, headers, "OTEL_EXPORTER_OTLP_TRACES_HEADERS");
	return headers && !s->f.setopt(s->curl, CURLOPT_URL, s->conf->url) &&
	       !s->f.setopt(s->curl, CURLOPT_PROTOCOLS_STR, "http,https") &&
	       !s->f.setopt(s->curl, CURLOPT_HTTPHEADER, headers) &&
	       !s->f.setopt(s->curl, CURLOPT_USERAGENT, "sonde/" SONDE_VERSION) &&
	       !s->f.setopt(s->curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) &&
	       !s->f.setopt(s->curl, CURLOPT_NOSIGNAL, 1l) &&
	       !s->f.setopt(s->curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS) &&
	       !s->f.setopt(s->curl, CURLOPT_TIMEOUT_MS, ANSWER_MS) &&
	       !s->f.setopt(s->curl, CURLOPT_WRITEFUNCTION, on_reply) &&
	       !s->f.setopt(s->curl, CURLOPT_WRITEDATA, s) &&
	       !s->f.setopt(s->curl, CURLOPT_ERRORBUFFER, s->error);
}

/* ---- one message ---- */

static bool is_worth_another_try(long code)
{
	return code == 0 || code == 429 || code == 502 || code == 503 || code == 504;
}

/* One request. The HTTP status, or 0 without an answer; a->why has the reason. */
static long try(struct sender *s, const char *data, size_t len, struct http_client_answer *a)
{
	CURLcode r;
	long code = 0;

	s->reply_len = 0;
	s->error[0] = 0;
	s->f.setopt(s->curl, CURLOPT_POSTFIELDS, data);
	s->f.setopt(s->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
	r = s->f.perform(s->curl);
	a->tries++;
	if (r) {
		snprintf(a->why, sizeof(a->why), "%.100s", s->error[0] ? s->error : s->f.strerror(r));
		return 0;
	}
	s->f.getinfo(s->curl, CURLINFO_RESPONSE_CODE, &code);
	snprintf(a->why, sizeof(a->why), "the server answered with HTTP status %ld", code);
	return code;
}

/* Nanoseconds until the next try, with 20 % jitter, so that clients do not retry together. */
static uint64_t pause_ns(struct sender *s, uint32_t tries)
{
	uint64_t ns = FIRST_WAIT_NS << MIN(tries - 1, 8u);
	curl_off_t after = 0;

	if (!s->f.getinfo(s->curl, CURLINFO_RETRY_AFTER, &after) && after > 0)
		return MIN((uint64_t)after, 3600ull) * 1000000000;
	ns = MIN(ns, WAIT_MAX_NS);
	return ns - ns / 5 + (uint64_t)random() % (ns / 5 * 2);
}

static void deliver(struct sender *s, const char *data, size_t len, struct http_client_answer *a)
{
	uint64_t end_ns = clock_boot_ns() + s->conf->patience_ns;
	uint64_t rejected;
	long code;

	for (;;) {
		uint64_t ns;

		code = try(s, data, len, a);
		if (!is_worth_another_try(code))
			break;
		ns = pause_ns(s, a->tries);
		a->outcome = POST_UNREACHED;
		if (clock_boot_ns() + ns >= end_ns)
			return;
		poll(NULL, 0, (int)(ns / 1000000));
	}
	a->outcome = code >= 200 && code < 300 ? POST_DELIVERED : POST_REFUSED;
	rejected = a->outcome == POST_DELIVERED ? http_client_reply_rejected(s->reply, s->reply_len) : 0;
	a->rejected = (uint32_t)MIN(rejected, (uint64_t)a->n);
	if (a->outcome == POST_DELIVERED)
		snprintf(a->why, sizeof(a->why), "%s", a->rejected ? "the server left some out" : "");
}

static bool read_message(struct sender *s, int fd, struct http_client_head *head)
{
	if (io_read_all(fd, head, sizeof(*head)) < 0 || head->len > POST_MESSAGE_MAX)
		return false;
	if (head->len > s->cap) {
		free(s->message);
		s->message = malloc(head->len);
		s->cap = s->message ? head->len : 0;
	}
	return s->cap >= head->len && io_read_all(fd, s->message, head->len) >= 0;
}

static bool answer(int fd, const struct http_client_answer *a)
{
	return write(fd, a, sizeof(*a)) == sizeof(*a);
}

int http_client_child(void *ctx, int in_fd, int out_fd)
{
	struct sender *s = calloc(1, sizeof(*s));
	struct http_client_answer a = { .outcome = POST_READY };
	struct http_client_head head;

	/* ^C reaches all processes of a terminal; the queue is still sent, and the parent ends this process */
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	srandom((unsigned)(clock_boot_ns() ^ (uint64_t)getpid()));
	if (!s)
		return 1;
	s->conf = ctx;
	if (!load(&s->f) || !set_up(s)) {
		a.outcome = POST_NO_LIBRARY;
		snprintf(a.why, sizeof(a.why), "libcurl cannot be loaded (Debian: libcurl3-gnutls or libcurl4)");
		answer(out_fd, &a);
		return 1;
	}
	if (!answer(out_fd, &a))
		return 1;
	while (read_message(s, in_fd, &head)) {
		a = (struct http_client_answer){ .n = head.n };
		deliver(s, s->message, head.len, &a);
		if (!answer(out_fd, &a))
			return 1;
	}
	return 0;
}

#else

int http_client_child(void *ctx, int in_fd, int out_fd)
{
	const struct http_client_answer a = {
		.outcome = POST_NO_LIBRARY,
		.why = "this build has no HTTP (meson setup -Dotlp=enabled)",
	};

	(void)ctx;
	(void)in_fd;
	return write(out_fd, &a, sizeof(a)) == sizeof(a) ? 1 : 2;
}

#endif
