// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "sym/maps/maptab.h"

#define S 1000000000ull	/* a second */

static int set_up(void **state)
{
	*state = maptab_new(1 << 20);
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	maptab_free(*state);
	return 0;
}

static struct map_key key(uint32_t tgid, uint64_t start_ns)
{
	return (struct map_key){ .tgid = tgid, .start_ns = start_ns };
}

static struct mapping at(uint64_t start, uint64_t end, uint32_t module, uint64_t since_ns)
{
	return (struct mapping){ .start = start, .end = end, .off = 0x100, .module = module, .since_ns = since_ns };
}

static void map(struct maptab *t, struct map_key k, struct mapping m)
{
	assert_int_equal(maptab_map(t, k, &m, false), 0);
}

static void seen(struct maptab *t, struct map_key k, struct mapping m)
{
	assert_int_equal(maptab_map(t, k, &m, true), 0);
}

/* Module at an address of a process at a given time; 0 = none. */
static uint32_t module(struct maptab *t, struct map_key k, uint64_t ts_ns, uint64_t addr)
{
	struct map_view v;
	const struct mapping *m;

	if (!maptab_find(t, k, ts_ns, &v))
		return 0;
	m = map_space_at(v.space, addr);
	return m ? m->module : 0;
}

static uint64_t generation(struct maptab *t, struct map_key k, uint64_t ts_ns)
{
	struct map_view v;

	return maptab_find(t, k, ts_ns, &v) ? v.generation : 0;
}

static void test_edges(void **state)
{
	struct maptab *t = *state;
	const struct map_key k = key(7, 1 * S);

	map(t, k, at(0x1000, 0x3000, 5, 2 * S));
	map(t, k, at(0x3000, 0x4000, 6, 2 * S));
	map(t, k, at(0x8000, 0x9000, 7, 2 * S));
	assert_int_equal(module(t, k, 3 * S, 0xfff), 0);
	assert_int_equal(module(t, k, 3 * S, 0x1000), 5);
	assert_int_equal(module(t, k, 3 * S, 0x2fff), 5);
	assert_int_equal(module(t, k, 3 * S, 0x3000), 6);
	assert_int_equal(module(t, k, 3 * S, 0x4000), 0);
	assert_int_equal(module(t, k, 3 * S, 0x8fff), 7);
	assert_int_equal(module(t, k, 3 * S, UINT64_MAX), 0);
	assert_int_equal(module(t, key(8, 1 * S), 3 * S, 0x1000), 0);
}

/* A newer mapping takes its range from older ones; the rest of them keeps its offset in the file. */
static void test_overlap(void **state)
{
	struct maptab *t = *state;
	const struct map_key k = key(7, 1 * S);
	struct map_view v;

	map(t, k, at(0x1000, 0x9000, 5, 2 * S));
	map(t, k, at(0x3000, 0x4000, 6, 3 * S));
	assert_int_equal(module(t, k, 4 * S, 0x2fff), 5);
	assert_int_equal(module(t, k, 4 * S, 0x3000), 6);
	assert_int_equal(module(t, k, 4 * S, 0x4000), 5);
	assert_true(maptab_find(t, k, 4 * S, &v));
	assert_int_equal(map_space_at(v.space, 0x4000)->off, 0x3100);
	map(t, k, at(0x2000, 0x8000, 8, 4 * S));
	assert_int_equal(module(t, k, 5 * S, 0x1fff), 5);
	assert_int_equal(module(t, k, 5 * S, 0x3000), 8);
	assert_int_equal(module(t, k, 5 * S, 0x8000), 5);
	/* A mapping reported late leaves newer ones in place. */
	map(t, k, at(0x1000, 0xa000, 9, 3 * S));
	assert_int_equal(module(t, k, 5 * S, 0x1000), 9);
	assert_int_equal(module(t, k, 5 * S, 0x2000), 8);
	assert_int_equal(module(t, k, 5 * S, 0x7fff), 8);
	assert_int_equal(module(t, k, 5 * S, 0x8000), 9);
	assert_int_equal(module(t, k, 5 * S, 0x9fff), 9);
}

/* Against a model: many mappings at random, a page per byte of an array. */
static void test_overlap_model(void **state)
{
	struct maptab *t = *state;
	const struct map_key k = key(7, 1 * S);
	uint32_t model[64] = { 0 }, rnd = 1;
	uint64_t since[64] = { 0 };

	for (uint32_t i = 1; i < 3000; i++) {
		uint32_t from = (rnd = rnd * 1103515245 + 12345) >> 8 & 63;
		uint32_t n = ((rnd = rnd * 1103515245 + 12345) >> 8 & 15) + 1;
		uint64_t ts = 2 * S + ((rnd = rnd * 1103515245 + 12345) >> 8 & 1023);
		bool snapshot = (rnd >> 20 & 7) == 0;
		uint32_t end = MIN(from + n, 64u);
		struct mapping m = { .start = from, .end = end, .off = from, .module = i, .since_ns = ts };

		assert_int_equal(maptab_map(t, k, &m, snapshot), 0);
		for (uint32_t p = from; p < end; p++)
			if (!model[p] || since[p] <= ts) {
				model[p] = i;
				since[p] = ts;
			}
		for (uint32_t p = 0; p < 64; p++)
			assert_int_equal(module(t, k, 3 * S, p), model[p]);
	}
}

