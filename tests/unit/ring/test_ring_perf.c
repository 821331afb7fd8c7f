// SPDX-License-Identifier: GPL-2.0-or-later
/* Perf rings in plain memory, forward and backward. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "ring_mem.h"

struct perf_fixture { struct ring_reader *rr; struct perf_mem m[3]; struct log log; };

static int perf_setup(void **state)
{
	struct perf_fixture *f = calloc(1, sizeof(*f));

	f->rr = ring_reader_new();
	*state = f;
	return f->rr ? 0 : -1;
}

static int perf_teardown(void **state)
{
	struct perf_fixture *f = *state;

	ring_reader_free(f->rr);
	free(f);
	return 0;
}

static int perf_drain(struct perf_fixture *f, unsigned budget)
{
	f->log.n = 0;
	return ring_reader_drain(f->rr, budget, collect, &f->log);
}

static void test_perf_wrap_and_torn(void **state)
{
	struct perf_fixture *f = *state;

	assert_int_equal(add_perf(f->rr, &f->m[0], 5), 0);
	for (unsigned i = 1; i <= 300; i++) {
		uint32_t raw = 4 + i % 30 * 8;

		perf_sample(&f->m[0], i, raw, (uint8_t)i);
		assert_int_equal(perf_drain(f, 0), 1);
		assert_int_equal(f->log.recs[0].time_ns, i);
		assert_int_equal(f->log.recs[0].len, raw);
		assert_int_equal(f->log.recs[0].first, (uint8_t)i);
		assert_int_equal(f->log.recs[0].last, (uint8_t)i);
		assert_int_equal(f->log.recs[0].cpu, 5);
		assert_true(f->m[0].page.data_tail == f->m[0].page.data_head);
	}
}

static void test_perf_lost_and_unknown(void **state)
{
	struct perf_fixture *f = *state;
	uint64_t body = 0;

	add_perf(f->rr, &f->m[0], 0);
	perf_sample(&f->m[0], 1, 12, 1);
	perf_lost(&f->m[0], 17);
	perf_sample(&f->m[0], 2, 12, 2);
	perf_put(&f->m[0], PERF_RECORD_THROTTLE, &body, sizeof(body));
	perf_lost(&f->m[0], 3);
	assert_int_equal(perf_drain(f, 0), 4);
	assert_int_equal(f->log.recs[1].lost, 17);
	assert_int_equal(f->log.recs[1].len, 0);
	assert_int_equal(f->log.recs[2].lost, 0);
	assert_int_equal(f->log.recs[2].time_ns, 2);
	assert_int_equal(f->log.recs[3].lost, 3);
	assert_int_equal(stats_of(f->rr).lost, 20);
	assert_int_equal(stats_of(f->rr).unknown, 1);
	assert_int_equal(stats_of(f->rr).records, 2);
}

/* Loss is reported in its ring's order, before later records of other rings. */
static void test_perf_lost_in_order(void **state)
{
	struct perf_fixture *f = *state;

	add_perf(f->rr, &f->m[0], 0);
	add_perf(f->rr, &f->m[1], 1);
	perf_sample(&f->m[0], 10, 12, 0);
	perf_lost(&f->m[0], 4);
	perf_sample(&f->m[0], 40, 12, 0);
	perf_sample(&f->m[1], 5, 12, 0);
	perf_sample(&f->m[1], 20, 12, 0);
	assert_int_equal(perf_drain(f, 0), 5);
	assert_int_equal(f->log.recs[1].time_ns, 10);
	assert_int_equal(f->log.recs[2].lost, 4);
	assert_int_equal(f->log.recs[3].time_ns, 20);
}

static void test_perf_bad_sizes(void **state)
{
	struct perf_fixture *f = *state;
	uint32_t raw = 5000;
	uint8_t body[24] = { 0 };
	uint64_t at;

	add_perf(f->rr, &f->m[0], 0);
	memcpy(body + 8, &raw, 4);	/* raw size beyond the record: only this record is bad */
	perf_put(&f->m[0], PERF_RECORD_SAMPLE, body, sizeof(body));
	perf_sample(&f->m[0], 1, 12, 1);
	assert_int_equal(perf_drain(f, 0), 1);
	assert_int_equal(stats_of(f->rr).bad, 1);

	at = f->m[0].page.data_head;
	perf_sample(&f->m[0], 2, 12, 2);	/* a size of 0: the frame is lost, skip to the head */
	perf_sample(&f->m[0], 3, 12, 3);
	((struct perf_event_header *)(f->m[0].data + at % 1024))->size = 0;
	assert_int_equal(perf_drain(f, 0), 0);
	assert_int_equal(stats_of(f->rr).bad, 2);
	assert_true(f->m[0].page.data_tail == f->m[0].page.data_head);
	perf_sample(&f->m[0], 4, 12, 4);
	assert_int_equal(perf_drain(f, 0), 1);
}

