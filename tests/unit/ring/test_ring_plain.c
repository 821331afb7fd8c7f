// SPDX-License-Identifier: GPL-2.0-or-later
/* A plain ring, written as programs write it (bpf/plain.bpf.h), alone and beside a ring buffer of the same CPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "sonde/plain_wire.h"

#include "ring_mem.h"

#define DATA_BYTES 8192u
#define MAP_BYTES (SONDE_PLAIN_HEAD + DATA_BYTES + SONDE_PLAIN_SLACK)
#define MEMBERS 2

struct fixture {
	struct ring_reader *rr;
	int fd;
	uint8_t *at;		/* all rings of the map */
	struct bpf_mem beside;
	struct log log;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->rr = ring_reader_new();
	f->fd = memfd_create("plain", MFD_CLOEXEC);
	f->beside.doubled = true;
	assert_int_equal(ftruncate(f->fd, (off_t)MEMBERS * MAP_BYTES), 0);
	f->at = mmap(NULL, (size_t)MEMBERS * MAP_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
	assert_true(f->at != MAP_FAILED);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	ring_reader_free(f->rr);
	munmap(f->at, (size_t)MEMBERS * MAP_BYTES);
	close(f->fd);
	free(f);
	return 0;
}

static int add(struct fixture *f, unsigned which, uint32_t cpu)
{
	const struct ring_opts o = { .kind = RING_BPF, .cpu = cpu, .source = cpu * 10 };

	return ring_reader_add_mmap(f->rr, f->fd, (size_t)which * MAP_BYTES, DATA_BYTES, &o, NULL);
}

/* False if it is full. */
static bool put(struct fixture *f, unsigned which, uint64_t time_ns, uint32_t len, uint8_t fill)
{
	struct sonde_plain_head *head = (void *)(f->at + (size_t)which * MAP_BYTES);
	uint8_t *rec = (uint8_t *)head + SONDE_PLAIN_HEAD + head->prod % DATA_BYTES;
	uint64_t word = len;

	if (head->prod - head->cons > DATA_BYTES - SONDE_PLAIN_MOST)
		return false;
	memcpy(rec, &word, sizeof(word));
	memset(rec + 8, fill, len);
	memcpy(rec + 8, &time_ns, sizeof(time_ns));
	__atomic_store_n(&head->prod, head->prod + 8 + ROUND_UP(len, 8), __ATOMIC_RELEASE);
	return true;
}

static int take(struct fixture *f)
{
	f->log.n = 0;
	return ring_reader_drain(f->rr, 0, collect, &f->log);
}

static void test_runs_into_the_slack(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(add(f, 1, 3), 0);
	for (unsigned i = 1; i <= 3000; i++) {
		uint32_t len = 9 + i * 37 % 1900;

		assert_true(put(f, 1, i, len, (uint8_t)i));
		assert_int_equal(take(f), 1);
		assert_int_equal(f->log.recs[0].time_ns, i);
		assert_int_equal(f->log.recs[0].len, len);
		assert_int_equal(f->log.recs[0].cpu, 3);
		assert_int_equal(f->log.recs[0].last, (uint8_t)i);
	}
}

static void test_full_and_given_back(void **state)
{
	struct fixture *f = *state;
	unsigned n = 0;

	add(f, 0, 0);
	while (put(f, 0, n + 1, 100, 1))
		n++;
	assert_int_equal(n, (DATA_BYTES - SONDE_PLAIN_MOST) / 112 + 1);
	assert_int_equal(take(f), n);
	assert_true(put(f, 0, n + 1, 100, 1));
}

/* Records of a thread through both rings keep their order, and none is later than the batch. */
static void test_ends_at_now(void **state)
{
	struct fixture *f = *state;
	uint64_t now_ns = clock_boot_ns(), later_ns = now_ns + 3600 * NS_PER_S;

	assert_int_equal(add_bpf(f->rr, &f->beside, 0, false), 0);
	assert_int_equal(add(f, 0, 0), 1);
	bpf_put(&f->beside, 16, now_ns - 3000, 1);
	put(f, 0, now_ns - 2900, 16, 2);
	bpf_put(&f->beside, 16, now_ns - 2800, 3);
	put(f, 0, later_ns, 16, 5);
	assert_true(usleep(10) == 0);
	assert_int_equal(take(f), 3);
	for (uint8_t i = 0; i < 3; i++)
		assert_int_equal(f->log.recs[i].last, i + 1);
	bpf_put(&f->beside, 16, now_ns - 2700, 4);
	assert_int_equal(take(f), 1);
	assert_int_equal(f->log.recs[0].last, 4);
	assert_int_equal(take(f), 0);
}

/* An impossible length ends the ring, not the program. */
static void test_hostile_length(void **state)
{
	struct fixture *f = *state;
	struct sonde_plain_head *head = (void *)f->at;
	struct ring_stats stats;

	add(f, 0, 0);
	memset(f->at + SONDE_PLAIN_HEAD, 0x3f, DATA_BYTES);
	head->prod = DATA_BYTES - 8;
	assert_int_equal(take(f), 0);
	ring_reader_stats(f->rr, &stats);
	assert_int_equal(stats.bad, 1);
	head->prod = 5 * DATA_BYTES;
	assert_int_equal(take(f), 0);
}

static void test_refused(void **state)
{
	struct fixture *f = *state;
	const struct ring_opts o = { .kind = RING_PERF };

	assert_int_equal(ring_reader_add_mmap(f->rr, f->fd, 0, DATA_BYTES, &o, NULL), -EINVAL);
	assert_int_equal(ring_reader_add_mmap(f->rr, f->fd, 0, 1024, &(struct ring_opts){ 0 }, NULL), -EINVAL);
	assert_int_equal(ring_reader_add_mmap(f->rr, f->fd, 0, 3 * 4096, &(struct ring_opts){ 0 }, NULL), -EINVAL);
	assert_true(ring_reader_add_mmap(f->rr, -1, 0, DATA_BYTES, &(struct ring_opts){ 0 }, NULL) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_runs_into_the_slack, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_and_given_back, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ends_at_now, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hostile_length, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
