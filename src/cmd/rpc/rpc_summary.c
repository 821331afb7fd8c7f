// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/rpc/rpc_summary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "event/event.h"
#include "event/json.h"
#include "sinks/sink.h"
#include "view/view_hist.h"

#define ROWS_MAX 20000u			/* then "(other)" */
#define NAME_MAX_BYTES 256u

struct row {
	char *name, *side, *comm;	/* owned */
	uint64_t calls, errors, total_ns;
	struct view_hist times;
};

struct rpc_summary {
	struct map by_key;		/* hash of side, comm and name -> index + 1 */
	VEC(struct row *) rows;		/* owned */
	uint64_t first_ns, last_ns;
	const char *name;		/* word of the name */
};

static void row_free(struct row *r)
{
	if (!r)
		return;
	free(r->name);
	free(r->side);
	free(r->comm);
	view_hist_fini(&r->times);
	free(r);
}
DEFINE_CLEANUP(struct row *, row_free)

int rpc_summary_new(bool raw, struct rpc_summary **ret)
{
	struct rpc_summary *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	map_init(&s->by_key, sizeof(uint64_t), sizeof(size_t));
	s->name = raw ? "rpc.raw_name" : "rpc.name";
	*ret = s;
	return 0;
}

void rpc_summary_free(struct rpc_summary *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->rows.len; i++)
		row_free(s->rows.items[i]);
	vec_fini(&s->rows);
	map_fini(&s->by_key);
	free(s);
}

/* ---- counting ---- */

static int get(const struct event *ev, const char *word, struct value *ret)
{
	const struct field *f = event_field_named(ev->desc->fields, ev->desc->n_fields, word);

	*ret = (struct value){ 0 };
	return f ? event_get(ev, f, ret) : -ENOENT;
}

static char *copy(const struct value *v, const char *otherwise)
{
	return v->kind == VAL_STR ? strndup(v->str, MIN(v->len, (size_t)NAME_MAX_BYTES)) : strdup(otherwise);
}

static struct row *new_row(struct rpc_summary *s, uint64_t key, const struct value *name, const struct value *side,
			   const struct value *comm)
{
	_cleanup_(row_freep) struct row *r = calloc(1, sizeof(*r));
	size_t *index;

	if (!r)
		return NULL;
	r->name = copy(name, "?");
	r->side = copy(side, "?");
	r->comm = copy(comm, "");
	if (!r->name || !r->side || !r->comm || vec_grow(&s->rows) < 0)
		return NULL;
	index = map_add(&s->by_key, &key, NULL);
	if (!index)
		return NULL;
	s->rows.items[s->rows.len++] = r;
	*index = s->rows.len;
	return TAKE_PTR(r);
}

static uint64_t hash_value(const struct value *v)
{
	return v->kind == VAL_STR ? map_hash(v->str, v->len) : 0;
}

static uint64_t key_of(const struct value *name, const struct value *side, const struct value *comm)
{
	return hash_value(name) * 3 + hash_value(side) * 5 + hash_value(comm) * 7;
}

/* With as many rows as a table may have, methods without one are counted together. */
static struct row *row_of(struct rpc_summary *s, const struct event *ev)
{
	static const struct value other = { .kind = VAL_STR, .str = "(other)", .len = 7 };
	const struct sec_proc *p = event_proc(ev);
	struct value name, side, comm = { 0 };
	uint64_t key;
	size_t *index;

	get(ev, s->name, &name);
	get(ev, "rpc.side", &side);
	if (p) {
		comm.kind = VAL_STR;
		comm.str = event_sec_proc_str(p, event_section(ev, SEC_PROC), p->comm, &comm.len);
		comm.kind = comm.str ? VAL_STR : VAL_NONE;
	}
	key = key_of(&name, &side, &comm);
	index = map_find(&s->by_key, &key);
	if (!index && s->rows.len >= ROWS_MAX) {
		name = comm = other;
		key = key_of(&name, &side, &comm);
		index = map_find(&s->by_key, &key);
	}
	return index ? s->rows.items[*index - 1] : new_row(s, key, &name, &side, &comm);
}

