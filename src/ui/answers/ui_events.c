// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * All events of the range are counted; places of the rows to show are kept in a ring meanwhile.
 */
#include "ui/answers/ui_answers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "event/names.h"
#include "sinks/json_line.h"
#include "stack/stack.h"
#include "stack/view.h"
#include "ui/ui_answer.h"
#include "ui/answers/ui_columns.h"
#include "ui/ui_memory.h"
#include "ui/ui_query.h"
#include "ui/answers/ui_scan.h"
#include "ui/answers/ui_view_counts.h"
#include "view/view_clause.h"
#include "view/view_fold.h"

#define HEX_BYTES 65536u /* of a packet or a message that are shown */

/* ---- one row ---- */

/* Name of the event's process, escaped. */
static void put_process(const struct event *ev, struct buf *out)
{
	const struct sec_proc *p = event_proc(ev);
	const char *s;
	size_t len;

	if (!p)
		return;
	s = event_sec_proc_str(p, event_section(ev, SEC_PROC), p->comm, &len);
	str_escape_buf(out, s, len);
}

/* The first line of the text, without its end. */
static int put_line(const struct event *ev, struct buf *out)
{
	const struct line_opts plain = { 0 };
	const char *end;
	int r = event_line(ev, &plain, out);

	end = r < 0 || !out->len ? NULL : memchr(out->data, '\n', out->len);
	if (end)
		out->len = (size_t)(end - out->data);
	return r < 0 ? r : buf_error(out);
}

/* ---- rows ---- */

struct list {
	struct ui_scan scan;
	struct view_fold *fold;	/* of the view whose events are listed; NULL = all */
	struct view_kept_at *ring;	/* owned; [limit] */
	size_t limit, len;	/* len: of all that were put in */
	uint64_t n;
};

static int is_counted(struct list *l, const struct event *ev)
{
	uint64_t before;
	int r;

	if (!l->fold)
		return 1;
	before = view_fold_events(l->fold);
	r = view_fold_take(l->fold, ev);
	return r < 0 ? r : view_fold_events(l->fold) > before;
}

/* After SEQ the first rows are shown, else the last. */
static void keep(struct list *l, const struct ui_query *q, const struct event *ev)
{
	if (q->after != UINT64_MAX && (ev->seq <= q->after || l->len == l->limit))
		return;
	if (q->before != UINT64_MAX && ev->seq >= q->before)
		return;
	l->ring[l->len++ % l->limit] = ui_scan_place(&l->scan, ev);
}

static int find(struct list *l, const struct ui_query *q, struct err *err)
{
	const struct view *v = q->view ? ui_view_counts_find(l->scan.m, q->view) : NULL;
	struct event ev;
	int r = 0;

	if (q->view && !v)
		return err_set(err, -EINVAL, "view: no such view: /views lists them");
	if (v)
		r = ui_view_counts_fold(v, &l->fold);
	if (r >= 0 && v && ui_view_counts_grows(v)) {
		ui_scan_range(&l->scan, 0, l->scan.from_ns);
		while (r >= 0 && ui_scan_next(&l->scan, &ev))
			r = view_fold_take(l->fold, &ev);
		ui_scan_range(&l->scan, l->scan.from_ns, l->scan.to_ns);
	}
	while (r >= 0 && ui_scan_next(&l->scan, &ev)) {
		r = is_counted(l, &ev);
		if (r <= 0)
			continue;
		l->n++;
		keep(l, q, &ev);
	}
	return r;
}

/* The @i-th row to show. */
static void row_at(struct list *l, size_t i, struct event *ret)
{
	size_t first = l->len > l->limit ? l->len - l->limit : 0;
	struct view_kept_at at = l->ring[(first + i) % l->limit];

	view_kept_next(l->scan.m->kept, &at, ret);
	arena_reset(&l->scan.scratch);
	ret->scratch = &l->scan.scratch;
}

static void put_row(struct json *j, const struct event *ev, struct buf *text)
{
	json_open(j, '{');
	json_put_u64(j, "seq", ev->seq);
	ui_answer_put_time(j, "ts", event_wall_ns(ev));
	ui_answer_put_text(j, "type", ev->desc->name);
	ui_answer_put_text(j, "host", event_names_host(ev->names));
	json_put_u64(j, "pid", ev->tgid);
	json_put_u64(j, "tid", ev->tid);
	json_put_u64(j, "cpu", ev->cpu);
	buf_reset(text);
	put_process(ev, text);
	json_put_str(j, "process", text->data, text->len);
	buf_reset(text);
	put_line(ev, text);
	json_put_str(j, "text", text->data, text->len);
	json_close(j, '}');
}

