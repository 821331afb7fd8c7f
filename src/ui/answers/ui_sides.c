// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Both sides have the connection and the call's number on it in common, else the span id of the caller. Only
 * durations are compared, so clocks need not agree. If a connection's addresses come again, the n-th call of one side
 * is the n-th of the other, provided that both sides have the same number of calls.
 */
#include "ui/answers/ui_answers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/vec.h"
#include "event/event.h"
#include "event/names.h"
#include "ui/answers/ui_scan.h"
#include "ui/ui_answer.h"
#include "ui/ui_memory.h"
#include "ui/ui_query.h"

enum side { SIDE_CLIENT, SIDE_SERVER, SIDE__MAX };

#define SPAN_BYTES 48u /* trace id and span id */

/* Identity of a call, the same at both sides. */
struct key {
	struct conn conn;
	uint64_t ordinal; /* 0 = unknown */
	char span[SPAN_BYTES + 1]; /* "" = none */
	char kind[32];
	enum side side;
};

struct found {
	uint64_t ns, seq; /* wall clock */
};

struct work {
	struct ui_scan scan;
	uint64_t id;
	struct key key;
	uint64_t seq; /* of the call; 0 = not found */
	VEC(struct found) calls[SIDE__MAX];
};

static const char *const side_names[] = { [SIDE_CLIENT] = "client", [SIDE_SERVER] = "server" };

/* ---- fields ---- */

/* False if the event does not have it. */
static bool get(const struct event *ev, const char *name, struct value *ret)
{
	const struct field *f = event_field_named(ev->desc->fields, ev->desc->n_fields, name);

	return f && event_get(ev, f, ret) == 0;
}

static uint64_t number(const struct event *ev, const char *name)
{
	struct value v;

	return get(ev, name, &v) ? v.u : 0;
}

static void text(const struct event *ev, const char *name, char *to, size_t cap)
{
	struct value v;

	*to = '\0';
	if (get(ev, name, &v) && v.kind == VAL_STR)
		snprintf(to, cap, "%.*s", (int)MIN(v.len, cap - 1), v.str);
}

static bool read_key(const struct event *ev, struct key *ret)
{
	char side[16];

	if (strcmp(ev->desc->name, "rpc.call") != 0)
		return false;
	text(ev, "rpc.side", side, sizeof(side));
	*ret = (struct key){ .conn = ev->keys.conn, .ordinal = number(ev, "rpc.ordinal") };
	ret->side = strcmp(side, "server") ? SIDE_CLIENT : SIDE_SERVER;
	text(ev, "rpc.kind", ret->kind, sizeof(ret->kind));
	text(ev, "rpc.trace", ret->span, sizeof(ret->span));
	if (*ret->span)
		text(ev, "rpc.span", ret->span + strlen(ret->span), sizeof(ret->span) - strlen(ret->span));
	return true;
}

/* ---- joining ---- */

static bool has_conn(const struct key *k)
{
	return k->ordinal && k->conn.sport && k->conn.dport;
}

static bool is_same_conn(const struct key *a, const struct key *b)
{
	return has_conn(a) && a->ordinal == b->ordinal && a->conn.sport == b->conn.sport &&
	       a->conn.dport == b->conn.dport && a->conn.proto == b->conn.proto &&
	       ipaddr_equal(&a->conn.saddr, &b->conn.saddr) && ipaddr_equal(&a->conn.daddr, &b->conn.daddr);
}

static bool is_same(const struct key *a, const struct key *b, bool by_span)
{
	return !strcmp(a->kind, b->kind) && (by_span ? *a->span && !strcmp(a->span, b->span) : is_same_conn(a, b));
}

static void find_call(struct work *w)
{
	struct event ev;
	char id[24];

	ui_scan_range(&w->scan, 0, UINT64_MAX);
	while (!w->seq && ui_scan_next(&w->scan, &ev)) {
		if (strcmp(ev.desc->name, "rpc.call") != 0)
			continue;
		text(&ev, "rpc.id", id, sizeof(id));
		if (strtoull(id, NULL, 16) == w->id && read_key(&ev, &w->key))
			w->seq = ev.seq;
	}
}

static int list_calls(struct work *w, bool by_span)
{
	struct event ev;
	struct key key;

	for (enum side i = 0; i < SIDE__MAX; i++)
		w->calls[i].len = 0;
	ui_scan_range(&w->scan, 0, UINT64_MAX);
	while (ui_scan_next(&w->scan, &ev)) {
		if (!read_key(&ev, &key) || !is_same(&w->key, &key, by_span))
			continue;
		if (vec_grow(&w->calls[key.side]) < 0)
			return -ENOMEM;
		w->calls[key.side].items[w->calls[key.side].len++] =
			(struct found){ .ns = event_wall_ns(&ev), .seq = ev.seq };
	}
	return 0;
}

/* Events of both sides of the call, 0 = none or not certain. */
static void choose(struct work *w, uint64_t ret_seqs[SIDE__MAX])
{
	const enum side own = w->key.side;
	const size_t n = w->calls[own].len;
	size_t at = 0;

	ret_seqs[own] = w->seq;
	if (!n || w->calls[!own].len != n)
		return;
	for (enum side i = 0; i < SIDE__MAX; i++)
		qsort(w->calls[i].items, n, sizeof(struct found), vec_by_u64);
	while (at < n && w->calls[own].items[at].seq != w->seq)
		at++;
	if (at < n)
		ret_seqs[!own] = w->calls[!own].items[at].seq;
}

