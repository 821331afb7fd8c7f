// SPDX-License-Identifier: GPL-2.0-or-later
/* Views over events of made-up types that have the fields of the real ones; lines without a terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "event/event.h"
#include "view/view.h"
#include "view/view_fold.h"
#include "view/view_hist.h"
#include "view/view_history.h"
#include "view/view_kept.h"
#include "view/view_rows.h"
#include "view/view_text.h"

#define S 1000000000ull

struct body {
	char name[16], error[16];
	uint64_t latency, id, bytes, packets;
	uint8_t is_reply;
};

#define ROW(member, word, kind, ...) FIELD_ROW(struct body, member, word, kind, "", ##__VA_ARGS__)

static const struct field syscall_fields[] = {
	ROW(name, "syscall.name", FIELD_STR), ROW(error, "syscall.error", FIELD_STR, .flags = FIELD_OPTIONAL),
	ROW(latency, "syscall.latency", FIELD_NS),
};
static const struct field flow_fields[] = {
	ROW(id, "flow.id", FIELD_HEX), ROW(bytes, "flow.bytes", FIELD_UINT), ROW(packets, "flow.packets", FIELD_UINT),
	ROW(is_reply, "flow.is_reply", FIELD_BOOL),
};

#define DESC(name_, fields_) \
	{ .name = (name_), .class = EVENT_DATA, .fields = (fields_), .n_fields = ARRAY_SIZE(fields_), \
	  .body_size = sizeof(struct body) }

static const struct event_desc syscall_desc = DESC("sys.exit", syscall_fields);
static const struct event_desc flow_desc = DESC("net.flow", flow_fields);

static struct event event_of(const struct event_desc *d, struct body *b, uint64_t ts_ns)
{
	return (struct event){ .desc = d, .ts_ns = ts_ns, .tgid = 42, .body = b, .body_len = sizeof(*b) };
}

static void call(struct view_fold *f, const char *name, uint64_t ts_ns, uint64_t latency, bool failed)
{
	struct body b = { .latency = latency };
	struct event ev;

	snprintf(b.name, sizeof(b.name), "%s", name);
	strcpy(b.error, failed ? "EAGAIN" : "");
	ev = event_of(&syscall_desc, &b, ts_ns);
	assert_int_equal(view_fold_take(f, &ev), 0);
}

static const struct view_row *row_of(const struct view_rows *t, const char *key)
{
	for (size_t i = 0; i < t->len; i++)
		if (!strcmp(view_rows_cell(t, &t->items[i], 0), key))
			return &t->items[i];
	return NULL;
}

static struct view_fold *fold_of(const char *view)
{
	struct view_fold *f = NULL;

	assert_non_null(view_find(view));
	assert_int_equal(view_fold_new(view_find(view), S, &f), 0);
	return f;
}

/* ---- definitions ---- */

static void test_views_are_sound(void **state)
{
	(void)state;
	for (size_t i = 0; i < view_n; i++) {
		const struct view *v = &views[i];
		size_t col = view_col_index(v, v->sort), flows = 0;

		assert_string_equal(v->cols[col].head, v->sort);
		assert_ptr_equal(view_find(v->name), v);
		for (size_t k = 0; k < view_n_cols(v); k++)
			flows += !strcmp(v->cols[k].type, "net.flow");
		assert_true(flows <= 4 && view_n_cols(v) >= 1); /* as the fold's FLOW_COLS */
		for (size_t k = 0; k < view_n_keys(v); k++)	/* only the last key takes the rest of the line */
			assert_true(!v->keys[k].width == (k + 1 == view_n_keys(v)));
		for (const char *p = v->drill; *p;) {
			size_t len = strcspn(p, " ");
			char name[40];

			snprintf(name, sizeof(name), "%.*s", (int)len, p);
			assert_non_null(view_find(name));
			p += len + (p[len] == ' ');
		}
	}
}

