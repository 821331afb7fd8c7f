// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A call as one JSON object. Each number names the event that it comes from: `event` is evt.num of the stream.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "event/json.h"
#include "trace/trace_call.h"
#include "trace/trace_text.h"

static void put_text(struct json *j, const char *key, const char *text)
{
	if (*text)
		json_put_text(j, key, text);
}

static void put_time(struct json *j, const char *key, uint64_t ns, bool as_text)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, ns);
	if (as_text)
		put_text(j, key, text);
	else
		json_put_u64(j, key, ns);
}

static void put_id(struct json *j, const char *key, uint64_t id)
{
	char text[CALL_ID_DIGITS + 1];

	snprintf(text, sizeof(text), "%0*" PRIx64, CALL_ID_DIGITS, id);
	put_text(j, key, text);
}

static void put_row(struct json *j, const struct trace_call *c, size_t n, bool as_text)
{
	const struct trace_row *r = &c->rows[n];
	const struct trace_fact *f = &r->call;

	json_open(j, '{');
	json_put_u64(j, "span", n);
	if (r->how != TRACE_HOW_ROOT)
		json_put_u64(j, "parent", r->parent);
	put_text(j, "joined_by", trace_text_how[r->how]);
	put_id(j, "call", f->of_call.id);
	put_text(j, "method", trace_fact_text(c->names, f->of_call.method));
	put_text(j, "side", f->of_call.side == TRACE_SIDE_SERVER ? "server" : "client");
	put_text(j, "status", trace_fact_text(c->names, f->of_call.status));
	json_put_bool(j, "error", f->of_call.error);
	json_put_u64(j, "pid", f->tgid);
	put_text(j, "process", trace_fact_text(c->names, f->comm));
	put_time(j, "from", f->from_ns, as_text);
	put_time(j, "to", f->ts_ns, as_text);
	json_put_u64(j, "packets", r->packets);
	json_put_u64(j, "retransmitted", r->retransmitted);
	json_put_u64(j, "drops", r->drops);
	json_put_u64(j, "event", f->num);
	json_close(j, '}');
}

static void put_segment(struct json *j, const struct trace_call *c, const struct trace_segment *s, bool as_text)
{
	json_open(j, '{');
	put_time(j, "from", s->from_ns, as_text);
	put_time(j, "to", s->to_ns, as_text);
	json_put_u64(j, "span", s->row);
	json_put_u64(j, "pid", s->tgid);
	if (s->tid)
		json_put_u64(j, "thread", s->tid);
	put_text(j, "state", trace_text_states[s->state]);
	put_text(j, "cause", trace_text_causes[s->cause]);
	put_text(j, "detail", trace_fact_text(c->names, s->detail));
	put_text(j, "woken_by", trace_fact_text(c->names, s->waker));
	put_text(j, "waker_served", trace_fact_text(c->names, s->waker_call));
	put_text(j, "behind", trace_fact_text(c->names, s->behind));
	put_text(j, "held", trace_text_held[s->held]);
	put_text(j, "known_by", trace_text_by[s->by]);
	if (s->event)
		json_put_u64(j, "event", s->event);
	json_close(j, '}');
}

static void put_syscall(struct json *j, const struct trace_call *c, const struct trace_item *i)
{
	const struct trace_syscall_fact *s = &i->fact->of_syscall;

	put_text(j, "name", trace_fact_text(c->names, s->name));
	put_text(j, "file", trace_fact_text(c->names, s->file));
	if (s->fd >= 0)
		json_put_u64(j, "fd", (uint64_t)s->fd);
	json_put_i64(j, "ret", s->ret);
	json_put_u64(j, "thread", i->fact->tid);
	if (i->queued_ns)
		json_put_u64(j, "queued", i->queued_ns);
	if (i->runq_ns)
		json_put_u64(j, "queued_runq", i->runq_ns);
}

static void put_packet(struct json *j, const struct trace_call *c, const struct trace_fact *f)
{
	if (f->of_packet.dir)
		put_text(j, "dir", f->of_packet.dir == PACKET_DIR_IN ? "in" : "out");
	put_text(j, "reason", trace_fact_text(c->names, f->of_packet.reason));
	json_put_u64(j, "len", f->of_packet.len);
}

static void put_item(struct json *j, const struct trace_call *c, const struct trace_item *i, bool as_text)
{
	const struct trace_fact *f = i->fact;
	const char *type = f->kind == TRACE_FACT_SYSCALL ? "syscall" : f->kind == TRACE_FACT_DROP ? "drop" : "packet";

	json_open(j, '{');
	json_put_u64(j, "event", f->num);
	put_text(j, "type", type);
	json_put_u64(j, "span", i->row);
	put_time(j, "from", f->from_ns, as_text);
	put_time(j, "to", f->ts_ns, as_text);
	if (f->kind == TRACE_FACT_SYSCALL)
		put_syscall(j, c, i);
	else
		put_packet(j, c, f);
	if (f->seq_len) {
		json_put_u64(j, "seq", f->seq);
		json_put_u64(j, "bytes", f->seq_len);
	}
	json_close(j, '}');
}

int trace_json(const struct trace_call *c, int64_t clock_offset_ns, bool time_as_text, struct buf *out)
{
	struct json j = { .out = out };
	const struct trace_fact *root = &c->rows[0].call;

	json_open(&j, '{');
	json_put_u64(&j, "v", 1);
	put_text(&j, "type", "trace");
	put_id(&j, "call", root->of_call.id);
	put_text(&j, "method", trace_fact_text(c->names, root->of_call.method));
	if (clock_offset_ns)
		put_time(&j, "time_ns", c->begin_ns + (uint64_t)clock_offset_ns, time_as_text);
	put_time(&j, "from", c->begin_ns, time_as_text);
	json_put_u64(&j, "latency", c->end_ns - c->begin_ns);
	json_put_open(&j, "spans", '[');
	for (size_t i = 0; i < c->n_rows; i++)
		put_row(&j, c, i, time_as_text);
	json_close(&j, ']');
	json_put_open(&j, "segments", '[');
	for (size_t i = 0; i < c->n_segs; i++)
		put_segment(&j, c, &c->segs[i], time_as_text);
	json_close(&j, ']');
	json_put_open(&j, "events", '[');
	for (size_t i = 0; i < c->n_items; i++)
		put_item(&j, c, &c->items[i], time_as_text);
	json_close(&j, ']');
	json_put_u64(&j, "ambiguous_children", c->ambiguous);
	json_put_u64(&j, "beyond_limits", c->ignored);
	if (c->min_wait_ns != UINT64_MAX)
		json_put_u64(&j, "shortest_wait", c->min_wait_ns);
	json_put_bool(&j, "evicted", c->evicted);
	json_close(&j, '}');
	return buf_add_char(out, '\n');
}
