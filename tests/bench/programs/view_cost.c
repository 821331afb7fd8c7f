// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Cost of an event in sonde ui: the views that it knows for a day, one more view as a page counts it, the copy. For
 * the system calls of a recording (the argument), over and over, a million a second by their times, by a thousand
 * processes.
 */
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/vec.h"
#include "event/event.h"
#include "loop/loop.h"
#include "pipeline/pipeline.h"
#include "sinks/sink.h"
#include "tests/bench/programs/bench.h"
#include "ui/ui_memory.h"
#include "view/view.h"
#include "view/view_fold.h"
#include "view/view_history.h"
#include "view/view_kept.h"
#include "view/view_rows.h"

#define EVENTS 2000000u
#define APART_NS 1000u
#define PROCESSES 1000u
#define ROUNDS 5u
#define KEPT_BYTES (256u << 20)	/* as sonde ui */
#define BOUND_NS 250
#define PAGE_VIEW "files"

struct bench {
	struct view_kept *kept;
	VEC(struct event) events;
	struct arena scratch;
};

enum what { MAKING, PASTS, PAGE, COPY, WHAT__MAX };

static void check(int r)
{
	if (r < 0)
		bench_die("out of memory");
}

static int take(struct sink *s, const struct event *ev)
{
	struct bench *b = s->opts->ctx;

	return strcmp(ev->desc->name, "sys.exit") != 0 ? 0 : view_kept_add(b->kept, ev);
}

static struct event nth(struct bench *b, size_t i, uint64_t begin_ns)
{
	struct event ev = b->events.items[i % b->events.len];

	arena_reset(&b->scratch);
	ev.scratch = &b->scratch;
	ev.ts_ns = begin_ns + i * APART_NS;
	ev.tgid = (uint32_t)(1 + i % PROCESSES);
	return ev;
}

/* ns of CPU time of an event, of which the making is part in each. */
static double make(struct bench *b, uint64_t begin_ns)
{
	uint64_t cpu_ns = bench_cpu_ns();

	for (size_t i = 0; i < EVENTS; i++) {
		const struct event ev = nth(b, i, begin_ns);

		__asm__ volatile("" : : "r"(&ev) : "memory");
	}
	return (double)(bench_cpu_ns() - cpu_ns) / EVENTS;
}

static double count_pasts(struct bench *b, uint64_t begin_ns, size_t *ret_rows)
{
	struct view_rows rows = { 0 };
	struct ui_memory m;
	uint64_t cpu_ns;

	check(ui_memory_init(&m, 0));
	check(ui_memory_keep_past(&m));
	cpu_ns = bench_cpu_ns();
	for (size_t i = 0; i < EVENTS; i++) {
		const struct event ev = nth(b, i, begin_ns);

		for (size_t k = 0; k < m.n_pasts; k++)
			check(view_history_take(m.pasts[k].history, &ev));
	}
	cpu_ns = bench_cpu_ns() - cpu_ns;
	check(view_history_rows(m.pasts[1].history, 0, UINT64_MAX, &rows));
	*ret_rows = rows.len;
	view_rows_fini(&rows);
	ui_memory_fini(&m);
	return (double)cpu_ns / EVENTS;
}

static double count_page(struct bench *b, uint64_t begin_ns)
{
	struct view_fold *f = NULL;
	uint64_t cpu_ns;

	check(view_fold_new(view_find(PAGE_VIEW), 1ull << 62, &f));
	cpu_ns = bench_cpu_ns();
	for (size_t i = 0; i < EVENTS; i++) {
		const struct event ev = nth(b, i, begin_ns);

		check(view_fold_take(f, &ev));
	}
	cpu_ns = bench_cpu_ns() - cpu_ns;
	view_fold_free(f);
	return (double)cpu_ns / EVENTS;
}

static double copy(struct bench *b, uint64_t begin_ns)
{
	struct view_kept *k = NULL;
	uint64_t cpu_ns;

	check(view_kept_new(KEPT_BYTES, &k));
	cpu_ns = bench_cpu_ns();
	for (size_t i = 0; i < EVENTS; i++) {
		const struct event ev = nth(b, i, begin_ns);

		check(view_kept_add(k, &ev));
	}
	cpu_ns = bench_cpu_ns() - cpu_ns;
	view_kept_free(k);
	return (double)cpu_ns / EVENTS;
}

static void measure(struct bench *b)
{
	const uint64_t begin_ns = b->events.items[0].ts_ns;
	double ns[WHAT__MAX][ROUNDS];
	size_t rows = 0;

	for (size_t i = 0; i < ROUNDS; i++) {
		ns[MAKING][i] = make(b, begin_ns);
		ns[PASTS][i] = count_pasts(b, begin_ns, &rows) - ns[MAKING][i];
		ns[PAGE][i] = count_page(b, begin_ns) - ns[MAKING][i];
		ns[COPY][i] = copy(b, begin_ns) - ns[MAKING][i];
	}
	bench_figure("processes in their view", (double)rows, "rows");
	bench_figure("making of the event, of which the rest is without", bench_median(ns[MAKING], ROUNDS), "ns");
	bench_figure("seven views that are known for a day", bench_median(ns[PASTS], ROUNDS), "ns");
	bench_figure("a view of a page (" PAGE_VIEW ")", bench_median(ns[PAGE], ROUNDS), "ns");
	bench_figure("copy of the event", bench_median(ns[COPY], ROUNDS), "ns");
	bench_at_most("views of the overview and a page, ns an event",
		      bench_median(ns[PASTS], ROUNDS) + bench_median(ns[PAGE], ROUNDS), BOUND_NS);
}

/* While the pipeline has the names of the events. */
static int finish(struct sink *s)
{
	struct bench *b = s->opts->ctx;
	struct view_kept_at at = { 0 };
	struct event ev;

	while (view_kept_next(b->kept, &at, &ev)) {
		check(vec_grow(&b->events));
		b->events.items[b->events.len++] = ev;
	}
	if (!b->events.len)
		bench_die("the recording has no system calls");
	measure(b);
	return 0;
}

static const struct sink_ops sink = {
	.name = "bench", .summary = "", .flags = SINK_AT_CLOSE, .event = take, .close = finish,
};

int main(int argc, char **argv)
{
	const struct pipeline_limits limits = { 0 };
	struct bench b = { 0 };
	const struct sink_opts opts = { .wait = true, .ctx = &b };
	struct pipeline *p = NULL;
	struct loop *loop = loop_new();
	struct err err = { 0 };
	int r;

	if (argc != 2)
		bench_die("usage: bench_view_cost RECORDING");
	check(loop ? view_kept_new(KEPT_BYTES, &b.kept) : -1);
	r = pipeline_new(loop, &p, &err);
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