/* ---- histograms ---- */

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void test_percentiles_are_right_within_3_2_percent(void **state)
{
	static uint64_t values[20000];
	struct view_hist h = { 0 };
	uint64_t seed = 1;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		seed = seed * 6364136223846793005 + 1442695040888963407;
		values[i] = (seed >> 20) % (1ull << (10 + i % 30));
		assert_int_equal(view_hist_add(&h, values[i]), 0);
	}
	qsort(values, ARRAY_SIZE(values), sizeof(values[0]), by_value);
	for (unsigned part = 1; part <= 1000; part++) {
		uint64_t exact = values[(ARRAY_SIZE(values) * part + 999) / 1000 - 1];
		uint64_t got = view_hist_percentile(&h, part), off = got > exact ? got - exact : exact - got;

		assert_true((double)off <= (double)exact * 0.032);
	}
	assert_int_equal(h.max, values[ARRAY_SIZE(values) - 1]);
	assert_true(view_hist_percentile(&h, 1000) <= h.max);
	view_hist_fini(&h);
}

static void test_extreme_times(void **state)
{
	struct view_hist h = { 0 }, other = { 0 };

	(void)state;
	assert_int_equal(view_hist_percentile(&h, 500), 0);
	assert_int_equal(view_hist_add(&h, UINT64_MAX), 0);
	assert_int_equal(view_hist_add(&other, 0), 0);
	assert_int_equal(view_hist_merge(&h, &other), 0);
	assert_int_equal(view_hist_percentile(&h, 500), 0);
	assert_true(view_hist_percentile(&h, 1000) > UINT64_MAX / 100 * 96);
	assert_int_equal(h.total, 2);
	view_hist_fini(&h);
	view_hist_fini(&other);
}

/* ---- folding ---- */

static void test_intervals_and_totals(void **state)
{
	struct view_fold *f = fold_of("syscalls");
	struct view_rows rows = { 0 };

	(void)state;
	call(f, "read", 10 * S, 100, false);
	call(f, "read", 10 * S + 5, 300, true);
	call(f, "open", 10 * S + 6, 7, false);
	assert_int_equal(view_fold_intervals(f), 0);
	call(f, "read", 11 * S + 1, 50, false);	/* ends the first interval */
	assert_int_equal(view_fold_intervals(f), 1);
	assert_int_equal(view_fold_rows(f, VIEW_SPAN_LAST, &rows), 0);
	assert_int_equal(rows.len, 2);
	assert_int_equal(rows.to_ns - rows.from_ns, S);
	assert_int_equal(row_of(&rows, "read")->values[0], 2);
	assert_int_equal(row_of(&rows, "read")->values[1], 1);
	assert_int_equal(row_of(&rows, "read")->values[2], 400);
	assert_int_equal(row_of(&rows, "read")->values[5], 300);
	assert_int_equal(row_of(&rows, "open")->values[5], 7);
	for (unsigned ended = 0; ended < 2; ended++) {	/* while the second counts, and after it */
		assert_int_equal(view_fold_rows(f, VIEW_SPAN_TOTAL, &rows), 0);
		assert_int_equal(row_of(&rows, "read")->values[0], 3);
		assert_int_equal(row_of(&rows, "read")->values[2], 450);
		assert_int_equal(row_of(&rows, "read")->values[5], 300);
		assert_int_equal(row_of(&rows, "read")->events, 3);
		assert_int_equal(row_of(&rows, "open")->values[5], 7);
		assert_int_equal(view_fold_until(f, 12 * S), 0);
	}
	assert_int_equal(view_fold_events(f), 4);
	assert_int_equal(view_fold_until(f, 20 * S), 0);	/* silence */
	assert_int_equal(view_fold_intervals(f), 10);
	assert_int_equal(view_fold_rows(f, VIEW_SPAN_LAST, &rows), 0);
	assert_int_equal(rows.len, 0);
	view_rows_fini(&rows);
	view_fold_free(f);
}