static void test_perf_cpu_holes(void **state)
{
	struct perf_fixture *f = *state;
	static const uint32_t cpus[] = { 0, 3, 511 };

	for (unsigned i = 0; i < 3; i++)
		add_perf(f->rr, &f->m[i], cpus[i]);
	for (unsigned i = 0; i < 3; i++)
		perf_sample(&f->m[2 - i], i + 1, 12, 0);
	assert_int_equal(perf_drain(f, 0), 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(f->log.recs[i].cpu, cpus[2 - i]);
}

static void test_backward_before_wrap(void **state)
{
	struct perf_fixture *f = *state;

	f->m[0].backward = true;
	assert_int_equal(add_perf(f->rr, &f->m[0], 0), 0);
	assert_int_equal(perf_drain(f, 0), 0);
	for (unsigned i = 1; i <= 5; i++)
		perf_sample(&f->m[0], i, 12, (uint8_t)i);
	assert_int_equal(perf_drain(f, 0), 5);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(f->log.recs[i].time_ns, i + 1);
	assert_int_equal(perf_drain(f, 0), 0);		/* read once */
	perf_sample(&f->m[0], 6, 12, 6);
	assert_int_equal(perf_drain(f, 0), 1);
	assert_int_equal(f->log.recs[0].time_ns, 6);
	assert_int_equal(stats_of(f->rr).bad, 0);
}

static void test_backward_overwritten(void **state)
{
	struct perf_fixture *f = *state;
	uint64_t bytes = 0;
	unsigned kept = 0;

	f->m[0].backward = true;
	add_perf(f->rr, &f->m[0], 0);
	for (unsigned i = 1; i <= 200; i++)
		perf_sample(&f->m[0], i, 4 + i % 5 * 8, (uint8_t)i);
	for (unsigned i = 200; i && bytes + 24 + i % 5 * 8 <= 1024; i--, kept++)
		bytes += 24 + i % 5 * 8;
	assert_int_equal(perf_drain(f, 0), kept);	/* every whole record, oldest first */
	for (unsigned i = 0; i < kept; i++) {
		assert_int_equal(f->log.recs[i].time_ns, 200 - kept + 1 + i);
		assert_int_equal(f->log.recs[i].last, (uint8_t)f->log.recs[i].time_ns);
	}
	assert_int_equal(stats_of(f->rr).bad, 0);	/* the torn oldest record is not an error */
}

static void test_backward_budget(void **state)
{
	struct perf_fixture *f = *state;

	f->m[0].backward = true;
	add_perf(f->rr, &f->m[0], 0);
	for (unsigned i = 1; i <= 10; i++)
		perf_sample(&f->m[0], i, 12, 0);
	assert_int_equal(perf_drain(f, 4), 4);
	assert_int_equal(f->log.recs[3].time_ns, 4);
	perf_sample(&f->m[0], 11, 12, 0);		/* resumed and paused in between */
	assert_int_equal(perf_drain(f, 0), 7);
	assert_int_equal(f->log.recs[0].time_ns, 5);
	assert_int_equal(f->log.recs[6].time_ns, 11);
}

static void test_refused_memory(_unused_ void **state)
{
	struct ring_reader *rr = ring_reader_new();
	struct perf_mem m = { 0 };
	struct ring_mem mem = { .perf_page = &m.page, .data = m.data, .data_bytes = 1000,
				.sample_type = PERF_SAMPLE_RAW };
	struct ring_opts o = { .kind = RING_PERF, .time_off = -1 };

	assert_int_equal(ring_reader_add_mem(rr, &mem, &o), -EINVAL);	/* not a power of two */
	mem.data_bytes = 1024;
	mem.sample_type = PERF_SAMPLE_RAW | PERF_SAMPLE_IP;
	assert_int_equal(ring_reader_add_mem(rr, &mem, &o), -EINVAL);
	mem.sample_type = PERF_SAMPLE_RAW;
	mem.perf_page = NULL;
	assert_int_equal(ring_reader_add_mem(rr, &mem, &o), -EINVAL);
	mem.perf_page = &m.page;
	o.kind = RING__MAX;
	assert_int_equal(ring_reader_add_mem(rr, &mem, &o), -EINVAL);
	o.kind = RING_PERF;
	assert_int_equal(ring_reader_add_mem(rr, &mem, &o), 0);
	ring_reader_free(rr);
	ring_reader_free(NULL);
}

#define PERF_TEST(t) cmocka_unit_test_setup_teardown(t, perf_setup, perf_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PERF_TEST(test_perf_wrap_and_torn),
		PERF_TEST(test_perf_lost_and_unknown),
		PERF_TEST(test_perf_lost_in_order),
		PERF_TEST(test_perf_bad_sizes),
		PERF_TEST(test_perf_cpu_holes),
		PERF_TEST(test_backward_before_wrap),
		PERF_TEST(test_backward_overwritten),
		PERF_TEST(test_backward_budget),
		cmocka_unit_test(test_refused_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
