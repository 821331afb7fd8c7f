// SPDX-License-Identifier: GPL-2.0-or-later
/* Memory behind a ring that must not lose records: they wait there, in the order of the rings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ring_mem.h"

#define ROOM 4096u	/* one page, four times the ring */

static int setup(void **state)
{
	struct bpf_fixture *f;
	int r = bpf_setup(state);

	f = *state;
	f->m[1].stash = ROOM;
	if (r < 0 || add_bpf(f->rr, &f->m[0], 0, false) < 0 || add_bpf(f->rr, &f->m[1], 1, true) < 0)
		return -1;
	return 0;
}

static void check_order(const struct bpf_fixture *f)
{
	for (unsigned i = 1; i < f->log.n; i++)
		assert_true(f->log.recs[i - 1].time_ns <= f->log.recs[i].time_ns);
}

/* Bulk read a record at a time, and three rings full of life-cycle records behind it: none is refused. */
static void test_takes_what_waits(void **state)
{
	struct bpf_fixture *f = *state;
	unsigned put = 0, room = RING_BYTES / 24;

	for (unsigned i = 1; i <= 20; i++)
		bpf_put(&f->m[0], 16, i, 1);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < room; i++)
			put += bpf_put(&f->m[1], 16, 1000 + put, 2);
		assert_int_equal(ring_reader_drain(f->rr, 1, collect, &f->log), 1);
		assert_true(f->m[1].cons == f->m[1].prod);
	}
	assert_int_equal(put, 3 * room);
	while (ring_reader_drain(f->rr, 0, collect, &f->log) > 0)
		;
	assert_int_equal(f->log.n, 20 + put);
	check_order(f);
}

/* Nothing is read yet, as while probes start: the records wait in the stash, and the first batch has all of them. */
static void test_takes_before_the_first_batch(void **state)
{
	struct bpf_fixture *f = *state;
	unsigned put = 0, room = RING_BYTES / 24;

	bpf_put(&f->m[0], 16, 1, 1);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < room; i++)
			put += bpf_put(&f->m[1], 16, 1000 + put, 2);
		ring_reader_stash(f->rr);
		assert_true(f->m[1].cons == f->m[1].prod);
	}
	assert_int_equal(put, 3 * room);
	assert_int_equal(ring_reader_drain(f->rr, 0, collect, &f->log), 1 + put);
	check_order(f);
}

/* Without room the record waits in the ring, and no later record passes it. */
static void test_room_ends(void **state)
{
	struct bpf_fixture *f = *state;
	unsigned put = 0;

	bpf_put(&f->m[0], 16, 1, 1);
	bpf_put(&f->m[0], 16, 2, 1);
	for (unsigned round = 0; round < 8; round++) {
		while (bpf_put(&f->m[1], 120, 100 + put, 2))
			put++;
		if (round < 2)
			assert_int_equal(ring_reader_drain(f->rr, 1, collect, &f->log), 1);
		else
			ring_reader_drain(f->rr, 1, collect, &f->log);
		bpf_put(&f->m[0], 16, 100 + put, 1);
	}
	assert_true(put * 128 > ROOM);
	assert_true(f->m[1].cons != f->m[1].prod);
	while (ring_reader_drain(f->rr, 0, collect, &f->log) > 0)
		;
	assert_int_equal(f->log.n, 2 + 8 + put);
	assert_true(f->m[1].cons == f->m[1].prod);
	check_order(f);
}

/* An uncommitted record holds back later ones, as it does without memory behind its ring. */
static void test_busy_holds(void **state)
{
	struct bpf_fixture *f = *state;
	uint64_t at;

	bpf_put(&f->m[1], 16, 1, 2);
	at = bpf_reserve(&f->m[1], 16);
	bpf_put(&f->m[1], 16, 4, 2);
	bpf_put(&f->m[0], 16, 3, 1);
	assert_int_equal(ring_reader_drain(f->rr, 0, collect, &f->log), 1);
	assert_int_equal(ring_reader_drain(f->rr, 0, collect, &f->log), 0);
	bpf_fill(&f->m[1], at, 16, 2, 2);
	bpf_commit(&f->m[1], at, 0);
	assert_int_equal(ring_reader_drain(f->rr, 0, collect, &f->log), 3);
	check_order(f);
}