static void test_fork_shares(void **state)
{
	struct maptab *t = *state;
	const struct map_key parent = key(7, 1 * S), child = key(8, 3 * S);
	struct maptab_stats st;

	map(t, parent, at(0x1000, 0x2000, 5, 2 * S));
	assert_int_equal(maptab_fork(t, 3 * S, child, parent), 0);
	maptab_stats(t, &st);
	assert_int_equal(st.spaces, 1);
	assert_int_equal(module(t, child, 4 * S, 0x1000), 5);
	map(t, child, at(0x1000, 0x2000, 6, 4 * S));
	assert_int_equal(module(t, child, 5 * S, 0x1000), 6);
	assert_int_equal(module(t, parent, 5 * S, 0x1000), 5);
	maptab_exit(t, 6 * S, parent);
	assert_int_equal(module(t, child, 5 * S, 0x1000), 6);
}

/* The first mappings of the new program are reported before its exec. */
static void test_exec(void **state)
{
	struct maptab *t = *state;
	const struct map_key k = key(7, 1 * S);

	map(t, k, at(0x1000, 0x2000, 5, 2 * S));
	map(t, k, at(0x5000, 0x6000, 5, 2 * S));
	map(t, k, at(0x5000, 0x5800, 6, 4 * S + 10));
	assert_int_equal(maptab_exec(t, 4 * S + 20, k, 4 * S), 0);
	assert_int_equal(module(t, k, 5 * S, 0x1000), 0);
	assert_int_equal(module(t, k, 5 * S, 0x5000), 6);
	assert_int_equal(module(t, k, 5 * S, 0x5900), 0);
	/* A sample from before arrives late. */
	assert_int_equal(module(t, k, 4 * S - 1, 0x1000), 5);
	/* So does a mapping of the old program. */
	map(t, k, at(0x1000, 0x2000, 5, 3 * S));
	assert_int_equal(module(t, k, 5 * S, 0x1000), 0);
	/* The time is unknown: nothing is dropped. */
	assert_int_equal(maptab_exec(t, 6 * S, k, 0), 0);
	assert_int_equal(module(t, k, 6 * S, 0x5000), 6);
}

static void test_exec_of_child_leaves_parent(void **state)
{
	struct maptab *t = *state;
	const struct map_key parent = key(7, 1 * S), child = key(8, 3 * S);

	map(t, parent, at(0x1000, 0x2000, 5, 2 * S));
	maptab_fork(t, 3 * S, child, parent);
	/* The same addresses and file, but of the new program: exec must not drop it. */
	map(t, child, at(0x1000, 0x2000, 5, 4 * S + 1));
	maptab_exec(t, 4 * S + 2, child, 4 * S);
	assert_int_equal(module(t, child, 5 * S, 0x1000), 5);
	assert_int_equal(module(t, parent, 5 * S, 0x1000), 5);
}

/* Facts of one process, in every order, give the same result. */
static void test_snapshot_orders(void **state)
{
	const struct map_key k = key(7, 1 * S);

	(void)state;
	for (unsigned order = 0; order < 24; order++) {
		struct maptab *t = maptab_new(1 << 20);
		unsigned left[] = { 0, 1, 2, 3 }, n = 4, o = order;

		while (n) {
			unsigned pick = o % n, what = left[pick];

			o /= n;
			left[pick] = left[--n];
			if (what == 0) /* seen in the old program */
				seen(t, k, at(0x1000, 0x2000, 5, 2 * S));
			else if (what == 1)
				maptab_exec(t, 3 * S + 5, k, 3 * S);
			else if (what == 2)
				map(t, k, at(0x1000, 0x1800, 6, 3 * S + 1));
			else /* seen in the new one */
				seen(t, k, at(0x1000, 0x3000, 9, 4 * S));
		}
		assert_int_equal(module(t, k, 5 * S, 0x2000), 9);
		assert_int_equal(module(t, k, 5 * S, 0x1800), 9);
		maptab_free(t);
	}
}

static void test_reuse(void **state)
{
	struct maptab *t = *state;
	const struct map_key old = key(7, 1 * S), new = key(7, 5 * S), any = key(7, 0);

	map(t, old, at(0x1000, 0x2000, 5, 2 * S));
	maptab_exit(t, 4 * S, old);
	map(t, new, at(0x1000, 0x2000, 6, 6 * S));
	assert_int_equal(module(t, old, 3 * S, 0x1000), 5);
	assert_int_equal(module(t, new, 7 * S, 0x1000), 6);
	assert_int_equal(module(t, any, 3 * S, 0x1000), 5);
	assert_int_equal(module(t, any, 7 * S, 0x1000), 6);
	assert_int_equal(module(t, any, 4 * S + S / 2, 0x1000), 0);
}