/* ---- the answer ---- */

static bool event_at(struct work *w, uint64_t seq, struct event *ret)
{
	const struct view_kept_part part = { .to_ns = UINT64_MAX, .first_seq = seq };
	struct view_kept_at at = { 0 };

	if (!seq || !view_kept_next_of(w->scan.m->kept, &part, &at, ret) || ret->seq != seq)
		return false;
	arena_reset(&w->scan.scratch);
	ret->scratch = &w->scan.scratch;
	return true;
}

static void put_value(struct json *j, const char *key, const struct event *ev, const char *field)
{
	struct value v;

	if (!get(ev, field, &v) || v.kind != VAL_STR)
		return;
	json_key(j, key);
	ui_answer_put_string(j, v.str, v.len);
}

static void put_process(struct json *j, const struct event *ev)
{
	const struct sec_proc *p = event_proc(ev);
	const char *s = "";
	size_t len = 0;

	if (p)
		s = event_sec_proc_str(p, event_section(ev, SEC_PROC), p->comm, &len);
	json_key(j, "process");
	ui_answer_put_string(j, s, len);
}

static void put_side(struct json *j, const struct event *ev, enum side side)
{
	json_open(j, '{');
	ui_answer_put_text(j, "side", side_names[side]);
	ui_answer_put_text(j, "host", event_names_host(ev->names));
	json_put_u64(j, "pid", ev->tgid);
	put_process(j, ev);
	put_value(j, "call", ev, "rpc.id");
	put_value(j, "method", ev, "rpc.name");
	put_value(j, "status", ev, "rpc.status");
	json_put_bool(j, "error", number(ev, "rpc.error"));
	if (number(ev, "rpc.latency"))
		json_put_u64(j, "latency", number(ev, "rpc.latency"));
	ui_answer_put_time(j, "ts", event_wall_ns(ev));
	json_put_u64(j, "event", ev->seq);
	json_close(j, '}');
}

/* Reason why the network time is unknown; NULL = it is known. */
static const char *unknown(const struct work *w, const uint64_t seqs[SIDE__MAX], const uint64_t ns[SIDE__MAX])
{
	const enum side other = !w->key.side;

	if (!seqs[other] && !has_conn(&w->key) && !*w->key.span)
		return "the call's number on its connection is not known, and it has no trace id";
	if (!seqs[other] && w->calls[other].len)
		return "several calls have this connection and number, and the sides have different numbers of them";
	if (!seqs[other])
		return other == SIDE_SERVER ? "the server's side was not seen" : "the client's side was not seen";
	if (!ns[SIDE_CLIENT] || !ns[SIDE_SERVER])
		return ns[SIDE_CLIENT] ? "the latency of the server's side is not known"
				       : "the latency of the client's side is not known";
	if (ns[SIDE_SERVER] > ns[SIDE_CLIENT])
		return "the server's side took longer than the client's";
	return NULL;
}

static int put_all(struct work *w, bool by_span, struct buf *out)
{
	uint64_t seqs[SIDE__MAX] = { 0 }, ns[SIDE__MAX] = { 0 };
	struct json j = { .out = out };
	const char *why;
	struct event ev;

	choose(w, seqs);
	json_open(&j, '{');
	json_put_open(&j, "sides", '[');
	for (enum side i = 0; i < SIDE__MAX; i++) {
		if (!event_at(w, seqs[i], &ev))
			continue;
		ns[i] = number(&ev, "rpc.latency");
		put_side(&j, &ev, i);
	}
	json_close(&j, ']');
	why = unknown(w, seqs, ns);
	ui_answer_put_text(&j, "joined_by", !seqs[!w->key.side] ? "" : by_span ? "trace" : "connection");
	json_key(&j, "network");
	json_element(&j);
	if (why)
		buf_add_str(out, "null");
	else
		buf_printf(out, "%" PRIu64, ns[SIDE_CLIENT] - ns[SIDE_SERVER]);
	ui_answer_put_text(&j, "why", why ? why : "");
	json_close(&j, '}');
	return buf_error(out);
}

static int answer(struct work *w, const struct ui_query *q, struct ui_answer *a, struct err *err)
{
	bool by_span = false;
	char *end;
	int r;

	w->id = strtoull(q->call, &end, 16);
	if (strlen(q->call) != CALL_ID_DIGITS || *end || !w->id)
		return err_set(err, -EINVAL, "call: expected the %d digits of an id", CALL_ID_DIGITS);
	find_call(w);
	if (!w->seq)
		return err_set(err, -ENOENT, "no event of this call is kept");
	r = list_calls(w, false);
	if (r >= 0 && !w->calls[!w->key.side].len && *w->key.span) {
		by_span = true;
		r = list_calls(w, true);
	}
	return r < 0 ? r : put_all(w, by_span, &a->body);
}

int ui_sides_answer(const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err)
{
	struct work w = { 0 };
	int r = ui_scan_init(&w.scan, ctx, q, err);

	if (r >= 0)
		r = answer(&w, q, a, err);
	for (enum side i = 0; i < SIDE__MAX; i++)
		vec_fini(&w.calls[i]);
	ui_scan_fini(&w.scan);
	return r;
}