static void test_an_event_that_is_late_counts(void **state)
{
	struct view_fold *f = fold_of("syscalls");
	struct view_rows rows = { 0 };

	(void)state;
	call(f, "read", 10 * S, 1, false);
	call(f, "read", 12 * S, 1, false);
	call(f, "read", 10 * S + 1, 1, false);	/* of an interval that ended: counts in the current one */
	assert_int_equal(view_fold_end(f, 12 * S + 1), 0);
	assert_int_equal(view_fold_rows(f, VIEW_SPAN_LAST, &rows), 0);
	assert_int_equal(row_of(&rows, "read")->values[0], 2);
	assert_int_equal(view_fold_rows(f, VIEW_SPAN_TOTAL, &rows), 0);
	assert_int_equal(row_of(&rows, "read")->values[0], 3);
	view_rows_fini(&rows);
	view_fold_free(f);
}

static void test_what_adds_nothing_is_no_row(void **state)
{
	struct view_fold *f = fold_of("errors");
	struct view_rows rows = { 0 };

	(void)state;
	call(f, "read", S, 1, false);
	call(f, "read", S, 1, true);
	assert_int_equal(view_fold_rows(f, VIEW_SPAN_TOTAL, &rows), 0);
	assert_int_equal(rows.len, 1);
	assert_string_equal(view_rows_cell(&rows, &rows.items[0], 0), "EAGAIN");
	assert_string_equal(view_rows_cell(&rows, &rows.items[0], 1), "read");
	view_rows_fini(&rows);
	view_fold_free(f);
}

/* More groups than fit: sums and histograms stay exact. */
static void test_other_groups_add_up(void **state)
{
	struct view_fold *f = fold_of("syscalls");
	struct view_rows rows = { 0 };
	uint64_t calls = 0, errors = 0, time = 0, n = 0;
	char name[16];

	(void)state;
	for (unsigned round = 0; round < 3; round++)
		for (unsigned i = 0; i < 5000; i++, n++) {
			snprintf(name, sizeof(name), "c%u", i + round * 4000);
			call(f, name, (round + 1) * 2 * S, i, i % 3 == 0);
		}
	assert_int_equal(view_fold_rows(f, VIEW_SPAN_TOTAL, &rows), 0);
	assert_true(rows.len <= VIEW_FOLD_GROUPS + 1);
	for (size_t i = 0; i < rows.len; i++) {
		calls += rows.items[i].values[0];
		errors += rows.items[i].values[1];
		time += rows.items[i].values[2];
	}
	assert_int_equal(calls, n);
	assert_int_equal(errors, 3 * 1667);
	assert_int_equal(time, 3 * (4999ull * 5000 / 2));
	view_rows_sort(&rows, 0, false);
	assert_true(rows.items[rows.len - 1].other);
	assert_string_equal(view_rows_cell(&rows, &rows.items[rows.len - 1], 0), "(other)");
	view_rows_fini(&rows);
	view_fold_free(f);
}

static uint32_t pid = 42;	/* of flows */

static void flow(struct view_fold *f, uint64_t id, bool reply, uint64_t bytes)
{
	struct body b = { .id = id, .bytes = bytes, .packets = bytes / 10, .is_reply = reply };
	struct event ev = event_of(&flow_desc, &b, S);

	ev.tgid = pid;
	ev.keys.conn = (struct conn){ .saddr = { 4, .addr = { 10, 0, 0, reply ? 2 : 1 } },
				      .daddr = { 4, .addr = { 10, 0, 0, reply ? 1 : 2 } },
				      .sport = reply ? 80 : 4000, .dport = reply ? 4000 : 80, .proto = 6 };
	assert_int_equal(view_fold_take(f, &ev), 0);
}