/* Counts an rpc.call event, ignores others. 0 or -ENOMEM. */
static int rpc_summary_add(struct rpc_summary *s, const struct event *ev)
{
	struct value latency, error;
	struct row *r;

	if (strcmp(ev->desc->name, "rpc.call"))
		return 0;
	r = row_of(s, ev);
	if (!r)
		return -ENOMEM;
	if (!s->first_ns)
		s->first_ns = ev->ts_ns;
	s->last_ns = MAX(s->last_ns, ev->ts_ns);
	r->calls++;
	r->errors += get(ev, "rpc.error", &error) == 0 && error.u;
	if (get(ev, "rpc.latency", &latency) < 0)
		return 0;
	r->total_ns += latency.u;
	return view_hist_add(&r->times, latency.u);
}

/* ---- the table ---- */

static int by_calls(const void *a, const void *b)
{
	const struct row *const *x = a, *const *y = b;

	return COMPARE((*y)->calls, (*x)->calls) ?: strcmp((*x)->name, (*y)->name);
}

static void add_time(struct buf *out, uint64_t ns)
{
	if (!ns)
		buf_add_str(out, "         -");
	else if (ns < 1000000)
		buf_printf(out, " %7.1fus", (double)ns / 1e3);
	else if (ns < NS_PER_S)
		buf_printf(out, " %7.2fms", (double)ns / 1e6);
	else
		buf_printf(out, " %8.2fs", (double)ns / 1e9);
}

static double rate(uint64_t n, uint64_t ns)
{
	return ns ? (double)n * 1e9 / (double)ns : 0;
}

static void text_row(const struct rpc_summary *s, const struct row *r, struct buf *out)
{
	buf_printf(out, "%-6s %9" PRIu64 " %9.1f", r->side, r->calls, rate(r->calls, s->last_ns - s->first_ns));
	buf_printf(out, " %8" PRIu64 " %5.1f%%", r->errors, 100.0 * (double)r->errors / (double)r->calls);
	add_time(out, view_hist_percentile(&r->times, 500));
	add_time(out, view_hist_percentile(&r->times, 900));
	add_time(out, view_hist_percentile(&r->times, 990));
	add_time(out, r->times.max);
	buf_add_str(out, "  ");
	str_escape_buf(out, r->comm, strlen(r->comm));
	buf_add_char(out, ' ');
	str_escape_buf(out, r->name, strlen(r->name));
	buf_add_char(out, '\n');
}

static void json_row(const struct rpc_summary *s, const struct row *r, struct buf *out)
{
	struct json j = { .out = out };

	json_open(&j, '{');
	json_put_u64(&j, "v", 1);
	json_put_text(&j, "type", "rpc.summary");
	json_put_text(&j, "side", r->side);
	json_put_text(&j, "name", r->name);
	json_put_text(&j, "comm", r->comm);
	json_put_u64(&j, "calls", r->calls);
	json_put_u64(&j, "errors", r->errors);
	json_put_u64(&j, "time_ns", s->last_ns - s->first_ns);
	json_put_u64(&j, "timed", r->times.total);
	json_put_u64(&j, "total_ns", r->total_ns);
	json_put_u64(&j, "p50_ns", view_hist_percentile(&r->times, 500));
	json_put_u64(&j, "p90_ns", view_hist_percentile(&r->times, 900));
	json_put_u64(&j, "p99_ns", view_hist_percentile(&r->times, 990));
	json_put_u64(&j, "max_ns", r->times.max);
	json_close(&j, '}');
	buf_add_char(out, '\n');
}

int rpc_summary_print(const struct rpc_summary *s, bool json, struct buf *out)
{
	_cleanup_free_ struct row **rows = calloc(s->rows.len + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	if (s->rows.len)
		memcpy(rows, s->rows.items, s->rows.len * sizeof(struct row *));
	qsort(rows, s->rows.len, sizeof(struct row *), by_calls);
	if (!json)
		buf_printf(out, "%-6s %9s %9s", "SIDE", "CALLS", "CALLS/S");
	if (!json)
		buf_printf(out, " %8s %6s %9s %9s %9s %9s  %s\n", "ERRORS", "ERR", "P50", "P90", "P99", "MAX",
			   "PROGRAM METHOD");
	for (size_t i = 0; i < s->rows.len; i++) {
		if (json)
			json_row(s, rows[i], out);
		else
			text_row(s, rows[i], out);
	}
	return buf_error(out);
}

/* ---- as a sink ---- */

static int summary_event(struct sink *s, const struct event *ev)
{
	return rpc_summary_add(s->opts->ctx, ev);
}

const struct sink_ops rpc_summary_sink = {
	.name = "rpc summary", .summary = "calls by method", .flags = SINK_AT_CLOSE, .event = summary_event,
};
