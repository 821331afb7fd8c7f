// SPDX-License-Identifier: GPL-2.0-or-later
/* The reader against producers on another thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "ring_mem.h"

/*
 * Producer thread: for each birth on the life ring a bulk record of the newborn, at once, later in time. The
 * reader must never see the second first. With the opposite order of sampling this fails within a second.
 */
struct births { struct bpf_mem life, bulk; uint64_t n; bool stop; };

static void *give_birth(void *arg)
{
	struct births *b = arg;

	for (uint64_t i = 1; !__atomic_load_n(&b->stop, __ATOMIC_RELAXED); i++) {
		while (!bpf_put(&b->life, 16, 2 * i, 0))
			if (__atomic_load_n(&b->stop, __ATOMIC_RELAXED))
				return NULL;
		while (!bpf_put(&b->bulk, 16, 2 * i + 1, 0))
			if (__atomic_load_n(&b->stop, __ATOMIC_RELAXED))
				return NULL;
	}
	return NULL;
}

struct order { uint64_t last_ns, born_ns, n, early; };

static int check_birth(void *ctx, const struct ring_rec *rec)
{
	struct order *o = ctx;

	if (rec->cpu == 1)
		o->born_ns = rec->time_ns;
	else
		o->early += rec->time_ns - 1 > o->born_ns;
	o->n++;
	return 0;
}

static void test_bulk_sampled_before_life(_unused_ void **state)
{
	struct births *b = calloc(1, sizeof(*b));
	struct ring_reader *rr = ring_reader_new();
	struct order o = { 0 };
	pthread_t thread;

	b->life.doubled = b->bulk.doubled = true;
	add_bpf(rr, &b->life, 1, true);	/* added first, sampled last */
	add_bpf(rr, &b->bulk, 0, false);
	assert_int_equal(pthread_create(&thread, NULL, give_birth, b), 0);
	while (o.n < 50000)
		if (!ring_reader_drain(rr, 0, check_birth, &o))
			sched_yield();
	__atomic_store_n(&b->stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	assert_int_equal(o.early, 0);
	ring_reader_free(rr);
	free(b);
}

/* ---- a producer faster than the reader ---- */

struct flood { struct bpf_mem m; uint64_t put, refused; bool stop; };

static void *flood(void *arg)
{
	struct flood *f = arg;

	for (uint64_t i = 1; !__atomic_load_n(&f->stop, __ATOMIC_RELAXED); i++) {
		if (bpf_put(&f->m, 8 + (uint32_t)(i % 90), i, (uint8_t)i))
			f->put++;
		else
			f->refused++;
	}
	return NULL;
}

struct sums { uint64_t n, last_ns, wrong; };

static int check_flood(void *ctx, const struct ring_rec *rec)
{
	const uint8_t *data = rec->data;
	struct sums *s = ctx;

	s->wrong += rec->time_ns <= s->last_ns || rec->len != 8 + rec->time_ns % 90;
	for (uint32_t i = 8; i < rec->len; i++)
		s->wrong += data[i] != (uint8_t)rec->time_ns;
	s->last_ns = rec->time_ns;
	s->n++;
	return 0;
}

static void test_fast_producer(_unused_ void **state)
{
	const struct timespec nap = { .tv_nsec = 200000 };
	struct flood *f = calloc(1, sizeof(*f));
	struct ring_reader *rr = ring_reader_new();
	struct sums s = { 0 };
	pthread_t thread;

	add_bpf(rr, &f->m, 0, false);
	assert_int_equal(pthread_create(&thread, NULL, flood, f), 0);
	for (unsigned i = 0; s.n < 30000; i++) {
		ring_reader_drain(rr, i % 64, check_flood, &s);
		if (i % 128 == 0)
			nanosleep(&nap, NULL);
	}
	__atomic_store_n(&f->stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	while (ring_reader_drain(rr, 0, check_flood, &s) > 0)
		;
	assert_int_equal(s.wrong, 0);
	assert_int_equal(s.n, f->put);	/* everything put was read, to the unit */
	assert_true(f->refused > 0);
	ring_reader_free(rr);
	free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bulk_sampled_before_life),
		cmocka_unit_test(test_fast_producer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
