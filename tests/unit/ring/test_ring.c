// SPDX-License-Identifier: GPL-2.0-or-later
/* One BPF ring in plain memory, several of them merged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "base/clock.h"
#include "ring/cpulist.h"

#include "ring_mem.h"

static void test_bpf_wrap_and_torn(void **state)
{
	struct bpf_fixture *f = *state;
	unsigned torn = 0;

	assert_int_equal(add_bpf(f->rr, &f->m[0], 3, false), 0);
	for (unsigned i = 1; i <= 500; i++) {
		uint32_t len = 8 + i % 113;

		torn += f->m[0].prod % RING_BYTES + 8 + len > RING_BYTES;
		assert_true(bpf_put(&f->m[0], len, i, (uint8_t)i));
		assert_int_equal(drain(f, 0), 1);
		assert_int_equal(f->log.recs[0].time_ns, i);
		assert_int_equal(f->log.recs[0].len, len);
		assert_int_equal(f->log.recs[0].cpu, 3);
		assert_int_equal(f->log.recs[0].source, 30);
		assert_int_equal(f->log.recs[0].last, len > 8 ? (uint8_t)i : 0);
		assert_true(f->m[0].cons == f->m[0].prod);
	}
	assert_true(torn > 10);
	assert_int_equal(stats_of(f->rr).records, 500);
	assert_int_equal(stats_of(f->rr).bad, 0);
}

/* The bytes of a torn record, each one. */
static int check_pattern(void *ctx, const struct ring_rec *rec)
{
	const uint8_t *data = rec->data;

	for (uint32_t i = 8; i < rec->len; i++)
		assert_int_equal(data[i], (uint8_t)(i * 7));
	*(unsigned *)ctx += 1;
	return 0;
}

static void test_bpf_torn_bytes(void **state)
{
	struct bpf_fixture *f = *state;
	uint8_t body[200];
	unsigned n = 0;

	add_bpf(f->rr, &f->m[0], 0, false);
	for (unsigned i = 0; i < sizeof(body); i++)
		body[i] = (uint8_t)(i * 7);
	for (unsigned round = 0; round < 40; round++) {
		uint64_t at = bpf_reserve(&f->m[0], sizeof(body));

		bpf_body(&f->m[0], at, body, sizeof(body));
		bpf_commit(&f->m[0], at, 0);
		assert_int_equal(ring_reader_drain(f->rr, 0, check_pattern, &n), 1);
	}
	assert_int_equal(n, 40);
}

static void test_bpf_busy_holds_its_ring(void **state)
{
	struct bpf_fixture *f = *state;
	uint64_t at;

	add_bpf(f->rr, &f->m[0], 0, false);
	bpf_put(&f->m[0], 16, 1, 1);
	at = bpf_reserve(&f->m[0], 16);
	bpf_put(&f->m[0], 16, 3, 3);
	assert_int_equal(drain(f, 0), 1);
	assert_int_equal(f->m[0].cons, 24);
	assert_int_equal(drain(f, 0), 0);
	bpf_fill(&f->m[0], at, 16, 2, 2);
	bpf_commit(&f->m[0], at, 0);
	assert_int_equal(drain(f, 0), 2);
	assert_int_equal(f->log.recs[0].time_ns, 2);
	assert_int_equal(f->log.recs[1].time_ns, 3);
	assert_true(f->m[0].cons == f->m[0].prod);
}

static void test_bpf_discarded(void **state)
{
	struct bpf_fixture *f = *state;

	add_bpf(f->rr, &f->m[0], 0, false);
	for (unsigned i = 1; i <= 20; i++) {
		uint64_t at = bpf_reserve(&f->m[0], 24);

		bpf_fill(&f->m[0], at, 24, i, 0);
		bpf_commit(&f->m[0], at, i % 3 ? BPF_RINGBUF_DISCARD_BIT : 0);
	}
	assert_int_equal(drain(f, 0), 6);
	assert_int_equal(f->log.recs[5].time_ns, 18);
	assert_int_equal(stats_of(f->rr).discarded, 14);
	assert_true(f->m[0].cons == f->m[0].prod); /* discarded records at the end, too */
}

