// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Cost of a row for ClickHouse: the first events of a type (argument 2) of a recording (argument 1), over and over,
 * as RowBinary. Tables have columns as many as their type has fields: the bound is that of 27 columns.
 */
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "clickhouse/clickhouse_row.h"
#include "clickhouse/clickhouse_schema.h"
#include "event/event.h"
#include "loop/loop.h"
#include "pipeline/pipeline.h"
#include "sinks/sink.h"
#include "tests/bench/programs/bench.h"
#include "view/view_kept.h"

#define ROWS 1000000u
#define ROUNDS 5u
#define EVENTS 1024u	/* in the caches, as the event is that a pipeline has just decoded */
#define KEPT_BYTES (256u << 20)
#define BLOCK_BYTES (16u << 20)
#define COLUMNS 27
#define BOUND_US 0.15

struct bench {
	const char *type;
	const struct registry *reg;
	struct view_kept *kept;
	VEC(struct event) events;
	struct arena scratch;
};

static void check(int r)
{
	if (r < 0)
		bench_die("out of memory");
}

static int take(struct sink *s, const struct event *ev)
{
	struct bench *b = s->opts->ctx;

	return strcmp(ev->desc->name, b->type) != 0 ? 0 : view_kept_add(b->kept, ev);
}

/* us of CPU time of a row; its bytes in @ret_bytes. */
static double encode(struct bench *b, struct clickhouse_row_plan *p, struct buf *out, double *ret_bytes)
{
	struct clickhouse_row row = { .host = "bench", .run = 1 };
	uint64_t cpu_ns = bench_cpu_ns(), bytes = 0;

	for (size_t i = 0; i < ROWS; i++) {
		struct event ev = b->events.items[i % b->events.len];
		const size_t before = out->len;

		arena_reset(&b->scratch);
		ev.scratch = &b->scratch;
		row.seq = i;
		row.ts_ns = ev.ts_ns + (uint64_t)ev.clock_offset_ns;
		check(clickhouse_row_put(p, &row, &ev, out, 0));
		bytes += out->len - before;
		if (out->len > BLOCK_BYTES)
			out->len = 0;
	}
	*ret_bytes = (double)bytes / ROWS;
	return (double)(bench_cpu_ns() - cpu_ns) / 1000 / ROWS;
}

static void measure(struct bench *b)
{
	struct clickhouse_schema *schema = NULL;
	struct clickhouse_row_plan *p;
	struct clickhouse_table *t;
	struct buf out = { 0 };
	double us[ROUNDS], bytes = 0;

	check(clickhouse_schema_new(b->reg, &schema));
	check(clickhouse_schema_settle(schema, NULL));
	t = clickhouse_schema_table(schema, b->events.items[0].desc);
	if (!t)
		bench_die("no table for that type");
	p = clickhouse_row_plan_new(t);
	check(p ? 0 : -1);
	encode(b, p, &out, &bytes);	/* the buffer grows */
	for (size_t i = 0; i < ROUNDS; i++)
		us[i] = encode(b, p, &out, &bytes);
	bench_figure("columns of the table", (double)t->columns.len, "");
	bench_figure("bytes of a row", bytes, "");
	bench_figure("encoding of a row", bench_median(us, ROUNDS), "us");
	bench_at_most("encoding of 27 columns, us", bench_median(us, ROUNDS) * COLUMNS / (double)t->columns.len,
		      BOUND_US);
	buf_fini(&out);
	clickhouse_row_plan_free(p);
	clickhouse_schema_free(schema);
}

/* While the pipeline has the names of the events. */
static int finish(struct sink *s)
{
	struct bench *b = s->opts->ctx;
	struct view_kept_at at = { 0 };
	struct event ev;

	while (b->events.len < EVENTS && view_kept_next(b->kept, &at, &ev)) {
		check(vec_grow(&b->events));
		b->events.items[b->events.len++] = ev;
	}
	if (!b->events.len)
		bench_die("the recording has no events of that type");
	measure(b);
	return 0;
}

static const struct sink_ops sink = {
	.name = "bench", .summary = "", .flags = SINK_AT_CLOSE, .event = take, .close = finish,
};

int main(int argc, char **argv)
{
	const struct pipeline_limits limits = { 0 };
	struct bench b = { .type = argc == 3 ? argv[2] : "" };
	const struct sink_opts opts = { .wait = true, .ctx = &b };
	struct pipeline *p = NULL;
	struct loop *loop = loop_new();
	struct err err = { 0 };
	int r;

	if (argc != 3)
		bench_die("usage: bench_row_cost RECORDING TYPE");
	check(loop ? view_kept_new(KEPT_BYTES, &b.kept) : -1);
	r = pipeline_new(loop, &p, &err);
	if (r >= 0)
		b.reg = pipeline_registry(p);
	if (r >= 0)
		r = pipeline_add_sink(p, &sink, &opts, NULL, &err);
	if (r >= 0)
		r = pipeline_open_file(p, argv[1], &err);
	if (r >= 0)
		r = pipeline_run(p, &limits, &err);
	if (r < 0)
		bench_die(err.msg);
	pipeline_free(p);
	view_kept_free(b.kept);
	vec_fini(&b.events);
	arena_fini(&b.scratch);
	loop_free(loop);
	return 0;
}
