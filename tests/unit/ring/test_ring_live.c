// SPDX-License-Identifier: GPL-2.0-or-later
/* The reader, the producers' helpers and the probe environment on this kernel. Needs rights to load BPF. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/macros.h"
#include "probe/env.h"
#include "ring/cpulist.h"
#include "ring/perf_rings.h"
#include "ring/ring.h"
#include "tests/bpf/load.h"
#include "tests/bpf/load_wire.h"

#define INSTANCE 5
#define SKIPPED 77
#define WAKEUP_TIMEOUT_MS 10000

struct live {
	struct probe_env *env;
	struct load *load;
	struct ring_reader *rr;
	struct err err;
};

static void open_live(struct live *l, const struct probe_env_opts *o)
{
	memset(l, 0, sizeof(*l));
	if (probe_env_new(o, &l->env, &l->err) < 0)
		fail_msg("%s", l->err.msg);
	l->rr = probe_env_reader(l->env);
	if (load_open(l->env, INSTANCE, 65536, &l->load, &l->err) < 0)
		fail_msg("%s", l->err.msg);
}

static void close_live(struct live *l)
{
	load_close(l->load);
	probe_env_free(l->env);
}

/* Skips the test if tc programs may not use the helpers of @prog. */
static void need(struct live *l, const char *prog)
{
	if (load_has(l->load, prog))
		return;
	print_message("skipped: %s needs a later kernel\n", prog);
	close_live(l);
	skip();
}

static unsigned first_cpus(uint32_t *cpus, unsigned cap)
{
	uint32_t *online;
	int n = cpulist_read("/sys/devices/system/cpu/online", &online);

	assert_true(n > 0);
	for (unsigned i = 0; i < cap && i < (unsigned)n; i++)
		cpus[i] = online[i];
	free(online);
	return MIN(cap, (unsigned)n);
}

static void run_on(unsigned cpu, const struct bpf_program *prog, unsigned times)
{
	assert_int_equal(load_pin(cpu), 0);
	assert_int_equal(load_run(prog, times, NULL, NULL), 0);
}

/* ---- records of the helpers ---- */

struct tally {
	uint64_t n, last_ns, backwards, life, holes;
	uint64_t last_seq[2], last_number[2];	/* by CPU, the first two */
	uint64_t wrong;
};

static int tally(void *ctx, const struct ring_rec *rec)
{
	const struct load_rec *r = rec->data;
	struct tally *t = ctx;
	unsigned cpu = rec->cpu & 1;

	t->n++;
	t->backwards += rec->time_ns < t->last_ns;
	t->last_ns = rec->time_ns;
	t->wrong += r->hdr.len > rec->len || r->hdr.type != LOAD_REC || r->hdr.cpu != rec->cpu ||
		    r->hdr.instance != INSTANCE || (r->hdr.flags & SONDE_RF_CLASS) != LOAD_CLASS ||
		    r->hdr.ts_ns != rec->time_ns;
	t->holes += r->hdr.seq - t->last_seq[cpu] - 1;
	t->last_seq[cpu] = r->hdr.seq;
	t->last_number[cpu] = r->number;
	return 0;
}

static uint64_t lost_of(const struct sonde_ledger *l)
{
	uint64_t sum = 0;

	for (int i = 0; i < SONDE_LOST__MAX; i++)
		sum += l->lost[i];
	return sum;
}

static void test_records(_unused_ void **state)
{
	const struct probe_env_opts o = { .ring_bytes = 65536 };
	struct sonde_ledger ledger;
	struct tally t = { 0 };
	uint32_t cpus[2];
	struct live l;
	unsigned n = first_cpus(cpus, 2);

	open_live(&l, &o);
	for (unsigned round = 0; round < 4; round++)
		for (unsigned i = 0; i < n; i++)
			run_on(cpus[i], load_prog(l.load, "load_keys"), 50);
	assert_int_equal(ring_reader_drain(l.rr, 0, tally, &t), 200 * n);
	assert_int_equal(t.wrong, 0);
	assert_int_equal(t.backwards, 0);	/* merged: the rounds were interleaved over CPUs */
	assert_int_equal(t.holes, 0);
	assert_int_equal(probe_env_ledger(l.env, INSTANCE, &ledger), 0);
	assert_int_equal(ledger.seen, 200 * n);
	assert_int_equal(ledger.delivered, 200 * n);
	assert_int_equal(probe_env_ledger(l.env, INSTANCE + 1, &ledger), 0);
	assert_int_equal(ledger.seen, 0);
	close_live(&l);
}

