// SPDX-License-Identifier: GPL-2.0-or-later
#include "clickhouse/clickhouse_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "clickhouse/clickhouse_rows.h"
#include "http_client/http_exchange.h"

#define ANSWER_MS 300000
#define PAGE_ROWS 200000u /* the server sorts a page in memory */
#define TEXT_MAX (64u << 10)
#define LEAD_NS (2 * NS_PER_S) /* as STORE_LEAD_NS: records that later ones complete */
#define HOSTS_SHOWN 8

struct reader {
	const struct clickhouse_reader_opts *o;
	struct http_exchange *x;
	struct clickhouse_rows rows;
	uint64_t next;	 /* expected seq */
	uint64_t end;	 /* seq behind the page */
	bool whole;	 /* no bound: gaps are losses */
	struct buf text; /* an answer in text, or the beginning of a page's */
	bool is_page;
	int result; /* of the parser */
	char why[HTTP_EXCHANGE_WHY];
};

static int on_body(void *ctx, const void *data, size_t len)
{
	struct reader *r = ctx;

	const size_t room = r->text.len < TEXT_MAX ? TEXT_MAX - r->text.len : 0;

	buf_add(&r->text, data, MIN(len, room));
	if (r->is_page && r->result >= 0)
		r->result = clickhouse_rows_feed(&r->rows, data, len);
	return r->result;
}

static int on_row(void *ctx, uint64_t seq, const void *data, size_t len)
{
	struct reader *r = ctx;
	int ret = 0;

	if (seq < r->next || seq >= r->end)
		return -EBADMSG;
	if (r->whole && seq > r->next)
		ret = r->o->missing(r->o->ctx, seq - r->next);
	r->next = seq + 1;
	return ret < 0 ? ret : r->o->record(r->o->ctx, data, len);
}

/* The first line of what the server said. */
static int refused(struct reader *r, struct err *err)
{
	_cleanup_(buf_fini) struct buf said = { 0 };
	const size_t len = MIN(r->text.len, (size_t)300);
	const char *end = len ? memchr(r->text.data, '\n', len) : NULL;

	str_escape_buf(&said, r->text.data, end ? (size_t)(end - r->text.data) : len);
	return err_set(err, -EREMOTEIO, "%s", said.len ? buf_str(&said) : r->why);
}

static int ask(struct reader *r, const char *sql, bool is_page, struct err *err)
{
	long status;

	buf_reset(&r->text);
	r->is_page = is_page;
	r->result = 0;
	status = http_exchange_post(r->x, r->o->target->base, sql, strlen(sql), on_body, r, r->why);
	if (r->is_page && status == 0 && r->result == -EBADMSG)
		return err_set(err, -EBADMSG, "the server's answer has no rows: %.200s", buf_str(&r->text));
	if (r->result < 0)
		return r->result;
	if (!status)
		return err_set(err, -EHOSTUNREACH, "%s", r->why);
	return status == 200 ? 0 : refused(r, err);
}

/* ---- which run ---- */

static bool next_line(const char **at, char *line, size_t cap)
{
	const size_t len = strcspn(*at, "\n");

	if (!**at)
		return false;
	snprintf(line, cap, "%.*s", (int)MIN(len, cap - 1), *at);
	*at += len + ((*at)[len] == '\n');
	return true;
}

static int several_hosts(const char *answer, struct err *err)
{
	_cleanup_(buf_fini) struct buf names = { 0 };
	char line[256];

	for (unsigned i = 0; i < HOSTS_SHOWN && next_line(&answer, line, sizeof(line)); i++) {
		buf_add_str(&names, i ? ", " : "");
		str_escape_buf(&names, line, strcspn(line, "\t"));
	}
	return err_set(err, -EINVAL, "the database has runs of several hosts (%s%s): name one with ?host=NAME",
		       buf_str(&names), *answer ? ", ..." : "");
}

