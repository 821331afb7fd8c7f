// SPDX-License-Identifier: GPL-2.0-or-later
#include "compat/perf/perf_sums.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "base/str.h"
#include "event/event.h"
#include "probes/sys/sys_body.h"
#include "probes/sys/sys_table.h"

#define MS 1e6
#define COMM 16

struct thread {
	char comm[COMM];
	uint64_t events; /* entries and returns */
};

struct call_key {
	uint32_t tid, call; /* call: ABI << 16 | number */
};

struct call_sums {
	uint64_t calls, errors, min_ns, max_ns, total_ns;
	double mean, squares; /* sum of squared differences from the mean (Welford) */
};

struct errno_key {
	uint32_t tid, call, code, zero;
};

void perf_sums_init(struct perf_sums *s)
{
	map_init(&s->threads, sizeof(uint32_t), sizeof(struct thread));
	map_init(&s->calls, sizeof(struct call_key), sizeof(struct call_sums));
	map_init(&s->errnos, sizeof(struct errno_key), sizeof(uint64_t));
}

void perf_sums_fini(struct perf_sums *s)
{
	map_fini(&s->threads);
	map_fini(&s->calls);
	map_fini(&s->errnos);
}

/* ---- counting ---- */

static void learn_comm(struct thread *t, const struct event *ev)
{
	const struct sec_proc *p = event_proc(ev);
	size_t len = 0;
	const char *name = p ? event_sec_proc_str(p, event_section(ev, SEC_PROC), p->comm, &len) : NULL;

	if (len)
		snprintf(t->comm, sizeof(t->comm), "%.*s", (int)MIN(len, sizeof(t->comm) - 1), name);
}

static void add_time(struct call_sums *c, uint64_t ns)
{
	const double delta = (double)ns - c->mean;

	c->min_ns = c->calls ? MIN(c->min_ns, ns) : ns;
	c->max_ns = MAX(c->max_ns, ns);
	c->total_ns += ns;
	c->calls++;
	c->mean += delta / (double)c->calls;
	c->squares += delta * ((double)ns - c->mean);
}

static int add_errno(struct perf_sums *s, const struct call_key *key, int64_t ret)
{
	const struct errno_key e = { .tid = key->tid, .call = key->call, .code = (uint32_t)-ret };
	uint64_t *n = map_add(&s->errnos, &e, NULL);

	if (!n)
		return -ENOMEM;
	++*n;
	return 0;
}

int perf_sums_add(struct perf_sums *s, const struct event *ev, const struct sys_body *b, bool returned)
{
	const struct call_key key = { .tid = ev->tid, .call = (uint32_t)b->abi << 16 | b->nr };
	struct thread *t = map_add(&s->threads, &ev->tid, NULL);
	struct call_sums *c = returned ? map_add(&s->calls, &key, NULL) : NULL;

	if (!t || (returned && !c))
		return -ENOMEM;
	learn_comm(t, ev);
	t->events += returned ? 2 : 1;
	s->events += returned ? 2 : 1;
	if (!returned)
		return 0;
	add_time(c, b->latency_ns);
	c->errors += sys_failed(b->ret);
	return sys_failed(b->ret) ? add_errno(s, &key, b->ret) : 0;
}

/* ---- the summary ---- */

struct row {
	struct call_key key;
	const struct call_sums *sums;
};

static int by_total(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return COMPARE(x->key.tid, y->key.tid) ?: COMPARE(y->sums->total_ns, x->sums->total_ns) ?:
	       COMPARE(x->key.call, y->key.call);
}

static int by_code(const void *a, const void *b)
{
	const struct errno_key *x = a, *y = b;

	return COMPARE(x->code, y->code);
}