/* Reports carry totals: each adds its difference to the one before, by direction. */
static void test_flows_grow(void **state)
{
	struct view_fold *f = fold_of("ports");
	struct view_rows rows = { 0 };

	(void)state;
	flow(f, 7, false, 100);
	flow(f, 7, true, 1000);
	flow(f, 7, false, 150);
	flow(f, 7, false, 150);
	flow(f, 8, false, 30);	/* its process is known from the next report on */
	pid = 43;
	flow(f, 8, false, 40);
	assert_int_equal(view_fold_rows(f, VIEW_SPAN_TOTAL, &rows), 0);
	assert_int_equal(rows.len, 2);
	view_rows_sort(&rows, 0, false);
	assert_int_equal(rows.items[0].values[0], 150);
	assert_int_equal(rows.items[1].values[0], 40);
	pid = 42;
	flow(f, 8, false, 40);	/* nothing new: stays */
	pid = 43;
	flow(f, 7, false, 150);
	flow(f, 7, true, 1001);
	assert_int_equal(view_fold_rows(f, VIEW_SPAN_TOTAL, &rows), 0);
	assert_int_equal(rows.len, 1);
	assert_string_equal(view_rows_cell(&rows, &rows.items[0], 2), "80");
	assert_int_equal(rows.items[0].values[0], 190);
	assert_int_equal(rows.items[0].values[1], 1001);
	assert_int_equal(rows.items[0].values[2], 119);
	assert_int_equal(rows.items[0].values[3], 2);
	view_rows_fini(&rows);
	view_fold_free(f);
}

/* ---- the past ---- */

static void past_call(struct view_history *h, const char *name, uint64_t ts_ns, uint64_t latency)
{
	struct body b = { .latency = latency };
	struct event ev;

	snprintf(b.name, sizeof(b.name), "%s", name);
	ev = event_of(&syscall_desc, &b, ts_ns);
	assert_int_equal(view_history_take(h, &ev), 0);
}

static uint64_t past_sum(const struct view_history *h, uint64_t from_ns, uint64_t to_ns, const char *name, size_t col)
{
	struct view_rows rows = { 0 };
	const struct view_row *r;
	uint64_t v;

	assert_int_equal(view_history_rows(h, from_ns, to_ns, &rows), 0);
	r = row_of(&rows, name);
	v = r ? r->values[col] : 0;
	view_rows_fini(&rows);
	return v;
}

/* One call a second: each range that begins at an interval has as many as it has seconds. */
static void test_the_past_adds_up(void **state)
{
	const uint64_t begin = 600 * 10, end = begin + 3 * 3600;
	struct view_rows rows = { 0 };
	struct view_history *h = NULL;

	(void)state;
	assert_int_equal(view_history_new(view_find("syscalls"), 0, &h), 0);
	assert_int_equal(view_history_first(h), UINT64_MAX);
	for (uint64_t s = begin; s < end; s++)
		past_call(h, "read", s * S + 5, s < end - 7200 ? 1000 : 1000000);
	assert_int_equal(view_history_until(h, end * S), 0);
	assert_int_equal(past_sum(h, 0, UINT64_MAX, "read", 0), 3 * 3600);
	assert_int_equal(past_sum(h, (end - 7) * S, UINT64_MAX, "read", 0), 7);
	assert_int_equal(past_sum(h, (end - 60) * S, (end - 30) * S, "read", 0), 30);
	assert_int_equal(past_sum(h, (end - 600) * S, UINT64_MAX, "read", 0), 600);
	assert_int_equal(past_sum(h, (end - 7200) * S, UINT64_MAX, "read", 0), 7200);
	assert_int_equal(past_sum(h, begin * S, (begin + 600) * S, "read", 0), 600);
	/* P50 of the slow two hours, and of the fast one */
	assert_in_range(past_sum(h, (end - 7200) * S, UINT64_MAX, "read", 3), 968000, 1000000);
	assert_in_range(past_sum(h, begin * S, (end - 7200) * S, "read", 3), 968, 1032);
	assert_int_equal(view_history_first(h), begin * S);
	past_call(h, "write", end * S, 1000);
	past_call(h, "write", end * S + 1, 1000);
	assert_int_equal(view_history_until(h, (end + 1) * S), 0);
	assert_int_equal(view_history_total(h, (end - 10) * S, UINT64_MAX, &rows), 0);
	assert_int_equal(rows.len, 1);
	assert_int_equal(rows.items[0].values[0], 12);
	assert_in_range(rows.items[0].values[3], 968000, 1000000);
	view_rows_fini(&rows);
	view_history_free(h);
}

