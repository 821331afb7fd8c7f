// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Producing: a record by the helpers of bpf/ring.bpf.h (ledger, ring of this CPU, wake-up by fill) against bare
 * reserve and submit of the same 64 bytes into one ring without wake-ups, each over an empty program; the
 * kernel's own time of test-runs. Then two producers at once, on two CPUs.
 */
#include <pthread.h>

#include "base/err.h"
#include "base/macros.h"
#include "probe/env.h"
#include "ring/cpulist.h"
#include "ring/ring.h"
#include "tests/bench/programs/bench.h"
#include "tests/bpf/load.h"

#define RING_BYTES (1u << 20)
#define RUNS 14000		/* of 72 bytes each: fits the ring */
#define ROUNDS 61

enum what { EMPTY, BARE, BARE_KEYS, BARE_TASK, KEYS, TASK, WHAT__MAX };

static const char *const programs[] = {
	[EMPTY] = "load_empty", [BARE] = "load_bare", [BARE_KEYS] = "load_bare_keys", [BARE_TASK] = "load_bare_task",
	[KEYS] = "load_keys", [TASK] = "load_task",
};
_Static_assert(ARRAY_SIZE(programs) == WHAT__MAX, "one program each");

struct bench {
	const struct bpf_program *prog[WHAT__MAX];
	struct ring_reader *ours, *shared;
	uint64_t records;
};

static int count(void *ctx, _unused_ const struct ring_rec *rec)
{
	++*(uint64_t *)ctx;
	return 0;
}

static void empty_rings(struct bench *b)
{
	while (ring_reader_drain(b->ours, 0, count, &b->records) > 0)
		;
	while (ring_reader_drain(b->shared, 0, count, &b->records) > 0)
		;
}

static double run_once(const struct bpf_program *prog, unsigned runs)
{
	uint32_t ns, value;

	if (load_run(prog, runs, &ns, &value) < 0)
		bench_die("cannot run the producer");
	if (value)
		bench_die("a ring was full: the figures mean nothing");
	return ns;
}

/* ---- one producer ---- */

static void one_producer(struct bench *b)
{
	double ns[WHAT__MAX][ROUNDS];
	double empty, bare_keys, bare_task, keys, task;

	for (unsigned i = 0; i < ROUNDS; i++) {
		for (int w = 0; w < WHAT__MAX; w++) {
			ns[w][i] = run_once(b->prog[w], RUNS);
			empty_rings(b);
		}
	}
	if (b->records != (uint64_t)ROUNDS * RUNS * (WHAT__MAX - 1))
		bench_die("records are missing: the figures mean nothing");
	empty = bench_median(ns[EMPTY], ROUNDS);
	bare_keys = bench_median(ns[BARE_KEYS], ROUNDS) - empty;
	bare_task = bench_median(ns[BARE_TASK], ROUNDS) - empty;
	keys = bench_median(ns[KEYS], ROUNDS) - empty;
	task = bench_median(ns[TASK], ROUNDS) - empty;
	bench_figure("empty program", empty, "ns");
	bench_figure("bare, one word", bench_median(ns[BARE], ROUNDS) - empty, "ns/record more");
	bench_figure("bare, record header", bare_keys, "ns/record more");
	bench_figure("helpers, record header", keys, "ns/record more");
	bench_figure("bare, header with the task's keys", bare_task, "ns/record more");
	bench_figure("helpers, header with the task's keys", task, "ns/record more");
	bench_at_most("producer cost, one producer", keys / bare_keys, 1.5);
	bench_at_most("producer cost, one producer, task's keys", task / bare_task, 1.5);
}

/* ---- two ---- */

struct worker {
	const struct bpf_program *prog;
	pthread_barrier_t *start;
	uint32_t cpu;
	double ns;
};

static void *work(void *arg)
{
	struct worker *w = arg;

	if (load_pin(w->cpu) < 0)
		bench_die("cannot pin a thread");
	pthread_barrier_wait(w->start);
	w->ns = run_once(w->prog, RUNS / 2);	/* two share the one ring */
	return NULL;
}

static double run_both(const struct bpf_program *prog, const uint32_t cpus[static 2])
{
	pthread_barrier_t start;
	struct worker w[2];
	pthread_t threads[2];

	pthread_barrier_init(&start, NULL, 2);
	for (int i = 0; i < 2; i++) {
		w[i] = (struct worker){ .prog = prog, .start = &start, .cpu = cpus[i] };
		pthread_create(&threads[i], NULL, work, &w[i]);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&start);
	return (w[0].ns + w[1].ns) / 2;
}

static void two_producers(struct bench *b, const uint32_t cpus[static 2])
{
	static const enum what which[] = { EMPTY, BARE_KEYS, KEYS };
	double ns[ARRAY_SIZE(which)][ROUNDS];
	double empty, bare, ours;

	for (unsigned i = 0; i < ROUNDS; i++) {
		for (size_t k = 0; k < ARRAY_SIZE(which); k++) {
			ns[k][i] = run_both(b->prog[which[k]], cpus);
			empty_rings(b);
		}
	}
	empty = bench_median(ns[0], ROUNDS);
	bare = bench_median(ns[1], ROUNDS) - empty;
	ours = bench_median(ns[2], ROUNDS) - empty;
	bench_figure("two producers, bare, one ring", bare, "ns/record more");
	bench_figure("two producers, helpers, a ring each", ours, "ns/record more");
	bench_at_most("producer cost, two contending", ours / bare, 1.5);
}

int main(void)
{
	const struct probe_env_opts o = { .ring_bytes = RING_BYTES, .life_ring_bytes = 4096 };
	const struct ring_opts ro = { .kind = RING_BPF };
	struct bench b = { 0 };
	struct probe_env *env;
	struct load *load;
	struct err err = { 0 };
	uint32_t *online;
	int n = cpulist_read("/sys/devices/system/cpu/online", &online);

	if (n < 1)
		bench_die("cannot list the CPUs");
	if (probe_env_new(&o, &env, &err) < 0 || load_open(env, 0, RING_BYTES, &load, &err) < 0)
		bench_die(err.msg);
	for (int w = 0; w < WHAT__MAX; w++) {
		b.prog[w] = load_prog(load, programs[w]);
		if (!load_has(load, programs[w]))
			bench_die("this kernel cannot run all the producers");
	}
	b.ours = probe_env_reader(env);
	b.shared = ring_reader_new();
	if (!b.shared || ring_reader_add_bpf(b.shared, load_map(load, "load_ring"), &ro, &err) < 0)
		bench_die(err.msg);
	load_pin(online[0]);
	one_producer(&b);
	if (n > 1)
		two_producers(&b, online);
	else
		printf("note\tone CPU only: nobody to contend with\n");
	ring_reader_free(b.shared);
	load_close(load);
	probe_env_free(env);
	free(online);
	return 0;
}