static void test_bpf_impossible_length(void **state)
{
	struct bpf_fixture *f = *state;
	uint64_t at;

	add_bpf(f->rr, &f->m[0], 0, false);
	bpf_put(&f->m[0], 16, 1, 1);
	at = bpf_reserve(&f->m[0], 16);
	bpf_put(&f->m[0], 16, 3, 3);
	*(uint32_t *)(f->m[0].data + at) = 0x3fffffff;
	assert_int_equal(drain(f, 0), 1);
	assert_int_equal(stats_of(f->rr).bad, 1);
	assert_true(f->m[0].cons == f->m[0].prod); /* skipped to its head */
	bpf_put(&f->m[0], 16, 4, 4);
	assert_int_equal(drain(f, 0), 1);
	assert_int_equal(f->log.recs[0].time_ns, 4);

	f->m[0].prod += 1 << 20; /* a producer that overran its reader */
	assert_int_equal(drain(f, 0), 0);
	assert_int_equal(stats_of(f->rr).bad, 2);
	assert_int_equal(drain(f, 0), 0);
}

static void test_bpf_no_time(void **state)
{
	struct bpf_fixture *f = *state;
	uint64_t at;

	add_bpf(f->rr, &f->m[0], 0, false);
	bpf_put(&f->m[0], 16, 5, 0);
	at = bpf_reserve(&f->m[0], 4); /* shorter than the time */
	bpf_commit(&f->m[0], at, 0);
	at = bpf_reserve(&f->m[0], 0);
	bpf_commit(&f->m[0], at, 0);
	assert_int_equal(drain(f, 0), 3);
	assert_int_equal(f->log.recs[1].time_ns, 0);
	assert_int_equal(f->log.recs[1].len, 4);
	assert_int_equal(f->log.recs[2].len, 0);
}

static void test_budget(void **state)
{
	struct bpf_fixture *f = *state;
	uint64_t next = 1;
	int n;

	add_bpf(f->rr, &f->m[0], 0, false);
	add_bpf(f->rr, &f->m[1], 1, false);
	for (unsigned i = 1; i <= 40; i++)
		bpf_put(&f->m[i / 3 % 2], 16, i, 0);
	while ((n = drain(f, 7)) > 0) {
		assert_true(n <= 7);
		for (int i = 0; i < n; i++)
			assert_int_equal(f->log.recs[i].time_ns, next++);
	}
	assert_int_equal(next, 41);
	assert_int_equal(stats_of(f->rr).batches, 7);
}

static void test_budget_gives_space_back(void **state)
{
	struct bpf_fixture *f = *state;

	add_bpf(f->rr, &f->m[0], 0, false);
	for (unsigned i = 1; i <= 10; i++)
		bpf_put(&f->m[0], 16, i, 0);
	assert_int_equal(drain(f, 4), 4);
	assert_int_equal(f->m[0].cons, 4 * 24);
}

static void test_callback_stops(void **state)
{
	struct bpf_fixture *f = *state;

	add_bpf(f->rr, &f->m[0], 0, false);
	for (unsigned i = 1; i <= 10; i++)
		bpf_put(&f->m[0], 16, i, 0);
	f->log.fail_at = 3;
	assert_int_equal(drain(f, 0), -ECANCELED);
	assert_int_equal(f->m[0].cons, 3 * 24); /* the refused one counts as delivered */
	f->log.fail_at = 0;
	assert_int_equal(drain(f, 0), 7);
	assert_int_equal(f->log.recs[0].time_ns, 4);
}

/* ---- order ---- */

static void test_merge_order(void **state)
{
	struct bpf_fixture *f = *state;

	for (uint32_t n_rings = 2; n_rings <= 4; n_rings++) {
		struct ring_reader *rr = ring_reader_new();
		uint32_t seed = n_rings;

		for (uint32_t cpu = 0; cpu < n_rings; cpu++)
			f->m[cpu].cons = f->m[cpu].prod = 0;
		for (uint32_t cpu = 0; cpu < n_rings; cpu++)
			add_bpf(rr, &f->m[cpu], cpu, false);
		for (unsigned i = 1; i <= 60; i++) {
			seed = seed * 1103515245 + 12345;
			assert_true(bpf_put(&f->m[(seed >> 16) % n_rings], 16, i, 0));
		}
		f->log.n = 0;
		assert_int_equal(ring_reader_drain(rr, 0, collect, &f->log), 60);
		for (unsigned i = 0; i < 60; i++)
			assert_int_equal(f->log.recs[i].time_ns, i + 1);
		ring_reader_free(rr);
	}
}