static int check_self(void *ctx, const struct ring_rec *rec)
{
	const struct load_rec *r = rec->data;

	*(unsigned *)ctx += r->hdr.tgid == (uint32_t)getpid() && r->hdr.tid == (uint32_t)gettid() &&
			    r->hdr.start_ns && r->hdr.start_ns < r->hdr.ts_ns;
	return 0;
}

static void test_keys_of_the_task(_unused_ void **state)
{
	const struct probe_env_opts o = { 0 };
	unsigned good = 0;
	struct live l;

	open_live(&l, &o);
	need(&l, "load_task");
	assert_int_equal(load_run(load_prog(l.load, "load_task"), 10, NULL, NULL), 0);
	assert_int_equal(ring_reader_drain(l.rr, 0, check_self, &good), 10);
	assert_int_equal(good, 10);
	close_live(&l);
}

static void test_full_ring(_unused_ void **state)
{
	const struct probe_env_opts o = { .ring_bytes = 4096 };
	struct sonde_ledger ledger;
	struct tally t = { 0 };
	struct live l;
	uint32_t cpu;

	first_cpus(&cpu, 1);
	open_live(&l, &o);
	run_on(cpu, load_prog(l.load, "load_keys"), 1000);
	assert_int_equal(ring_reader_fill_pct(l.rr), 98);	/* 56 records of 72 bytes in 4096 */
	assert_int_equal(ring_reader_drain(l.rr, 0, tally, &t), 56);
	run_on(cpu, load_prog(l.load, "load_keys"), 1);
	assert_int_equal(ring_reader_drain(l.rr, 0, tally, &t), 1);
	assert_int_equal(probe_env_ledger(l.env, INSTANCE, &ledger), 0);
	assert_int_equal(ledger.seen, 1001);
	assert_int_equal(ledger.delivered, 57);
	assert_int_equal(ledger.lost[SONDE_LOST_RING_FULL], 944);
	assert_int_equal(t.holes, 944);		/* the sequence shows what the ledger counts */
	assert_int_equal(t.wrong, 0);
	close_live(&l);
}

static void test_mixed_adds_up(_unused_ void **state)
{
	const struct probe_env_opts o = { .ring_bytes = 65536, .life_ring_bytes = 65536 };
	struct ring_stats stats;
	struct sonde_ledger a;
	struct tally t = { 0 };
	struct live l;
	uint32_t cpu;

	first_cpus(&cpu, 1);
	open_live(&l, &o);
	run_on(cpu, load_prog(l.load, "load_mixed"), 1600);	/* numbers from 1: 100 of each way */
	while (ring_reader_drain(l.rr, 100, tally, &t) > 0)
		;
	assert_int_equal(probe_env_ledger(l.env, INSTANCE, &a), 0);
	ring_reader_stats(l.rr, &stats);
	assert_int_equal(a.seen, 1600);
	assert_int_equal(a.filtered, 100);
	assert_int_equal(a.sampled, 100);
	assert_int_equal(a.seen, a.delivered + a.filtered + a.sampled + lost_of(&a));
	assert_int_equal(t.n, a.delivered);
	assert_int_equal(stats.records, a.delivered);
	assert_int_equal(stats.discarded, a.lost[SONDE_LOST_COPY]);
	assert_int_equal(t.wrong, 0);
	close_live(&l);
}