static void test_the_past_has_a_limit(void **state)
{
	struct view_history *h = NULL;
	char name[16];

	(void)state;
	assert_int_equal(view_history_new(view_find("syscalls"), 1 << 20, &h), 0);
	for (uint64_t s = 1; s < 300; s++)
		for (unsigned i = 0; i < 100; i++) {
			snprintf(name, sizeof(name), "call%u", i);
			past_call(h, name, s * S, i);
		}
	assert_int_equal(view_history_until(h, 300 * S), 0);
	assert_true(view_history_bytes(h) > 0 && view_history_bytes(h) <= 1 << 20);
	assert_true(view_history_first(h) > 10 * S);
	assert_int_equal(past_sum(h, 290 * S, UINT64_MAX, "call7", 0), 10);
	view_history_free(h);
}

/* ---- sums ---- */

#define STEPS 128u

struct sum {
	uint64_t calls, errors, total, max, steps[STEPS];
};

static int get_steps(const struct event *ev, const struct field *f, struct value *ret)
{
	const struct sum *s = ev->body;

	(void)f;
	*ret = (struct value){ .kind = VAL_BYTES, .str = (const char *)s->steps, .len = sizeof(s->steps) };
	return 0;
}

#define SUM_ROW(member, word, kind) FIELD_ROW(struct sum, member, word, kind, "")

static const struct field sum_fields[] = {
	SUM_ROW(calls, "syscall.calls", FIELD_UINT), SUM_ROW(errors, "syscall.errors", FIELD_UINT),
	SUM_ROW(total, "syscall.total", FIELD_NS), SUM_ROW(max, "syscall.max", FIELD_NS),
	{ .name = "syscall.steps", .kind = FIELD_GET },
};
static const struct event_desc sum_desc = {
	.name = "sys.sum", .class = EVENT_DATA, .aggregate = true, .fields = sum_fields,
	.n_fields = ARRAY_SIZE(sum_fields), .body_size = sizeof(struct sum), .get = get_steps,
};

/* As the kernel's programs count: the highest bit and the two bits below it. */
static void add_to_sum(struct sum *s, uint64_t ns)
{
	unsigned octave = ns < 4 ? 0 : 63 - (unsigned)__builtin_clzll(ns);

	s->steps[ns < 4 ? ns : ((octave - 1) << 2) + ((ns >> (octave - 2)) & 3)]++;
	s->calls++;
	s->total += ns;
	s->max = ns > s->max ? ns : s->max;
}

