// SPDX-License-Identifier: GPL-2.0-or-later
#include "ui/answers/ui_answers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "event/filter/filter.h"
#include "trace/trace.h"
#include "trace/trace_explain.h"
#include "trace/trace_text.h"
#include "ui/ui_answer.h"
#include "ui/ui_memory.h"
#include "ui/ui_query.h"
#include "ui/answers/ui_scan.h"

#define BUDGET_BYTES (24u << 20)
#define AROUND_NS (2 * NS_PER_S) /* events come late, and carriers of a call begin before it */

DEFINE_CLEANUP(struct trace *, trace_free)
DEFINE_CLEANUP(struct trace_explain *, trace_explain_free)
DEFINE_CLEANUP(struct trace_names *, trace_fact_names_free)
DEFINE_CLEANUP(struct trace_fact_reader *, trace_fact_reader_free)

struct work {
	struct ui_scan scan;
	uint64_t id;			/* of a call; 0 = by the filter and the range */
	struct filter *filter;		/* of calls; borrowed */
	int64_t clock_offset_ns;
	uint64_t from_ns, to_ns;	/* wall clock, of the call */
	struct trace_explain *explain;
	struct ui_answer *a;
	const struct names *host;	/* of the call */
	bool found;
};

static bool want(void *ctx, const struct event *ev, const struct trace_fact *call)
{
	const struct work *w = ctx;
	const uint64_t at_ns = event_wall_ns(ev);

	if (w->id)
		return call->of_call.id == w->id;
	return at_ns >= w->scan.from_ns && at_ns < w->scan.to_ns && filter_match(w->filter, ev);
}

static int run(struct work *w, const struct trace_opts *opts, uint64_t from_ns, uint64_t to_ns)
{
	_cleanup_(trace_freep) struct trace *t = trace_new(opts);
	struct event ev;
	int r = t ? 0 : -ENOMEM;

	ui_scan_range(&w->scan, from_ns, to_ns);
	while (r >= 0 && ui_scan_next(&w->scan, &ev)) {
		w->clock_offset_ns = ev.clock_offset_ns;
		r = trace_add(t, &ev);
	}
	return r < 0 ? r : trace_end(t);
}

/* ---- /trace ---- */

/* The times of both sides. */
static int find_call(struct work *w)
{
	_cleanup_(trace_fact_names_freep) struct trace_names *names = trace_fact_names_new();
	_cleanup_(trace_fact_reader_freep) struct trace_fact_reader *reader =
		names ? trace_fact_reader_new(names) : NULL;
	struct trace_fact fact;
	struct event ev;
	int r = reader ? 0 : -ENOMEM;

	ui_scan_range(&w->scan, 0, UINT64_MAX);
	while (r >= 0 && ui_scan_next(&w->scan, &ev)) {
		uint64_t offset_ns = (uint64_t)ev.clock_offset_ns;

		r = trace_fact_read(reader, &ev, &fact);
		if (r <= 0 || fact.kind != TRACE_FACT_CALL || fact.of_call.id != w->id)
			continue;
		w->from_ns = w->found ? MIN(w->from_ns, fact.from_ns + offset_ns) : fact.from_ns + offset_ns;
		w->to_ns = MAX(w->to_ns, fact.ts_ns + offset_ns);
		w->host = ev.names;
		w->found = true;
	}
	return r < 0 ? r : 0;
}

static int take_call(void *ctx, const struct trace_call *c)
{
	struct work *w = ctx;

	return w->a->body.len ? 0 : trace_json(c, w->clock_offset_ns, true, &w->a->body);
}

static int trace(struct work *w, const struct ui_query *q, struct err *err)
{
	const struct trace_opts opts = { .budget_bytes = BUDGET_BYTES, .want = want, .take = take_call, .ctx = w };
	char *end;
	int r;

	w->id = strtoull(q->call, &end, 16);
	if (strlen(q->call) != CALL_ID_DIGITS || *end || !w->id)
		return err_set(err, -EINVAL, "call: expected the %d digits of an id", CALL_ID_DIGITS);
	r = find_call(w);
	w->scan.host = w->host;
	if (r >= 0 && w->found)
		r = run(w, &opts, w->from_ns - MIN(w->from_ns, AROUND_NS), w->to_ns + AROUND_NS);
	if (r >= 0 && !w->a->body.len)
		return err_set(err, -ENOENT, "no event of this call is kept");
	return r;
}

int ui_trace_answer(const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err)
{
	struct work w = { .a = a };
	int r = ui_scan_init(&w.scan, ctx, q, err);

	if (r >= 0)
		r = trace(&w, q, err);
	ui_scan_fini(&w.scan);
	return r;
}

/* ---- /explain ---- */

static int add_call(void *ctx, const struct trace_call *c)
{
	struct work *w = ctx;

	return trace_explain_add(w->explain, c);
}

/* The filter chooses calls; what happened during them is needed whole. */
static int explain(struct work *w)
{
	const struct trace_opts opts = { .budget_bytes = BUDGET_BYTES, .want = want, .take = add_call, .ctx = w };

	const struct ui_facts *f = &w->scan.m->facts;
	int r = 0;

	w->filter = w->scan.filter;
	w->scan.filter = NULL;
	for (size_t i = 0; r >= 0 && i < f->n_hosts; i++) {	/* each has a clock of its own */
		struct ui_host h = { 0 };

		f->host(f->ctx, i, &h);
		w->scan.host = f->n_hosts > 1 ? h.names : NULL;
		r = run(w, &opts, w->scan.from_ns - MIN(w->scan.from_ns, AROUND_NS), w->scan.to_ns + AROUND_NS);
	}
	return r;
}

/* Lines of JSON become members of a list. */
static void put_lines(struct json *j, const struct buf *lines)
{
	const char *p = lines->data, *end = p + lines->len;

	json_put_open(j, "operations", '[');
	while (p < end) {
		const char *stop = memchr(p, '\n', (size_t)(end - p));

		stop = stop ? stop : end;
		json_element(j);
		buf_add(j->out, p, (size_t)(stop - p));
		p = stop + 1;
	}
	json_close(j, ']');
}

int ui_trace_explain(const void *ctx, const struct ui_query *q, struct ui_answer *a, struct err *err)
{
	_cleanup_(trace_explain_freep) struct trace_explain *e = trace_explain_new(q->failed);
	_cleanup_(buf_fini) struct buf lines = { 0 };
	struct work w = { .explain = e, .a = a };
	struct json j = { .out = &a->body };
	int r = e ? ui_scan_init(&w.scan, ctx, q, err) : -ENOMEM;

	if (r >= 0)
		r = explain(&w);
	if (r >= 0)
		r = trace_explain_print(e, true, &lines);
	if (r >= 0) {
		json_open(&j, '{');
		ui_scan_head(&w.scan, &j);
		put_lines(&j, &lines);
		json_close(&j, '}');
	}
	ui_scan_fini(&w.scan);
	filter_free(w.filter);
	return r;
}
