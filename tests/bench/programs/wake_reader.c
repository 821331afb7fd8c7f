// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The minimum that Cilium's agent does per event: libbpf's perf_buffer with a wake-up per event, and a callback that
 * only counts. Prints the reader's CPU time per million events; tests/bench/listener.py compares with it.
 */
#include <bpf/libbpf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/err.h"
#include "base/macros.h"
#include "probe/env.h"
#include "tests/bench/programs/bench.h"
#include "tests/bpf/load.h"

#define PAGES 64		/* as Cilium's agent has them */
#define BATCH 200		/* test-runs between two looks at the time */

struct reader {
	struct perf_buffer *pb;
	uint64_t events, cpu_ns;
	atomic_bool stop;
};

static void on_sample(void *ctx, _unused_ int cpu, _unused_ void *data, _unused_ uint32_t size)
{
	((struct reader *)ctx)->events++;
}

static void *read_all(void *arg)
{
	struct reader *r = arg;

	while (!atomic_load(&r->stop))
		perf_buffer__poll(r->pb, 10);
	r->cpu_ns = bench_cpu_ns();
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t wanted = argc > 1 ? strtoull(argv[1], NULL, 10) : 50000;
	const struct probe_env_opts o = { .ring_bytes = 1 << 16, .life_ring_bytes = 4096 };
	struct reader r = { 0 };
	struct probe_env *env;
	struct load *load;
	struct err err = { 0 };
	pthread_t thread;

	if (probe_env_new(&o, &env, &err) < 0 || load_open(env, 0, 1 << 16, &load, &err) < 0)
		bench_die(err.msg);
	r.pb = perf_buffer__new(load_map(load, "load_perf"), PAGES, on_sample, NULL, &r, NULL);
	if (!r.pb || pthread_create(&thread, NULL, read_all, &r))
		bench_die("cannot read the perf buffer");
	for (uint64_t n = 0; n < wanted; n += BATCH)
		load_run(load_prog(load, "load_perf_output"), BATCH, NULL, NULL);
	usleep(50000);
	atomic_store(&r.stop, true);
	pthread_join(thread, NULL);
	if (!r.events)
		bench_die("no event came");
	printf("%llu %.3f\n", (unsigned long long)r.events, (double)r.cpu_ns / (double)r.events);
	perf_buffer__free(r.pb);
	load_close(load);
	probe_env_free(env);
	return 0;
}