static void test_sums_count_as_their_calls(void **state)
{
	static uint64_t values[5000];
	struct view_fold *f = fold_of("syscall-processes");
	struct view_rows rows = { 0 };
	struct sum sums[2] = { { .errors = 7 }, { .errors = 2 } };
	uint64_t seed = 1, total = 0, p50, p99;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		seed = seed * 6364136223846793005 + 1442695040888963407;
		values[i] = (seed >> 20) % (1ull << (10 + i % 20));
		total += values[i];
		add_to_sum(&sums[i % 3 == 0], values[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(sums); i++) {
		struct event ev = { .desc = &sum_desc, .ts_ns = S + i, .tgid = 42, .body = &sums[i],
				    .body_len = sizeof(sums[i]) };

		assert_int_equal(view_fold_take(f, &ev), 0);
	}
	qsort(values, ARRAY_SIZE(values), sizeof(values[0]), by_value);
	p50 = values[ARRAY_SIZE(values) / 2 - 1];
	p99 = values[ARRAY_SIZE(values) * 99 / 100 - 1];
	assert_int_equal(view_fold_rows(f, VIEW_SPAN_TOTAL, &rows), 0);
	assert_int_equal(rows.len, 1);
	assert_string_equal(view_rows_cell(&rows, &rows.items[0], 0), "42");
	assert_int_equal(rows.items[0].values[0], ARRAY_SIZE(values));
	assert_int_equal(rows.items[0].values[1], 9);
	assert_int_equal(rows.items[0].values[2], total);
	assert_true(rows.items[0].values[3] >= p50 * 7 / 8 && rows.items[0].values[3] <= p50 * 9 / 8);
	assert_true(rows.items[0].values[4] >= p99 * 7 / 8 && rows.items[0].values[4] <= p99 * 9 / 8);
	assert_int_equal(rows.items[0].values[5], values[ARRAY_SIZE(values) - 1]);
	view_rows_fini(&rows);
	view_fold_free(f);
}

static void test_views_of_single_calls_take_no_sums(void **state)
{
	struct view_fold *f = fold_of("errors");
	struct sum s = { .calls = 5, .errors = 5 };
	struct event ev = { .desc = &sum_desc, .ts_ns = S, .tgid = 42, .body = &s, .body_len = sizeof(s) };

	(void)state;
	assert_int_equal(view_fold_take(f, &ev), 0);
	assert_int_equal(view_fold_events(f), 0);
	view_fold_free(f);
}

/* ---- kept events ---- */

static void test_kept_events_are_the_latest(void **state)
{
	struct view_kept *k = NULL;
	struct view_kept_at at = { 0 }, first = { 0 };
	struct body b = { .name = "read" };
	struct event ev = event_of(&syscall_desc, &b, 0), got;
	char section[100] = "section";
	uint64_t n = 0, next = 0;

	(void)state;
	assert_int_equal(event_add_section(&ev, SEC_TEXT, section, sizeof(section)), 0);
	assert_int_equal(view_kept_new(2 << 20, &k), 0);
	assert_false(view_kept_next(k, &at, &got));
	for (uint64_t i = 1; i <= 20000; i++) {
		ev.ts_ns = b.latency = i;
		assert_int_equal(view_kept_add(k, &ev), 0);
	}
	assert_true(view_kept_gone(k) > 0);
	assert_int_equal(view_kept_n(k) + view_kept_gone(k), 20000);
	next = view_kept_gone(k) + 1;
	for (at = first; view_kept_next(k, &at, &got); n++, next++) {
		assert_int_equal(got.ts_ns, next);
		assert_int_equal(((const struct body *)got.body)->latency, next);
		assert_string_equal(event_section(&got, SEC_TEXT)->data, "section");
		assert_non_null(got.scratch);	/* for values that are built on demand */
	}
	assert_int_equal(n, view_kept_n(k));
	ev.ts_ns = 20001;	/* a reader at the end goes on */
	assert_int_equal(view_kept_add(k, &ev), 0);
	assert_true(view_kept_next(k, &at, &got));
	assert_int_equal(got.ts_ns, 20001);
	view_kept_free(k);
}

/* ---- lines ---- */

static const char *number(enum view_measure unit, double v, struct buf *b)
{
	buf_reset(b);
	view_text_number(unit, v, b);
	return buf_str(b);
}

/* Events of several hosts come in parts: in the order of time they are numbered again, none is missing. */
static void test_kept_events_are_put_in_order(void **state)
{
	struct view_kept_at at = { 0 };
	struct view_kept *k = NULL;
	struct body b = { 0 };
	struct event ev = event_of(&syscall_desc, &b, 0), got;
	uint64_t n = 0;

	(void)state;
	assert_int_equal(view_kept_new(64 << 20, &k), 0);
	for (uint64_t i = 0; i < 20000; i++) {	/* some chunks; times of the two halves alternate */
		ev.ts_ns = i < 10000 ? 2 * i : 2 * (i - 10000) + 1;
		b.id = ev.ts_ns;
		assert_int_equal(view_kept_add(k, &ev), 0);
	}
	assert_int_equal(view_kept_sort(k), 0);
	assert_int_equal(view_kept_n(k), 20000);
	for (; view_kept_next(k, &at, &got); n++) {
		assert_int_equal(got.ts_ns, n);
		assert_int_equal(got.seq, n + 1);
		assert_int_equal(((const struct body *)got.body)->id, n);
	}
	assert_int_equal(n, 20000);
	view_kept_free(k);
}

static void test_numbers_have_five_characters(void **state)
{
	struct buf b = { 0 };

	(void)state;
	assert_string_equal(number(VIEW_NUMBER, 0, &b), "0");
	assert_string_equal(number(VIEW_NUMBER, 0.5, &b), "0.5");
	assert_string_equal(number(VIEW_NUMBER, 812, &b), "812");
	assert_string_equal(number(VIEW_NUMBER, 21400, &b), "21.4k");
	assert_string_equal(number(VIEW_NUMBER, 999.7, &b), "1.0k");
	assert_string_equal(number(VIEW_BYTES, 310e3, &b), "310k");
	assert_string_equal(number(VIEW_NS, 412e6, &b), "412ms");
	assert_string_equal(number(VIEW_NS, 0, &b), "-");
	assert_string_equal(number(VIEW_NS, 999.6e6, &b), "1.0s");
	assert_string_equal(number(VIEW_PERCENT, 38.24, &b), "38.2");
	for (enum view_measure unit = 0; unit < VIEW_MEASURE__MAX; unit++)
		for (double v = 0.01; v < 3e18; v *= 1.07)
			assert_true(strlen(number(unit, v, &b)) <= 5 || (unit == VIEW_NS && v > 9999 * 3600e9));
	buf_fini(&b);
}

static void test_cut_text_ends_in_a_tilde(void **state)
{
	struct buf b = { 0 };

	(void)state;
	view_text_cut("nginx: worker", 6, false, &b);
	assert_string_equal(buf_str(&b), "nginx~");
	buf_reset(&b);
	view_text_cut("\xc3\xa9\xc3\xa9\xc3\xa9", 3, false, &b);
	assert_string_equal(buf_str(&b), "\xc3\xa9\xc3\xa9\xc3\xa9");
	buf_reset(&b);
	view_text_cut("\xc3\xa9\xc3\xa9\xc3\xa9", 2, false, &b);
	assert_string_equal(buf_str(&b), "\xc3\xa9~");
	buf_reset(&b);
	view_text_cut("ab", 4, true, &b);
	assert_string_equal(buf_str(&b), "ab  ");
	buf_fini(&b);
}

static unsigned width_of(struct buf *b)
{
	unsigned n = 0;

	for (const char *p = buf_str(b); *p; p++)
		n += (*p & 0xc0) != 0x80;
	return n;
}

/* Of every view: the sorted column stays, and the others go by priority. */
static void test_no_line_is_wider_than_the_terminal(void **state)
{
	struct buf b = { 0 };

	(void)state;
	for (size_t i = 0; i < view_n; i++)
		for (unsigned width = VIEW_TEXT_MIN; width <= 200; width++) {
			struct view_text t = { .view = &views[i], .width = width };
			unsigned least = UINT32_MAX, most = 0;

			t.sort = view_col_index(t.view, t.view->sort);
			view_text_fit(&t);
			assert_true(t.shown[t.sort]);
			for (size_t k = 0; k < view_n_cols(t.view); k++) {
				unsigned p = t.view->cols[k].priority;

				if (t.shown[k] && k != t.sort)
					least = MIN(least, p);
				else if (!t.shown[k])
					most = MAX(most, p);
			}
			assert_true(least >= most);
			buf_reset(&b);
			view_text_head(&t, &b);
			assert_true(width_of(&b) <= width);
		}
	buf_fini(&b);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_views_are_sound),
		cmocka_unit_test(test_percentiles_are_right_within_3_2_percent),
		cmocka_unit_test(test_extreme_times),
		cmocka_unit_test(test_intervals_and_totals),
		cmocka_unit_test(test_an_event_that_is_late_counts),
		cmocka_unit_test(test_what_adds_nothing_is_no_row),
		cmocka_unit_test(test_other_groups_add_up),
		cmocka_unit_test(test_flows_grow),
		cmocka_unit_test(test_the_past_adds_up),
		cmocka_unit_test(test_the_past_has_a_limit),
		cmocka_unit_test(test_sums_count_as_their_calls),
		cmocka_unit_test(test_views_of_single_calls_take_no_sums),
		cmocka_unit_test(test_kept_events_are_the_latest),
		cmocka_unit_test(test_kept_events_are_put_in_order),
		cmocka_unit_test(test_numbers_have_five_characters),
		cmocka_unit_test(test_cut_text_ends_in_a_tilde),
		cmocka_unit_test(test_no_line_is_wider_than_the_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