static int put_json(struct list *l, struct buf *out)
{
	_cleanup_(buf_fini) struct buf text = { 0 };
	struct json j = { .out = out };
	struct event ev;

	json_open(&j, '{');
	ui_scan_head(&l->scan, &j);
	json_put_u64(&j, "n", l->n);
	json_put_open(&j, "events", '[');
	for (size_t i = 0; i < MIN(l->len, l->limit); i++) {
		row_at(l, i, &ev);
		put_row(&j, &ev, &text);
	}
	json_close(&j, ']');
	json_close(&j, '}');
	return buf_error(out);
}

static int put_columns(struct list *l, struct buf *out)
{
	_cleanup_(buf_fini) struct buf name = { 0 }, text = { 0 }, host = { 0 };
	_cleanup_(ui_columns_fini) struct ui_columns c = { 0 };
	struct event ev;
	int r = ui_columns_init(&c, out);

	c.n = l->n;
	c.lost = ui_memory_lost(l->scan.m, l->scan.from_ns, l->scan.to_ns);
	for (size_t i = 0; r >= 0 && i < MIN(l->len, l->limit); i++) {
		row_at(l, i, &ev);
		buf_reset(&name);
		buf_reset(&text);
		put_process(&ev, &name);
		buf_reset(&host);
		str_escape_buf(&host, event_names_host(ev.names), strlen(event_names_host(ev.names)));
		r = put_line(&ev, &text);
		if (r >= 0)
			r = ui_columns_add(&c, &(struct ui_columns_row){
				.ns = event_wall_ns(&ev), .seq = ev.seq, .type = ev.desc->name,
				.type_len = strlen(ev.desc->name), .process = name.data, .process_len = name.len,
				.text = text.data, .text_len = text.len, .pid = ev.tgid, .tid = ev.tid,
				.cpu = ev.cpu, .host = host.data, .host_len = host.len });
	}
	return r < 0 ? r : ui_columns_end(&c);
}

int ui_events_answer(const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err)
{
	struct list l = { .limit = q->limit };
	int r = ui_scan_init(&l.scan, ctx, q, err);

	if (r >= 0) {
		l.ring = calloc(l.limit, sizeof(*l.ring));
		r = l.ring ? find(&l, q, err) : -ENOMEM;
	}
	a->columns = q->columns;
	if (r >= 0)
		r = q->columns ? put_columns(&l, &a->body) : put_json(&l, &a->body);
	ui_scan_fini(&l.scan);
	view_fold_free(l.fold);
	free(l.ring);
	return r;
}

/* ---- one event ---- */

static void put_hex(struct json *j, const char *key, const uint8_t *data, size_t len)
{
	json_key(j, key);
	json_element(j);
	buf_add_char(j->out, '"');
	for (size_t i = 0; i < MIN(len, (size_t)HEX_BYTES); i++)
		buf_printf(j->out, "%02x", data[i]);
	buf_add_char(j->out, '"');
}

static void put_bytes(struct json *j, const struct event *ev)
{
	const struct section *message = event_section(ev, SEC_MESSAGE);
	const uint8_t *data;
	const struct sec_packet *packet = event_packet(ev, &data);

	if (packet)
		put_hex(j, "bytes", data, packet->cap_len);
	else if (message && message->len)
		put_hex(j, "bytes", message->data, message->len);
}

static int put_stack(struct json *j, const struct ui_memory *m, const struct event *ev)
{
	const struct stack_set_opts opts = { .budget_bytes = 1 << 20 };
	const struct stack_view view = { 0 };
	struct stack_frames frames = { 0 };
	struct stack_names *names = NULL;
	struct stack_set *set = NULL;
	struct sym *sym = ui_memory_sym(m, ev);
	size_t at;
	int r = sym && (event_section(ev, SEC_STACK_USER) || event_section(ev, SEC_STACK_KERN)) ?
			stack_set_new(sym, &opts, &set) : -ENOENT;

	if (r >= 0)
		r = stack_set_put(set, ev, &at);
	if (r >= 0)
		r = stack_names_new(set, sym, &names);
	if (r >= 0)
		r = stack_names_all(names, stack_set_at(set, at), &view, &frames);
	if (r >= 0) {
		json_put_open(j, "stack", '[');
		for (size_t i = 0; i < frames.len; i++) {
			json_open(j, '{');
			ui_answer_put_text(j, "name", frames.items[i].name);
			json_put_u64(j, "part", frames.items[i].part + 1);
			json_close(j, '}');
		}
		json_close(j, ']');
	}
	vec_fini(&frames);
	stack_names_free(names);
	stack_set_free(set);
	return r == -ENOMEM ? r : 0;
}