static int put_errnos(const struct perf_sums *s, const struct call_key *key, struct buf *out)
{
	_cleanup_free_ struct errno_key *found = calloc(s->errnos.len + 1, sizeof(*found));
	size_t n = 0, pos = 0;
	void *k, *val;

	if (!found)
		return -ENOMEM;
	while (map_next(&s->errnos, &pos, &k, &val)) {
		const struct errno_key *e = k;

		if (e->tid == key->tid && e->call == key->call)
			found[n++] = *e;
	}
	qsort(found, n, sizeof(*found), by_code);
	for (size_t i = 0; i < n; i++) {
		const char *name = xlat_name(&sys_table_xlat_named("errno")->x, found[i].code);
		const uint64_t *count = map_find(&s->errnos, &found[i]);

		buf_printf(out, "\t\t\t\t%s: %" PRIu64 "\n", name ? name : "?", count ? *count : 0);
	}
	return 0;
}

/* The standard error of the mean, of the mean, as perf prints it. */
static double spread_pct(const struct call_sums *c)
{
	const double n = (double)c->calls;

	return c->calls > 1 && c->mean > 0 ? 100.0 * sqrt(c->squares / (n - 1) / n) / c->mean : 0.0;
}

static int put_row(const struct perf_sums *s, const struct row *r, bool errnos, struct buf *out)
{
	const struct call_sums *c = r->sums;
	char name[24];

	buf_printf(out, "   %-15s %8" PRIu64 " %6" PRIu64 " %9.3f %9.3f %9.3f %9.3f %9.2f%%\n",
		   sys_table_call_name(r->key.call >> 16, r->key.call & 0xffff, name), c->calls, c->errors,
		   (double)c->total_ns / MS, (double)c->min_ns / MS, c->mean / MS, (double)c->max_ns / MS,
		   spread_pct(c));
	return errnos && c->errors ? put_errnos(s, &r->key, out) : 0;
}

static int put_thread(const struct perf_sums *s, uint32_t tid, const struct thread *t, const struct row *rows,
		      size_t n, bool errnos, struct buf *out)
{
	int r = 0;

	buf_add_char(out, ' ');
	str_escape_buf(out, t->comm, strnlen(t->comm, sizeof(t->comm)));
	buf_printf(out, " (%u), %" PRIu64 " events, %.1f%%\n\n", tid, t->events,
		   s->events ? 100.0 * (double)t->events / (double)s->events : 0.0);
	buf_add_str(out, "   syscall            calls  errors  total       min       avg       max       stddev\n"
			 "                                     (msec)    (msec)    (msec)    (msec)        (%)\n"
			 "   --------------- --------  ------ -------- --------- --------- ---------     ------\n");
	for (size_t i = 0; r >= 0 && i < n; i++)
		if (rows[i].key.tid == tid)
			r = put_row(s, &rows[i], errnos, out);
	buf_add_str(out, "\n\n");
	return r;
}

struct thread_row {
	uint32_t tid;
	const struct thread *thread;
};

/* As perf's: the busiest thread last. */
static int by_events(const void *a, const void *b)
{
	const struct thread_row *x = a, *y = b;

	return COMPARE(x->thread->events, y->thread->events) ?: COMPARE(x->tid, y->tid);
}

int perf_sums_put(const struct perf_sums *s, bool errnos, struct buf *out)
{
	_cleanup_free_ struct row *rows = calloc(s->calls.len + 1, sizeof(*rows));
	_cleanup_free_ struct thread_row *threads = calloc(s->threads.len + 1, sizeof(*threads));
	size_t n = 0, n_threads = 0, pos = 0;
	void *key, *val;
	int r = rows && threads ? 0 : -ENOMEM;

	while (r >= 0 && map_next(&s->calls, &pos, &key, &val))
		rows[n++] = (struct row){ .key = *(struct call_key *)key, .sums = val };
	pos = 0;
	while (r >= 0 && map_next(&s->threads, &pos, &key, &val))
		threads[n_threads++] = (struct thread_row){ .tid = *(uint32_t *)key, .thread = val };
	if (n)
		qsort(rows, n, sizeof(*rows), by_total);
	if (n_threads)
		qsort(threads, n_threads, sizeof(*threads), by_events);
	buf_add_str(out, "\n Summary of events:\n\n");
	for (size_t i = 0; r >= 0 && i < n_threads; i++)
		r = put_thread(s, threads[i].tid, threads[i].thread, rows, n, errnos, out);
	return r < 0 ? r : buf_error(out);
}