static bool is_readable(const struct ring_reader *rr)
{
	struct pollfd p = { .fd = ring_reader_fd(rr), .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static void await_readable(const struct ring_reader *rr)
{
	struct pollfd p = { .fd = ring_reader_fd(rr), .events = POLLIN };

	assert_int_equal(poll(&p, 1, WAKEUP_TIMEOUT_MS), 1);
}

static void test_wakes_when_filling(_unused_ void **state)
{
	const struct probe_env_opts o = { .ring_bytes = 65536, .wakeup_pct = 50 };
	struct tally t = { 0 };
	struct live l;
	uint32_t cpu;

	first_cpus(&cpu, 1);
	open_live(&l, &o);
	run_on(cpu, load_prog(l.load, "load_keys"), 400);	/* 28800 of 65536 bytes */
	assert_false(is_readable(l.rr));
	run_on(cpu, load_prog(l.load, "load_keys"), 300);	/* 50400 */
	await_readable(l.rr);
	assert_int_equal(ring_reader_drain(l.rr, 0, tally, &t), 700);
	assert_false(is_readable(l.rr));
	close_live(&l);
}

/* ---- selection and exclusion ---- */

static uint32_t value_of(const struct bpf_program *prog)
{
	uint32_t value = 99;

	assert_int_equal(load_run(prog, 1, NULL, &value), 0);
	return value;
}

static void *ask_in_child(void *arg)
{
	struct live *l = arg;
	int pipes[2];
	uint32_t value = 99;

	assert_int_equal(pipe(pipes), 0);
	if (!fork()) {
		load_run(load_prog(l->load, "load_selected"), 1, NULL, &value);
		if (write(pipes[1], &value, sizeof(value)) < 0)
			_exit(1);
		_exit(0);
	}
	assert_int_equal(read(pipes[0], &value, sizeof(value)), sizeof(value));
	close(pipes[0]);
	close(pipes[1]);
	return (void *)(uintptr_t)value;
}

static void test_own_process_is_excluded(_unused_ void **state)
{
	const struct probe_env_opts o = { 0 };
	struct live l;

	open_live(&l, &o);
	need(&l, "load_selected");
	assert_int_equal(value_of(load_prog(l.load, "load_selected")), 0);
	assert_ptr_equal(ask_in_child(&l), (void *)1);
	assert_int_equal(value_of(load_prog(l.load, "load_owner_selected")), 1);
	close_live(&l);
}

static void check_owner(const struct probe_select *s, uint32_t expected)
{
	const struct probe_env_opts o = { .select = *s };
	struct live l;

	open_live(&l, &o);
	assert_int_equal(value_of(load_prog(l.load, "load_owner_selected")), expected);
	close_live(&l);
}

static void test_selection(_unused_ void **state)
{
	static const uint32_t pids[] = { 1, LOAD_PID }, other_pids[] = { LOAD_PID + 1 };
	static const uint64_t cgroups[] = { LOAD_CGROUP }, other_cgroups[] = { 1, 2, 3 };
	static const uint32_t netns[] = { LOAD_NETNS }, other_netns[] = { 5 };
	static const char *const comms[] = { "unwanted", "wanted" }, *const other_comms[] = { "wante", "wanted1" };

	check_owner(&(struct probe_select){ .pids = pids, .n_pids = 2 }, 1);
	check_owner(&(struct probe_select){ .pids = other_pids, .n_pids = 1 }, 0);
	check_owner(&(struct probe_select){ .comms = comms, .n_comms = 2 }, 1);
	check_owner(&(struct probe_select){ .comms = other_comms, .n_comms = 2 }, 0);
	check_owner(&(struct probe_select){ .cgroups = cgroups, .n_cgroups = 1 }, 1);
	check_owner(&(struct probe_select){ .cgroups = other_cgroups, .n_cgroups = 3 }, 0);
	check_owner(&(struct probe_select){ .netns = netns, .n_netns = 1 }, 1);
	check_owner(&(struct probe_select){ .netns = other_netns, .n_netns = 1 }, 0);
	check_owner(&(struct probe_select){ .pids = pids, .n_pids = 2, .comms = other_comms, .n_comms = 2 }, 0);
}

/* ---- sharing ---- */

static void test_two_objects_share(_unused_ void **state)
{
	const struct probe_env_opts o = { 0 };
	struct sonde_ledger a, b;
	struct load *second;
	struct tally t = { 0 };
	struct live l;

	open_live(&l, &o);
	assert_int_equal(load_open(l.env, INSTANCE + 1, 4096, &second, &l.err), 0);
	assert_int_equal(load_run(load_prog(l.load, "load_keys"), 3, NULL, NULL), 0);
	assert_int_equal(load_run(load_prog(second, "load_keys"), 4, NULL, NULL), 0);
	assert_int_equal(ring_reader_drain(l.rr, 0, tally, &t), 7);	/* one set of rings */
	assert_int_equal(probe_env_ledger(l.env, INSTANCE, &a), 0);
	assert_int_equal(probe_env_ledger(l.env, INSTANCE + 1, &b), 0);	/* two rows */
	assert_int_equal(a.delivered, 3);
	assert_int_equal(b.delivered, 4);
	assert_true(probe_env_shared_map(l.env, "sonde_excluded") >= 0);
	assert_int_equal(probe_env_shared_map(l.env, "sonde_nothing"), -ENOENT);
	load_close(second);
	close_live(&l);
}

/* ---- perf event arrays ---- */

struct perf_live {
	struct live l;
	struct ring_reader *rr;
	struct perf_rings *rings;
	uint32_t cpu;
};

static void open_perf(struct perf_live *p, const struct perf_rings_opts *o)
{
	const struct probe_env_opts env = { 0 };

	open_live(&p->l, &env);
	p->rr = ring_reader_new();
	first_cpus(&p->cpu, 1);
	assert_int_equal(load_pin(p->cpu), 0);
	if (perf_rings_open(load_map(p->l.load, "load_perf"), o, p->rr, &p->rings, &p->l.err) < 0)
		fail_msg("%s", p->l.err.msg);
}

static void close_perf(struct perf_live *p)
{
	perf_rings_close(p->rings);
	ring_reader_free(p->rr);
	close_live(&p->l);
}

struct perf_tally { uint64_t n, lost, first, last, wrong, last_ns; uint32_t cpu; };

static int perf_tally(void *ctx, const struct ring_rec *rec)
{
	const struct load_rec *r = rec->data;
	struct perf_tally *t = ctx;

	t->lost += rec->lost;
	if (!r)
		return 0;
	if (!t->n++)
		t->first = r->number;
	else
		t->wrong += t->lost ? r->number <= t->last : r->number != t->last + 1;
	t->wrong += rec->len != 68 || r->hdr.type != LOAD_REC || rec->time_ns < t->last_ns || rec->cpu != t->cpu;
	t->last = r->number;
	t->last_ns = rec->time_ns;
	return 0;
}

static void test_perf_forward(_unused_ void **state)
{
	const struct perf_rings_opts o = { .ring_bytes = 8192, .watermark_bytes = 1024, .with_time = true };
	struct perf_live p;
	struct perf_tally t = { 0 };
	uint64_t before = clock_boot_ns();

	open_perf(&p, &o);
	t.cpu = p.cpu;
	assert_int_equal(perf_rings_refresh(p.rings, &p.l.err), 0);
	for (unsigned round = 0; round < 30; round++) {	/* 50 x 88 bytes: wraps with torn records */
		run_on(p.cpu, load_prog(p.l.load, "load_perf_output"), 50);
		await_readable(p.rr);
		assert_int_equal(ring_reader_drain(p.rr, 0, perf_tally, &t), 50);
	}
	assert_int_equal(t.n, 1500);
	assert_int_equal(t.first, 1);
	assert_int_equal(t.wrong, 0);
	assert_true(t.last_ns > before && t.last_ns < clock_boot_ns());	/* CLOCK_BOOTTIME */
	close_perf(&p);
}

static void test_perf_lost(_unused_ void **state)
{
	const struct perf_rings_opts o = { .ring_bytes = 8192, .with_time = true };
	struct perf_live p;
	struct perf_tally t = { 0 };
	struct ring_stats stats;

	open_perf(&p, &o);
	t.cpu = p.cpu;
	run_on(p.cpu, load_prog(p.l.load, "load_perf_output"), 500);
	while (ring_reader_drain(p.rr, 0, perf_tally, &t) > 0)
		;
	run_on(p.cpu, load_prog(p.l.load, "load_perf_output"), 1);	/* loss is reported with the next sample */
	while (ring_reader_drain(p.rr, 0, perf_tally, &t) > 0)
		;
	ring_reader_stats(p.rr, &stats);
	assert_true(t.lost > 0);
	assert_int_equal(t.n + t.lost, 501);
	assert_int_equal(stats.lost, t.lost);
	assert_int_equal(stats.records, t.n);
	assert_int_equal(t.wrong, 0);
	close_perf(&p);
}

static void test_perf_pause(_unused_ void **state)
{
	const struct perf_rings_opts o = { .ring_bytes = 8192, .wakeup_events = 1 };
	struct perf_live p;
	struct perf_tally t = { 0 };

	open_perf(&p, &o);
	t.cpu = p.cpu;
	assert_int_equal(value_of(load_prog(p.l.load, "load_perf_output")), 0);
	assert_int_equal(perf_rings_pause(p.rings, true), 0);
	assert_int_not_equal(value_of(load_prog(p.l.load, "load_perf_output")), 0);
	assert_int_equal(perf_rings_pause(p.rings, false), 0);
	assert_int_equal(value_of(load_prog(p.l.load, "load_perf_output")), 0);
	while (ring_reader_drain(p.rr, 0, perf_tally, &t) > 0)
		;
	assert_int_equal(t.n, 2);
	assert_int_equal(t.last, 3);
	close_perf(&p);
}

static void test_perf_overwritable(_unused_ void **state)
{
	const struct perf_rings_opts o = { .ring_bytes = 8192, .overwritable = true, .with_time = true };
	struct perf_live p;
	struct perf_tally t = { 0 };
	int n;

	open_perf(&p, &o);
	t.cpu = p.cpu;
	for (unsigned round = 1; round <= 3; round++) {
		run_on(p.cpu, load_prog(p.l.load, "load_perf_output"), 1000);
		assert_int_equal(ring_reader_drain(p.rr, 0, perf_tally, &t), 0);	/* not paused */
		assert_int_equal(perf_rings_pause(p.rings, true), 0);
		t.n = 0;
		n = ring_reader_drain(p.rr, 0, perf_tally, &t);
		assert_int_equal(n, 8192 / 88);	/* as many as the ring holds, oldest first, up to the newest */
		assert_int_equal(t.last, round * 1000);
		assert_int_equal(t.first, round * 1000 - (unsigned)n + 1);
		assert_int_equal(ring_reader_drain(p.rr, 0, perf_tally, &t), 0);
		assert_int_equal(perf_rings_pause(p.rings, false), 0);
	}
	run_on(p.cpu, load_prog(p.l.load, "load_perf_output"), 5);	/* less than a ring: only the new records */
	assert_int_equal(perf_rings_pause(p.rings, true), 0);
	t.n = 0;
	assert_int_equal(ring_reader_drain(p.rr, 0, perf_tally, &t), 5);
	assert_int_equal(t.first, 3001);
	assert_int_equal(t.wrong, 0);
	close_perf(&p);
}

static void refuse(int map_fd, const struct perf_rings_opts *o, const char *word)
{
	struct ring_reader *rr = ring_reader_new();
	struct perf_rings *rings = NULL;
	struct err err = { 0 };

	assert_int_equal(perf_rings_open(map_fd, o, rr, &rings, &err), -EINVAL);
	assert_null(rings);
	if (!strstr(err.msg, word))
		fail_msg("'%s' says nothing of '%s'", err.msg, word);
	ring_reader_free(rr);
}

static void test_perf_refused(_unused_ void **state)
{
	const struct probe_env_opts env = { 0 };
	struct live l;
	int fd;

	open_live(&l, &env);
	fd = load_map(l.load, "load_perf");
	refuse(fd, &(struct perf_rings_opts){ .ring_bytes = 8192, .watermark_bytes = 9, .wakeup_events = 1 }, "both");
	refuse(fd, &(struct perf_rings_opts){ .ring_bytes = 8192, .watermark_bytes = 8192 }, "below");
	refuse(fd, &(struct perf_rings_opts){ 0 }, "size");
	refuse(load_map(l.load, "load_ring"), &(struct perf_rings_opts){ .ring_bytes = 8192 }, "event array");
	assert_int_equal(ring_reader_add_bpf(l.rr, fd, &(struct ring_opts){ .kind = RING_BPF }, &l.err), -EINVAL);
	close_live(&l);
}

/* Closing removes the rings from the reader; their counts stay. */
static void test_perf_close_early(_unused_ void **state)
{
	const struct perf_rings_opts o = { .ring_bytes = 8192 };
	struct perf_live p;
	struct perf_tally t = { 0 };
	struct ring_stats stats;

	open_perf(&p, &o);
	t.cpu = p.cpu;
	run_on(p.cpu, load_prog(p.l.load, "load_perf_output"), 7);
	assert_int_equal(ring_reader_drain(p.rr, 3, perf_tally, &t), 3);
	perf_rings_close(p.rings);
	p.rings = NULL;
	assert_int_equal(ring_reader_drain(p.rr, 0, perf_tally, &t), 0);
	ring_reader_stats(p.rr, &stats);
	assert_int_equal(stats.records, 3);
	assert_false(is_readable(p.rr));	/* although the map still holds the events */
	close_perf(&p);
}

/* ---- CPU hotplug ---- */

static void set_online(uint32_t cpu, bool on)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/online", cpu);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(on ? "1" : "0", f);
	assert_int_equal(fclose(f), 0);
}

/* Only on request (SONDE_TEST_HOTPLUG=1 in a guest): it takes a CPU from the whole machine. */
static void test_perf_hotplug(_unused_ void **state)
{
	const struct perf_rings_opts o = { .ring_bytes = 8192, .with_time = true };
	struct perf_live p;
	struct perf_tally t = { 0 };
	uint32_t cpus[2];

	if (!getenv("SONDE_TEST_HOTPLUG") || first_cpus(cpus, 2) < 2)
		skip();
	open_perf(&p, &o);
	t.cpu = cpus[1];
	set_online(cpus[1], false);
	assert_int_equal(ring_reader_drain(p.rr, 0, perf_tally, &t), 0);
	assert_int_equal(perf_rings_refresh(p.rings, &p.l.err), 0);
	set_online(cpus[1], true);
	assert_int_equal(perf_rings_refresh(p.rings, &p.l.err), 1);
	run_on(cpus[1], load_prog(p.l.load, "load_perf_output"), 3);
	assert_int_equal(ring_reader_drain(p.rr, 0, perf_tally, &t), 3);
	assert_int_equal(t.wrong, 0);
	close_perf(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_keys_of_the_task),
		cmocka_unit_test(test_full_ring),
		cmocka_unit_test(test_mixed_adds_up),
		cmocka_unit_test(test_wakes_when_filling),
		cmocka_unit_test(test_own_process_is_excluded),
		cmocka_unit_test(test_selection),
		cmocka_unit_test(test_two_objects_share),
		cmocka_unit_test(test_perf_forward),
		cmocka_unit_test(test_perf_lost),
		cmocka_unit_test(test_perf_pause),
		cmocka_unit_test(test_perf_overwritable),
		cmocka_unit_test(test_perf_refused),
		cmocka_unit_test(test_perf_close_early),
		cmocka_unit_test(test_perf_hotplug),
	};
	const struct probe_env_opts o = { .ring_bytes = 4096, .life_ring_bytes = 4096 };
	struct probe_env *env = NULL;
	struct err err = { 0 };
	int r = probe_env_new(&o, &env, &err);

	probe_env_free(env);
	if (r == -EPERM || r == -EACCES) {
		fprintf(stderr, "skipped: %s\n", err.msg);
		return SKIPPED;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