/* Lines "host\tnewest run", one per host. */
static int choose_run(struct reader *r, uint64_t *ret, struct err *err)
{
	const struct clickhouse_target *t = r->o->target;
	_cleanup_(buf_fini) struct buf sql = { 0 };
	const char *answer, *tab;
	int e;

	buf_add_str(&sql, "SELECT host, max(run) FROM run WHERE 1");
	if (t->host[0]) {
		buf_add_str(&sql, " AND host = ");
		clickhouse_target_add_literal(&sql, t->host, strlen(t->host));
	}
	if (t->run)
		buf_printf(&sql, " AND run = %" PRIu64, t->run);
	buf_add_str(&sql, " GROUP BY host ORDER BY host LIMIT 10 FORMAT TSV");
	e = ask(r, buf_str(&sql), false, err);
	if (e < 0)
		return e;
	answer = buf_str(&r->text);
	tab = strchr(answer, '\t');
	if (!tab)
		return err_set(err, -ENOENT, "the database has no such run%s%s", t->host[0] ? " of host " : "",
			       t->host);
	if (strchr(answer, '\n') && strchr(answer, '\n')[1])
		return several_hosts(answer, err);
	*ret = strtoull(tab + 1, NULL, 10);
	return 0;
}

static int read_end(struct reader *r, uint64_t run, uint64_t *ret, struct err *err)
{
	char sql[160];
	int e;

	snprintf(sql, sizeof(sql),
		 "SELECT count() = 0 ? 0 : max(seq) + 1 FROM record WHERE run = %" PRIu64 " FORMAT TSV", run);
	e = ask(r, sql, false, err);
	if (e >= 0)
		*ret = strtoull(buf_str(&r->text), NULL, 10);
	return e;
}

/* ---- pages ---- */

static int read_page(struct reader *r, uint64_t run, uint64_t from, struct err *err)
{
	const struct clickhouse_reader_opts *o = r->o;
	_cleanup_(buf_fini) struct buf sql = { 0 };
	int e;

	buf_printf(&sql,
		   "SELECT seq, data FROM record WHERE run = %" PRIu64 " AND seq >= %" PRIu64 " AND seq < %" PRIu64,
		   run, from, from + PAGE_ROWS);
	if (o->since_ns > (int64_t)LEAD_NS)
		buf_printf(&sql, " AND (state OR ts_ns >= %" PRId64 ")", o->since_ns - (int64_t)LEAD_NS);
	if (o->until_ns)
		buf_printf(&sql, " AND ts_ns <= %" PRId64, o->until_ns + (int64_t)LEAD_NS);
	buf_add_str(&sql, " ORDER BY seq FORMAT RowBinary");
	r->end = from + PAGE_ROWS;
	e = ask(r, buf_str(&sql), true, err);
	if (e >= 0 && r->rows.pending.len)
		return err_set(err, -ENODATA, "the server's answer ends within a row");
	return e;
}

static int read_all(struct reader *r, struct err *err)
{
	uint64_t run = 0, end = 0;
	int e = choose_run(r, &run, err);

	if (e >= 0)
		e = read_end(r, run, &end, err);
	for (uint64_t from = 0; e >= 0 && from < end; from += PAGE_ROWS)
		e = read_page(r, run, from, err);
	return e;
}

int clickhouse_reader_run(const struct clickhouse_reader_opts *o, struct err *err)
{
	const struct http_exchange_opts http = { .headers = o->target->headers, .answer_ms = ANSWER_MS };
	struct reader r = { .o = o, .rows = { .fn = on_row }, .whole = !o->since_ns && !o->until_ns };
	int e = http_exchange_new(&http, &r.x, r.why);

	r.rows.ctx = &r;
	if (e < 0)
		return err_set(err, e, "%s", r.why);
	e = read_all(&r, err);
	clickhouse_rows_fini(&r.rows);
	buf_fini(&r.text);
	http_exchange_free(r.x);
	return e;
}
