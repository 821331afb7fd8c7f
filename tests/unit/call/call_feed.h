/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One connection for tests of the parsers in src/call: bytes in, calls out as one line each.
 *
 *	kind operation resource[?query] status=N[/text] ask=BYTES@FIRST-LAST answer=BYTES@FIRST-LAST [words]
 *
 * Every chunk is one microsecond later than the one before; times are printed in microseconds.
 */
#ifndef TESTS_CALL_FEED_H
#define TESTS_CALL_FEED_H

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "call/call_conn.h"

struct feed {
	struct call_pool pool;
	struct call_conn *conn;
	struct buf out;			/* lines of ended calls */
	uint64_t now_us, offsets[CALL_DIR__MAX];
	enum call_switch switched;
	bool terse;			/* without sizes and times */
	bool datagrams;
	bool turn;			/* chunks say that they begin one */
};

static void feed_text(struct buf *out, const char *before, const struct call *c, enum call_text kind)
{
	size_t len;
	const char *text = call_entry_text(c, kind, &len);

	if (!text)
		return;
	buf_add_str(out, before);
	buf_add(out, text, len);
}

static void feed_span(struct buf *out, const char *name, const struct call_span *s)
{
	if (s->begun)
		buf_printf(out, " %s=%" PRIu64 "@%" PRIu64 "-%" PRIu64, name, s->bytes, s->first_ns / 1000,
			   s->last_ns / 1000);
}

static const char *kind_name(enum call_kind kind)
{
	static const char *const names[] = {
#define CALL_KIND(kind, name) [CALL_KIND_##kind] = name,
#include "call/call_protocols.def"
	};

	_Static_assert(ARRAY_SIZE(names) == CALL_KIND__MAX, "a name of each kind");
	return names[kind];
}

static void feed_ended(void *ctx, struct call_conn *conn, const struct call *c)
{
	static const char *const ends[] = { "", " oneway", " closed", " reset", " lost", " evicted" };
	static const char *const errors[] = { "", " client-error", " failed" };
	struct feed *f = ctx;
	struct buf *out = &f->out;

	(void)conn;
	buf_add_str(out, kind_name(c->kind));
	feed_text(out, " ", c, CALL_TEXT_OPERATION);
	feed_text(out, " ", c, CALL_TEXT_RESOURCE);
	feed_text(out, "?", c, CALL_TEXT_QUERY);
	feed_text(out, " host=", c, CALL_TEXT_AUTHORITY);
	feed_text(out, " db=", c, CALL_TEXT_DATABASE);
	feed_text(out, " [", c, CALL_TEXT_STATEMENT);
	if (c->texts[CALL_TEXT_STATEMENT].len)
		buf_add_char(out, ']');
	if (c->status != CALL_STATUS_NONE)
		buf_printf(out, " status=%" PRId64, c->status);
	feed_text(out, " ", c, CALL_TEXT_STATUS);
	if (c->rows != CALL_ROWS_NONE)
		buf_printf(out, " rows=%" PRIu64, c->rows);
	if (!f->terse) {
		feed_span(out, "ask", &c->request);
		feed_span(out, "answer", &c->response);
	}
	buf_printf(out, "%s%s%s%s%s", errors[c->error], ends[c->end],
		   c->incomplete & CALL_INCOMPLETE_CUT ? " cut" : "",
		   c->incomplete & CALL_INCOMPLETE_HPACK ? " hpack" : "",
		   c->incomplete & CALL_INCOMPLETE_MIDSTREAM ? " midstream" : "");
	if (c->index)
		buf_printf(out, " index=%u", c->index);
	feed_text(out, "\n  ", c, CALL_TEXT_HEADERS);
	if (!c->texts[CALL_TEXT_HEADERS].len)
		buf_add_char(out, '\n');
}

static void feed_switched(void *ctx, struct call_conn *conn, enum call_switch to)
{
	struct feed *f = ctx;

	(void)conn;
	f->switched = to;
}

static const struct call_pool_ops feed_ops = { .ended = feed_ended, .switched = feed_switched };

static _unused_ void feed_init(struct feed *f)
{
	*f = (struct feed){ 0 };
	call_pool_init(&f->pool, &feed_ops, f);
	f->conn = call_conn_new(&f->pool, CALL_ROLE_UNKNOWN, false, NULL);
}

static _unused_ void feed_fini(struct feed *f)
{
	call_conn_free(f->conn);
	if (f->pool.bytes)	/* all that was accounted is given back */
		abort();
	call_pool_fini(&f->pool);
	buf_fini(&f->out);
}

/* Bytes of a direction, then a hole. */
static _unused_ void feed_bytes(struct feed *f, enum call_dir dir, const void *data, size_t len, uint64_t hole)
{
	struct call_chunk chunk = { .data = data, .len = (uint32_t)len, .hole = hole, .offset = f->offsets[dir],
				    .time_ns = ++f->now_us * 1000, .turn = f->turn };

	f->offsets[dir] += len + hole;
	if (f->datagrams)
		call_conn_datagram(f->conn, dir, &chunk);
	else
		call_conn_feed(f->conn, dir, &chunk);
}

static _unused_ void feed_sent(struct feed *f, const char *text)
{
	feed_bytes(f, CALL_DIR_SENT, text, strlen(text), 0);
}

static _unused_ void feed_received(struct feed *f, const char *text)
{
	feed_bytes(f, CALL_DIR_RECEIVED, text, strlen(text), 0);
}

/* The calls that ended since the last question. Valid until the next call. */
static _unused_ const char *feed_calls(struct feed *f)
{
	static char text[65536];

	snprintf(text, sizeof(text), "%s", buf_str(&f->out));
	buf_reset(&f->out);
	return text;
}

#endif