/* An impossible length, and a producer that overran its reader: the rest is dropped and counted. */
static void test_damage(void **state)
{
	struct bpf_fixture *f = *state;
	struct ring_stats st;
	uint64_t at;

	bpf_put(&f->m[1], 16, 1, 2);
	at = bpf_reserve(&f->m[1], 16);
	*(uint32_t *)(f->m[1].data + at) = 0x3fffffff;
	assert_int_equal(ring_reader_drain(f->rr, 0, collect, &f->log), 1);
	assert_true(f->m[1].cons == f->m[1].prod);
	ring_reader_stats(f->rr, &st);
	assert_int_equal(st.bad, 1);
	bpf_put(&f->m[1], 16, 2, 2);
	assert_int_equal(ring_reader_drain(f->rr, 0, collect, &f->log), 1);
	f->m[1].prod += 1 << 20;
	assert_int_equal(ring_reader_drain(f->rr, 0, collect, &f->log), 0);
	ring_reader_stats(f->rr, &st);
	assert_int_equal(st.bad, 2);
	bpf_put(&f->m[1], 16, 3, 2);
	assert_int_equal(ring_reader_drain(f->rr, 0, collect, &f->log), 1);
	check_order(f);
}

struct late { struct bpf_fixture *f; uint64_t at; };

static int commit_while_reading(void *ctx, const struct ring_rec *rec)
{
	struct late *l = ctx;

	if (l->f->log.n == 5) {
		bpf_commit(&l->f->m[1], l->at, 0);
		bpf_put(&l->f->m[1], 16, 101, 2);
	}
	return collect(&l->f->log, rec);
}

/* Committed during a long batch that ends before it: the record belongs to the next batch. */
static void test_committed_in_a_batch(void **state)
{
	struct bpf_fixture *f = *state;
	struct late l = { .f = f };
	struct ring_stats st;

	for (unsigned i = 1; i <= 35; i++)
		bpf_put(&f->m[1], 16, i, 2);
	l.at = bpf_reserve(&f->m[1], 64);
	bpf_fill(&f->m[1], l.at, 64, 100, 2);
	assert_int_equal(ring_reader_drain(f->rr, 0, commit_while_reading, &l), 35);
	assert_int_equal(ring_reader_drain(f->rr, 0, collect, &f->log), 2);
	ring_reader_stats(f->rr, &st);
	assert_int_equal(st.bad, 0);
	check_order(f);
}

/* Sizes too small for memory behind a ring. */
static void test_refusals(void **state)
{
	struct bpf_fixture *f = *state;

	f->m[2].stash = RING_BYTES;	/* no more than the ring has */
	assert_int_equal(add_bpf(f->rr, &f->m[2], 2, true), -EINVAL);
	f->m[2].stash = ROOM - 8;
	assert_int_equal(add_bpf(f->rr, &f->m[2], 2, true), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_takes_what_waits, setup, bpf_teardown),
		cmocka_unit_test_setup_teardown(test_takes_before_the_first_batch, setup, bpf_teardown),
		cmocka_unit_test_setup_teardown(test_room_ends, setup, bpf_teardown),
		cmocka_unit_test_setup_teardown(test_busy_holds, setup, bpf_teardown),
		cmocka_unit_test_setup_teardown(test_damage, setup, bpf_teardown),
		cmocka_unit_test_setup_teardown(test_committed_in_a_batch, setup, bpf_teardown),
		cmocka_unit_test_setup_teardown(test_refusals, setup, bpf_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