static void test_merge_off(void **state)
{
	struct bpf_fixture *f = *state;
	static const uint64_t expected[] = { 2, 4, 1, 3 };

	ring_reader_set_merge(f->rr, false);
	add_bpf(f->rr, &f->m[0], 0, false);
	add_bpf(f->rr, &f->m[1], 1, false);
	for (unsigned i = 1; i <= 4; i++)
		bpf_put(&f->m[i % 2], 16, i, 0);
	assert_int_equal(drain(f, 0), 4);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(f->log.recs[i].time_ns, expected[i]);
}

/* A ring's own order is kept even where its times step back (a record interrupted by another). */
static void test_ring_order_first(void **state)
{
	struct bpf_fixture *f = *state;
	static const uint64_t expected[] = { 2, 3, 1, 4 };

	add_bpf(f->rr, &f->m[0], 0, false);
	add_bpf(f->rr, &f->m[1], 1, false);
	bpf_put(&f->m[0], 16, 3, 0);
	bpf_put(&f->m[0], 16, 1, 0);
	bpf_put(&f->m[1], 16, 2, 0);
	bpf_put(&f->m[1], 16, 4, 0);
	assert_int_equal(drain(f, 0), 4);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(f->log.recs[i].time_ns, expected[i]);
}

static void test_equal_times_life_first(void **state)
{
	static const uint32_t expected[] = { 1, 1, 0, 0, 2, 2 };
	struct bpf_fixture *f = *state;

	add_bpf(f->rr, &f->m[0], 0, false);
	add_bpf(f->rr, &f->m[1], 1, true);
	add_bpf(f->rr, &f->m[2], 2, false);
	for (unsigned i = 0; i < 3; i++) {
		bpf_put(&f->m[i], 16, 7, 0);
		bpf_put(&f->m[i], 16, 7, 0);
	}
	assert_int_equal(drain(f, 0), 6);
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(f->log.recs[i].cpu, expected[i]);
}

static void test_busy_horizon(void **state)
{
	struct bpf_fixture *f = *state;
	uint64_t at;

	add_bpf(f->rr, &f->m[0], 0, false);
	add_bpf(f->rr, &f->m[1], 1, false);
	bpf_put(&f->m[0], 16, 10, 0);
	at = bpf_reserve(&f->m[0], 16);	/* will be 20 */
	bpf_put(&f->m[1], 16, 5, 0);
	bpf_put(&f->m[1], 16, 10, 0);
	bpf_put(&f->m[1], 16, 15, 0);	/* after the last known time of ring 0: must wait */
	bpf_put(&f->m[1], 16, 30, 0);
	assert_int_equal(drain(f, 0), 3);
	assert_int_equal(f->log.recs[0].time_ns, 5);
	assert_int_equal(f->log.recs[1].time_ns, 10);
	assert_int_equal(f->log.recs[2].time_ns, 10);
	assert_int_equal(drain(f, 0), 0);
	bpf_fill(&f->m[0], at, 16, 20, 0);
	bpf_commit(&f->m[0], at, 0);
	assert_int_equal(drain(f, 0), 3);
	assert_int_equal(f->log.recs[0].time_ns, 15);
	assert_int_equal(f->log.recs[1].time_ns, 20);
	assert_int_equal(f->log.recs[2].time_ns, 30);
}

