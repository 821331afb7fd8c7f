// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The ledger under load: producers on all CPUs at half, once and four times what the reader can take. At the
 * end every event must be in exactly one column, and what the kernel counts as delivered must have been read.
 *
 *	ledger [--events N]	events per rate, default 5,000,000
 *
 * The reader is slowed to a fixed share (a budget, then a nap), so that "what it can take" is a figure of this
 * program and not of the machine; the figure is measured first, with the rings always full.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "probe/env.h"
#include "ring/cpulist.h"
#include "ring/ring.h"
#include "tests/bench/programs/bench.h"
#include "tests/bpf/load.h"
#include "tests/bpf/load_wire.h"

#define BUDGET 1024		/* records per turn of the reader */
#define NAP_NS 1500000		/* between turns */
#define SLICE 256		/* events per test-run, at most */
#define WAYS 16			/* of load_mixed */
#define WAYS_IN_RING 14		/* those that end in a ring: 13 delivered, 1 given back */
#define SKIPPED 77

struct producer {
	const struct bpf_program *prog;
	uint32_t cpu;
	uint64_t events;	/* to make */
	double per_ns;		/* 0 = as fast as it goes */
	uint64_t made;
	bool stop;
};

struct reading { uint64_t read, wrong, last_number; };

static void nap(long ns)
{
	const struct timespec t = { .tv_nsec = ns };

	nanosleep(&t, NULL);
}

static void *produce(void *arg)
{
	struct producer *p = arg;
	uint64_t start = clock_boot_ns();

	if (load_pin(p->cpu) < 0)
		bench_die("cannot pin a thread");
	while (p->made < p->events && !__atomic_load_n(&p->stop, __ATOMIC_RELAXED)) {
		uint64_t due = p->per_ns ? (uint64_t)((double)(clock_boot_ns() - start) * p->per_ns) : UINT64_MAX;
		uint64_t until = MIN(p->events, due);
		unsigned n = until <= p->made ? 0 : (unsigned)MIN(until - p->made, (uint64_t)SLICE);

		if (!n) {
			nap(100000);
			continue;
		}
		if (load_run(p->prog, n, NULL, NULL) < 0)
			bench_die("cannot run the producer");
		p->made += n;
	}
	return NULL;
}

static int take(void *ctx, const struct ring_rec *rec)
{
	const struct load_rec *r = rec->data;
	struct reading *t = ctx;

	t->read++;
	t->wrong += rec->len < LOAD_SHORT || r->hdr.len != rec->len || r->hdr.cpu != rec->cpu || !r->number;
	return 0;
}

/* ---- a run ---- */

struct run {
	struct producer *producers;
	pthread_t *threads;
	unsigned n;
};

static void start_all(struct run *r, const struct bpf_program *prog, const uint32_t *cpus, uint64_t events,
		      double per_ns)
{
	for (unsigned i = 0; i < r->n; i++) {
		r->producers[i] = (struct producer){
			.prog = prog, .cpu = cpus[i], .events = events / r->n, .per_ns = per_ns / r->n,
		};
		pthread_create(&r->threads[i], NULL, produce, &r->producers[i]);
	}
}

static bool all_made(const struct run *r)
{
	for (unsigned i = 0; i < r->n; i++)
		if (__atomic_load_n(&r->producers[i].made, __ATOMIC_RELAXED) < r->producers[i].events)
			return false;
	return true;
}

static uint64_t join_all(struct run *r)
{
	uint64_t made = 0;

	for (unsigned i = 0; i < r->n; i++) {
		__atomic_store_n(&r->producers[i].stop, true, __ATOMIC_RELAXED);
		pthread_join(r->threads[i], NULL);
		made += r->producers[i].made;
	}
	return made;
}

static void drain_all(struct ring_reader *rr, struct reading *t)
{
	while (ring_reader_drain(rr, 0, take, t) > 0)
		;
}

/* Records per second of the slowed reader when the rings never run empty. */
static double measure_reader(struct run *r, struct ring_reader *rr, const struct bpf_program *prog,
			     const uint32_t *cpus)
{
	struct reading t = { 0 };
	uint64_t start, ns;

	start_all(r, prog, cpus, UINT64_MAX / 2, 0);
	nap(20000000);
	start = clock_boot_ns();
	for (unsigned turn = 0; turn < 400; turn++) {
		ring_reader_drain(rr, BUDGET, take, &t);
		nap(NAP_NS);
	}
	ns = clock_boot_ns() - start;
	join_all(r);
	drain_all(rr, &(struct reading){ 0 });
	return (double)t.read * NS_PER_S / (double)ns;
}

static struct sonde_ledger ledger_of(struct probe_env *env)
{
	struct sonde_ledger l;

	if (probe_env_ledger(env, 0, &l) < 0)
		bench_die("cannot read the ledger");
	return l;
}