/* A mapping may be reported without the start of its process; the next fact gives it. */
static void test_unknown_start(void **state)
{
	struct maptab *t = *state;
	const struct map_key full = key(7, 1 * S), later = key(7, 9 * S);
	struct maptab_stats st;

	map(t, key(7, 0), at(0x1000, 0x2000, 5, 2 * S));
	maptab_exec(t, 3 * S, full, 2 * S);
	assert_int_equal(module(t, full, 4 * S, 0x1000), 5);
	maptab_stats(t, &st);
	assert_int_equal(st.processes, 1);
	/* A process that starts after it is another one. */
	map(t, later, at(0x1000, 0x2000, 6, 9 * S));
	assert_int_equal(module(t, full, 4 * S, 0x1000), 5);
	assert_int_equal(module(t, later, 10 * S, 0x1000), 6);
}

static void test_exited_stays_for_a_while(void **state)
{
	struct maptab *t = *state;
	const struct map_key k = key(7, 1 * S);

	map(t, k, at(0x1000, 0x2000, 5, 2 * S));
	maptab_exit(t, 3 * S, k);
	map(t, key(8, 1 * S), at(0x1000, 0x2000, 6, 4 * S));
	assert_int_equal(module(t, k, 3 * S - 1, 0x1000), 5);
	map(t, key(8, 1 * S), at(0x3000, 0x4000, 6, 60 * S));
	assert_int_equal(module(t, k, 3 * S - 1, 0x1000), 0);
}

static void test_generation(void **state)
{
	struct maptab *t = *state;
	const struct map_key k = key(7, 1 * S);
	uint64_t g, h;

	assert_int_equal(generation(t, k, 2 * S), 0);
	map(t, k, at(0x1000, 0x2000, 5, 2 * S));
	g = generation(t, k, 2 * S);
	assert_true(g > 0);
	map(t, k, at(0x1000, 0x2000, 5, 3 * S));
	assert_int_equal(generation(t, k, 3 * S), g);
	map(t, k, at(0x1000, 0x2000, 6, 4 * S));
	h = generation(t, k, 4 * S);
	assert_true(h > g);
	maptab_exec(t, 6 * S, k, 5 * S);
	assert_true(generation(t, k, 7 * S) > h);
	assert_int_equal(generation(t, k, 4 * S), h);
}

/* Many children of one server: one list, and memory that does not grow with their number. */
static void test_fork_server(void **state)
{
	struct maptab *t = *state;
	const struct map_key server = key(7, 1 * S);
	struct maptab_stats st;
	uint64_t most = 0;

	for (uint64_t i = 0; i < 50; i++)
		map(t, server, at(0x1000 * (i + 1), 0x1000 * (i + 2), 5, 2 * S));
	for (uint32_t i = 0; i < 40000; i++) {
		uint64_t ts = 3 * S + i * (S / 2000);

		assert_int_equal(maptab_fork(t, ts, key(100 + i % 30000, ts), server), 0);
		assert_int_equal(module(t, key(100 + i % 30000, ts), ts, 0x1000), 5);
		maptab_exit(t, ts + 1000, key(100 + i % 30000, ts));
		maptab_stats(t, &st);
		most = MAX(most, st.bytes);
	}
	assert_int_equal(st.spaces, 1);
	assert_true(most <= 1 << 20);
	assert_int_equal(module(t, server, 99 * S, 0x1000), 5);
}

static void test_budget(void **state)
{
	struct maptab *t = *state;
	struct maptab_stats st;

	for (uint32_t i = 1; i <= 20000; i++)
		map(t, key(i, 1 * S), at(0x1000, 0x2000, 5, 2 * S));
	maptab_stats(t, &st);
	assert_true(st.bytes <= (1 << 20) + 4096);
	assert_true(st.evicted > 0);
	assert_int_equal(module(t, key(20000, 1 * S), 3 * S, 0x1000), 5);
	assert_int_equal(module(t, key(1, 1 * S), 3 * S, 0x1000), 0);
}

/* A hostile process. */
static void test_too_many(void **state)
{
	struct maptab *t = *state;
	const struct map_key k = key(7, 1 * S);
	struct maptab_stats st;

	for (uint64_t i = 0; i < 70000; i++)
		map(t, k, at(0x2000 * (i + 1), 0x2000 * (i + 1) + 0x1000, 5, 2 * S));
	maptab_stats(t, &st);
	assert_true(st.refused > 0);
	assert_true(st.mappings <= 8192);
	assert_int_equal(module(t, k, 3 * S, 0x2000), 5);
}

int main(void)
{
#define ROW(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		ROW(test_edges), ROW(test_overlap), ROW(test_overlap_model), ROW(test_fork_shares), ROW(test_exec),
		ROW(test_exec_of_child_leaves_parent), ROW(test_snapshot_orders), ROW(test_reuse),
		ROW(test_unknown_start), ROW(test_exited_stays_for_a_while), ROW(test_generation),
		ROW(test_fork_server), ROW(test_budget), ROW(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