/* The same when the ring begins with it, and with a third ring. */
static void test_busy_from_the_start(void **state)
{
	struct bpf_fixture *f = *state;
	uint64_t at;

	for (uint32_t cpu = 0; cpu < 3; cpu++)
		add_bpf(f->rr, &f->m[cpu], cpu, false);
	at = bpf_reserve(&f->m[2], 16);
	bpf_put(&f->m[0], 16, 2, 0);
	bpf_put(&f->m[1], 16, 3, 0);
	assert_int_equal(drain(f, 0), 0);
	bpf_fill(&f->m[2], at, 16, 1, 0);
	bpf_commit(&f->m[2], at, 0);
	assert_int_equal(drain(f, 0), 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(f->log.recs[i].time_ns, i + 1);
}

/* Writes during a drain belong to the next batch, whatever their ring. */
struct late { struct bpf_fixture *f; struct bpf_mem *target; uint64_t time_ns; };

static int put_late(void *ctx, const struct ring_rec *rec)
{
	struct late *l = ctx;

	if (l->target) {
		bpf_put(l->target, 16, l->time_ns, 0);
		l->target = NULL;
	}
	return collect(&l->f->log, rec);
}

static void test_batch_is_sampled_once(void **state)
{
	struct bpf_fixture *f = *state;
	struct late late = { f, &f->m[1], 2 };

	add_bpf(f->rr, &f->m[0], 0, false);
	add_bpf(f->rr, &f->m[1], 1, false);
	bpf_put(&f->m[0], 16, 1, 0);
	bpf_put(&f->m[0], 16, 3, 0);
	assert_int_equal(ring_reader_drain(f->rr, 0, put_late, &late), 2);
	assert_int_equal(drain(f, 0), 1);
	assert_int_equal(f->log.recs[0].time_ns, 2);
}

/* ---- the promise, spelled out, against the reader ---- */

enum fate { KEEP, DISCARD, BUSY };
struct planned { uint64_t time_ns, at; uint32_t len; enum fate fate; };
struct model_ring { struct planned q[1024]; unsigned head, tail; uint64_t last_ns; };
struct model { struct model_ring ring[4]; uint32_t seed; uint64_t clock; };

static uint32_t roll(struct model *m, uint32_t n)
{
	m->seed = m->seed * 1103515245 + 12345;
	return (m->seed >> 16) % n;
}

/* A record somewhere, of any fate; times stand still or go on. */
static void produce(struct bpf_fixture *f, struct model *m)
{
	unsigned i = roll(m, 4);
	struct model_ring *r = &m->ring[i];
	struct planned p = { .time_ns = m->clock += roll(m, 3), .len = 8 + roll(m, 40), .fate = KEEP };
	uint32_t kind = roll(m, 20);

	p.at = bpf_reserve(&f->m[i], p.len);
	if (p.at == UINT64_MAX)
		return;
	p.fate = kind == 0 ? BUSY : kind == 1 ? DISCARD : KEEP;
	bpf_fill(&f->m[i], p.at, p.len, p.time_ns, (uint8_t)p.time_ns);
	if (p.fate != BUSY)
		bpf_commit(&f->m[i], p.at, p.fate == DISCARD ? BPF_RINGBUF_DISCARD_BIT : 0);
	assert_true(r->tail - r->head < ARRAY_SIZE(r->q));
	r->q[r->tail++ % ARRAY_SIZE(r->q)] = p;
}

static void commit_all(struct bpf_fixture *f, struct model *m)
{
	for (unsigned i = 0; i < 4; i++) {
		for (unsigned k = m->ring[i].head; k != m->ring[i].tail; k++) {
			struct planned *p = &m->ring[i].q[k % ARRAY_SIZE(m->ring[i].q)];

			if (p->fate == BUSY)
				bpf_commit(&f->m[i], p->at, 0);
			p->fate = p->fate == BUSY ? KEEP : p->fate;
		}
	}
}

/* The ring whose record is due, or -1. Rings 2 and 3 are life-cycle and win ties, then the lower number wins. */
static int due(struct model *m)
{
	static const unsigned by_rank[] = { 2, 3, 0, 1 };
	uint64_t horizon = UINT64_MAX, best_ns = UINT64_MAX;
	int best = -1;

	for (unsigned k = 0; k < 4; k++) {
		struct model_ring *r = &m->ring[by_rank[k]];
		const struct planned *p;

		while (r->head != r->tail && r->q[r->head % ARRAY_SIZE(r->q)].fate == DISCARD)
			r->head++;
		if (r->head == r->tail)
			continue;
		p = &r->q[r->head % ARRAY_SIZE(r->q)];
		if (p->fate == BUSY) {
			horizon = MIN(horizon, r->last_ns);
		} else if (p->time_ns < best_ns) {
			best_ns = p->time_ns;
			best = (int)by_rank[k];
		}
	}
	return best_ns <= horizon ? best : -1;
}

static void test_random_against_model(void **state)
{
	struct bpf_fixture *f = *state;
	struct model *m = calloc(1, sizeof(*m));
	uint64_t bytes = 0;
	unsigned total = 0;

	m->seed = 7;
	f->m[1].doubled = !f->m[1].doubled;	/* also a mixture of both ways */
	for (uint32_t cpu = 0; cpu < 4; cpu++)
		add_bpf(f->rr, &f->m[cpu], cpu, cpu >= 2);
	for (unsigned round = 0; round < 5000; round++) {
		unsigned budget = roll(m, 12), n;

		for (unsigned k = roll(m, 30); k; k--)
			produce(f, m);
		if (roll(m, 3) == 0)
			commit_all(f, m);
		drain(f, budget);
		for (n = 0; n < f->log.n; n++) {
			int i = due(m);
			struct model_ring *r = &m->ring[MAX(i, 0)];
			const struct planned *p = &r->q[r->head++ % ARRAY_SIZE(r->q)];

			assert_int_equal(f->log.recs[n].cpu, i);
			assert_int_equal(f->log.recs[n].time_ns, p->time_ns);
			assert_int_equal(f->log.recs[n].len, p->len);
			r->last_ns = p->time_ns;
			bytes += ROUND_UP(p->len, 8);
		}
		if (!budget || n < budget)
			assert_int_equal(due(m), -1);
		total += n;
	}
	assert_true(total > 20000);
	assert_int_equal(stats_of(f->rr).records, total);
	assert_int_equal(stats_of(f->rr).bytes, bytes);
	assert_int_equal(stats_of(f->rr).bad, 0);
	free(m);
}

/* ---- fill ---- */

static void test_fill(void **state)
{
	struct bpf_fixture *f = *state;

	add_bpf(f->rr, &f->m[0], 0, false);
	add_bpf(f->rr, &f->m[1], 1, false);
	assert_int_equal(ring_reader_fill_pct(f->rr), 0);
	bpf_put(&f->m[1], 504, 1, 0);
	assert_int_equal(ring_reader_fill_pct(f->rr), 50);
	drain(f, 0);
	assert_int_equal(ring_reader_fill_pct(f->rr), 0);
}

/* ---- CPU lists ---- */

static void check_list(const char *text, int n, uint32_t first, uint32_t last)
{
	uint32_t *cpus = NULL;

	assert_int_equal(cpulist_parse(text, strlen(text), &cpus), n);
	if (n > 0) {
		assert_int_equal(cpus[0], first);
		assert_int_equal(cpus[n - 1], last);
	} else {
		assert_null(cpus);
	}
	free(cpus);
}

static void test_cpulist(_unused_ void **state)
{
	static const char *const bad[] = {
		"", "\n", "a", "1-", "-1", "3-1", "1,,2", "1,1", "2,1", "0-3,3", "1 2", "65536",
		"99999999999", "1\n2", "0x1",
	};
	uint32_t *cpus;
	int n;

	check_list("0\n", 1, 0, 0);
	check_list("0-1\n", 2, 0, 1);
	check_list("0-3,8,10-11", 7, 0, 11);
	check_list("2,65535", 2, 2, 65535);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		check_list(bad[i], -EBADMSG, 0, 0);
	n = cpulist_read("/sys/devices/system/cpu/possible", &cpus);
	assert_true(n > 0);
	assert_true(cpulist_has(cpus, (size_t)n, cpus[n - 1]));
	assert_false(cpulist_has(cpus, (size_t)n, 65536));
	free(cpus);
	assert_int_equal(cpulist_read("/nowhere", &cpus), -ENOENT);
}

/* With the data mapped once, mapped twice (which takes the fast way), and with memory behind the ring. */
#define BPF_TEST(t) PLACE_TEST(t), cmocka_unit_test_setup_teardown(t, bpf_setup_stash, bpf_teardown)
/* Facts about the position of the ring itself. */
#define PLACE_TEST(t) \
	cmocka_unit_test_setup_teardown(t, bpf_setup, bpf_teardown), \
	cmocka_unit_test_setup_teardown(t, bpf_setup_doubled, bpf_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BPF_TEST(test_bpf_wrap_and_torn),
		BPF_TEST(test_bpf_torn_bytes),
		BPF_TEST(test_bpf_busy_holds_its_ring),
		BPF_TEST(test_bpf_discarded),
		PLACE_TEST(test_bpf_impossible_length),
		BPF_TEST(test_bpf_no_time),
		BPF_TEST(test_budget),
		PLACE_TEST(test_budget_gives_space_back),
		PLACE_TEST(test_callback_stops),
		BPF_TEST(test_merge_order),
		BPF_TEST(test_merge_off),
		BPF_TEST(test_ring_order_first),
		BPF_TEST(test_equal_times_life_first),
		BPF_TEST(test_busy_horizon),
		BPF_TEST(test_busy_from_the_start),
		BPF_TEST(test_batch_is_sampled_once),
		BPF_TEST(test_random_against_model),
		PLACE_TEST(test_fill),
		cmocka_unit_test(test_cpulist),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