static struct sonde_ledger since(const struct sonde_ledger *now, const struct sonde_ledger *then)
{
	struct sonde_ledger d = {
		.seen = now->seen - then->seen, .delivered = now->delivered - then->delivered,
		.filtered = now->filtered - then->filtered, .sampled = now->sampled - then->sampled,
	};

	for (int i = 0; i < SONDE_LOST__MAX; i++)
		d.lost[i] = now->lost[i] - then->lost[i];
	return d;
}

static bool closes(const struct sonde_ledger *l, uint64_t made, const struct reading *t, uint64_t discarded)
{
	uint64_t lost = 0;

	for (int i = 0; i < SONDE_LOST__MAX; i++)
		lost += l->lost[i];
	return l->seen == made && l->seen == l->delivered + l->filtered + l->sampled + lost &&
	       l->delivered == t->read && l->lost[SONDE_LOST_COPY] == discarded && !t->wrong;
}

/* Returns whether the sums close. */
static bool run_at(double factor, struct run *r, struct probe_env *env, const struct bpf_program *prog,
		   const uint32_t *cpus, uint64_t events, double reader_per_s)
{
	struct ring_reader *rr = probe_env_reader(env);
	struct sonde_ledger before = ledger_of(env), after, d;
	struct ring_stats s0, s1;
	struct reading t = { 0 };
	uint64_t start = clock_boot_ns(), made;
	double events_per_s = factor * reader_per_s * WAYS / WAYS_IN_RING, took_s;
	bool ok;

	ring_reader_stats(rr, &s0);
	start_all(r, prog, cpus, events, events_per_s / NS_PER_S);
	while (!all_made(r)) {
		ring_reader_drain(rr, BUDGET, take, &t);
		nap(NAP_NS);
	}
	took_s = (double)(clock_boot_ns() - start) / NS_PER_S;
	made = join_all(r);
	drain_all(rr, &t);
	ring_reader_stats(rr, &s1);
	after = ledger_of(env);
	d = since(&after, &before);
	ok = closes(&d, made, &t, s1.discarded - s0.discarded);
	printf("note\t%.1fx (in fact %.1fx): seen %llu = delivered %llu + filtered %llu + sampled %llu + "
	       "ring full %llu + given back %llu; read %llu\n", factor, factor * (double)made / took_s / events_per_s,
	       (unsigned long long)d.seen, (unsigned long long)d.delivered, (unsigned long long)d.filtered,
	       (unsigned long long)d.sampled, (unsigned long long)d.lost[SONDE_LOST_RING_FULL],
	       (unsigned long long)d.lost[SONDE_LOST_COPY], (unsigned long long)t.read);
	printf("check\tledger at %.1fx of the reader's rate\t%s\n", factor, ok ? "exact" : "WRONG");
	return ok;
}

static uint64_t events_wanted(int argc, char **argv)
{
	uint64_t n = 5000000;

	if (argc == 3 && !strcmp(argv[1], "--events") && str_to_u64(argv[2], 10, &n) == 0 && n)
		return n;
	if (argc != 1)
		bench_die("usage: ledger [--events N]");
	return n;
}

int main(int argc, char **argv)
{
	static const double factors[] = { 0.5, 1, 4 };
	const struct probe_env_opts o = { .ring_bytes = 256 << 10, .life_ring_bytes = 64 << 10 };
	uint64_t events = events_wanted(argc, argv);
	struct probe_env *env = NULL;
	struct load *load = NULL;
	struct err err = { 0 };
	struct run r = { 0 };
	uint32_t *cpus;
	bool ok = true;
	double rate;
	int n = cpulist_read("/sys/devices/system/cpu/online", &cpus), ret = probe_env_new(&o, &env, &err);

	if (ret == -EPERM || ret == -EACCES) {
		fprintf(stderr, "skipped: %s\n", err.msg);
		return SKIPPED;
	}
	if (n < 1 || ret < 0 || load_open(env, 0, 4096, &load, &err) < 0)
		bench_die(err.msg);
	r.n = (unsigned)n;
	r.producers = calloc(r.n, sizeof(*r.producers));
	r.threads = calloc(r.n, sizeof(*r.threads));
	if (!r.producers || !r.threads)
		bench_die("no memory");
	rate = measure_reader(&r, probe_env_reader(env), load_prog(load, "load_mixed"), cpus);
	bench_figure("the slowed reader takes", rate / 1e6, "million records/s");
	for (size_t i = 0; i < ARRAY_SIZE(factors); i++)
		ok &= run_at(factors[i], &r, env, load_prog(load, "load_mixed"), cpus, events, rate);
	load_close(load);
	probe_env_free(env);
	free(r.producers);
	free(r.threads);
	free(cpus);
	return ok ? 0 : 1;
}