static void put_link(struct json *j, const char *what, const char *label, const char *q, const char *page)
{
	json_open(j, '{');
	ui_answer_put_text(j, "what", what);
	ui_answer_put_text(j, "label", label);
	ui_answer_put_text(j, "q", q);
	ui_answer_put_text(j, "page", page);
	json_close(j, '}');
}

static void put_flow_link(struct json *j, const struct event *ev)
{
	_cleanup_(buf_fini) struct buf label = { 0 }, q = { 0 };
	const struct conn *c = &ev->keys.conn;

	if (!c->saddr.family || !c->sport)
		return;
	ipaddr_text(&c->saddr, &label);
	buf_printf(&label, ":%u - ", c->sport);
	ipaddr_text(&c->daddr, &label);
	buf_printf(&label, ":%u", c->dport);
	buf_printf(&q, "fd.port=%u and fd.port=%u and fd.ip=", c->sport, c->dport);
	ipaddr_text(&c->saddr, &q);
	buf_add_str(&q, " and fd.ip=");
	ipaddr_text(&c->daddr, &q);
	put_link(j, "flow", buf_str(&label), buf_str(&q), "/flows");
}

/* A link to what has a number of its own on each host: the @clause, of this event's host. */
static void put_host_link(struct json *j, const struct ui_memory *m, const struct event *ev, const char *what,
			  const char *label, const char *clause, const char *page)
{
	_cleanup_(buf_fini) struct buf q = { 0 };

	if (m->facts.n_hosts > 1) {
		view_clause_add("host", event_names_host(ev->names), &q);
		buf_add_str(&q, " and ");
	}
	buf_add_str(&q, clause);
	put_link(j, what, label, buf_str(&q), page);
}

static void put_links(struct json *j, const struct ui_memory *m, const struct event *ev)
{
	_cleanup_(buf_fini) struct buf who = { 0 };
	char q[64], label[20];

	json_put_open(j, "links", '[');
	if (ev->tgid) {
		event_who(ev, ev->tgid, &who);
		snprintf(q, sizeof(q), "proc.pid=%u", ev->tgid);
		put_host_link(j, m, ev, "process", buf_str(&who), q, "/processes");
	}
	put_flow_link(j, ev);
	if (ev->keys.call) {
		snprintf(label, sizeof(label), "%0*" PRIx64, CALL_ID_DIGITS, ev->keys.call);
		snprintf(q, sizeof(q), "call=%s", label);
		put_host_link(j, m, ev, "call", label, q, "/calls");
	}
	snprintf(q, sizeof(q), "evt.type=%.40s", ev->desc->name);
	put_link(j, "type", ev->desc->name, q, "/events");
	json_close(j, ']');
}

static int put_event(struct ui_answer *a, const struct ui_memory *m, const struct event *ev)
{
	_cleanup_(buf_fini) struct buf text = { 0 };
	struct json_line line = { 0 };
	struct json j = { .out = &a->body };
	int r;

	json_open(&j, '{');
	json_key(&j, "event");
	r = json_line(&line, ev, NULL, false, &a->body);
	json_line_fini(&line);
	if (r < 0 || !a->body.len)
		return -ENOMEM;
	a->body.len--;	/* its newline */
	j.comma = true;
	ui_answer_put_time(&j, "ts", event_wall_ns(ev));
	ui_answer_put_text(&j, "host", event_names_host(ev->names));
	put_line(ev, &text);
	json_put_str(&j, "text", text.data, text.len);
	r = put_stack(&j, m, ev);
	put_bytes(&j, ev);
	put_links(&j, m, ev);
	json_close(&j, '}');
	return r;
}

int ui_events_one(const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err)
{
	const struct ui_memory *m = ctx;
	const struct view_kept_part part = { .to_ns = UINT64_MAX, .first_seq = q->seq };
	struct view_kept_at at = { 0 };
	struct arena scratch = { 0 };
	struct event ev;
	int r;

	if (!view_kept_next_of(m->kept, &part, &at, &ev) || ev.seq != q->seq)
		return err_set(err, -ENOENT, "this event is not kept");
	ev.scratch = &scratch;
	r = put_event(a, m, &ev);
	arena_fini(&scratch);
	return r;
}
