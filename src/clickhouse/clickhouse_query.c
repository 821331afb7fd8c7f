// SPDX-License-Identifier: GPL-2.0-or-later
#include "clickhouse/clickhouse_query.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/str.h"
#include "clickhouse/clickhouse_target.h"
#include "http_client/http_exchange.h"
#include "worker/worker.h"

#define ANSWER_MS 120000
#define DEADLINE_NS (600 * NS_PER_S)
#define LEAVE_NS NS_PER_S	     /* after the answer to one statement */
#define MEMORY_BYTES (1024ull << 20) /* as in http_client.c */
#define SAID_MAX 300u

struct job {
	const struct clickhouse_target *target;
	const char *text;
	const char *url;
	uint64_t answer_ms;
	struct buf out;
};

/* The worker's answer: this, then bytes. */
struct reply {
	int32_t code; /* 0, -EHOSTUNREACH, -EREMOTEIO or -ENOSYS */
	char why[HTTP_EXCHANGE_WHY];
};

static int on_body(void *ctx, const void *data, size_t len)
{
	struct job *j = ctx;

	if (j->out.len + len > CLICKHOUSE_QUERY_ANSWER_MAX)
		return -EFBIG;
	return buf_add(&j->out, data, len);
}

static int run_one(struct http_exchange *x, struct job *j, const char *sql, size_t len, struct reply *ret)
{
	const size_t before = j->out.len;
	const long status = http_exchange_post(x, j->url, sql, len, on_body, j, ret->why);

	if (status == 200)
		return 0;
	if (!status)
		return -EHOSTUNREACH;
	buf_consume(&j->out, before); /* only the refusal */
	return -EREMOTEIO;
}

static int work(void *ctx, _unused_ int in_fd, int out_fd)
{
	struct job *j = ctx;
	const struct http_exchange_opts o = { .headers = j->target->headers, .answer_ms = j->answer_ms };
	struct http_exchange *x = NULL;
	struct reply reply = { 0 };
	const char *at = j->text, *end;
	int r;

	reply.code = http_exchange_new(&o, &x, reply.why);
	while (reply.code == 0 && (end = strstr(at, ";\n"))) {
		reply.code = run_one(x, j, at, (size_t)(end - at), &reply);
		at = end + 2 + strspn(end + 2, "\n");
	}
	http_exchange_free(x);
	r = io_write_all(out_fd, &reply, sizeof(reply));
	if (r >= 0)
		r = io_write_all(out_fd, j->out.data, j->out.len);
	return r < 0;
}

static int take(const struct clickhouse_target *t, const char *answer, size_t len, struct buf *ret, struct err *err)
{
	_cleanup_(buf_fini) struct buf said = { 0 };
	struct reply reply;

	if (len < sizeof(reply))
		return err_set(err, -ECHILD, "%s: the process that asks the server ended", t->name);
	memcpy(&reply, answer, sizeof(reply));
	reply.why[sizeof(reply.why) - 1] = '\0';
	answer += sizeof(reply);
	len -= sizeof(reply);
	if (reply.code == 0)
		return ret ? buf_add(ret, answer, len) : 0;
	if (reply.code != -EREMOTEIO)
		return err_set(err, reply.code < 0 ? reply.code : -ECHILD, "%s: %s", t->name, reply.why);
	for (size_t i = 0; i < len && i < SAID_MAX && answer[i] != '\n'; i++)
		str_escape_buf(&said, answer + i, 1);
	return err_set(err, -EREMOTEIO, "%s: %s", t->name, said.len ? buf_str(&said) : reply.why);
}

int clickhouse_query(const struct clickhouse_target *t, const char *text, const struct clickhouse_query_opts *opts,
		     struct buf *ret, struct err *err)
{
	const struct clickhouse_query_opts o = opts ? *opts : (struct clickhouse_query_opts){ 0 };
	static const struct worker_opts w = { .name = "sonde-query", .memory_bytes = MEMORY_BYTES, .network = true };
	const size_t cap = sizeof(struct reply) + CLICKHOUSE_QUERY_ANSWER_MAX;
	_cleanup_(buf_fini) struct buf url = { 0 };
	_cleanup_free_ char *answer = malloc(cap);
	struct job j = { .target = t, .text = text, .answer_ms = o.answer_ms ? o.answer_ms : ANSWER_MS };
	ssize_t n;

	buf_printf(&url, "%s%s%s", o.whole ? t->server : t->base, o.whole ? "?" : "", o.settings ? o.settings : "");
	j.url = buf_str(&url);
	if (!answer || buf_error(&url))
		return err_errno(err, -ENOMEM, "%s", t->name);
	n = worker_call(&w, work, &j, -1, answer, cap, o.answer_ms ? o.answer_ms * NS_PER_MS + LEAVE_NS : DEADLINE_NS,
			err);
	if (n == -ETIMEDOUT) /* a name server that does not answer holds libcurl up */
		return err_set(err, -EHOSTUNREACH, "%s: no answer in time", t->name);
	return n < 0 ? (int)n : take(t, answer, (size_t)n, ret, err);
}

int clickhouse_query_version(const struct clickhouse_target *t, struct err *err)
{
	const struct clickhouse_query_opts whole = { .whole = true };
	_cleanup_(buf_fini) struct buf text = { 0 };
	int r = clickhouse_query(t, "SELECT version();\n", &whole, &text, err);

	return r < 0 ? r : (int)MIN(strtoul(buf_str(&text), NULL, 10), 1000ul);
}
