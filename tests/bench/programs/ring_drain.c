// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reading: our reader against libbpf's ring_buffer__consume() on the same bytes. Two rings of this kernel are
 * filled once, by two CPUs at the same time where there are two; before each drain the consumer's position is
 * put back, so both read identical data. The callbacks do the same work.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "probe/env.h"
#include "ring/cpulist.h"
#include "ring/ring.h"
#include "tests/bench/programs/bench.h"
#include "tests/bpf/load.h"
#include "tests/bpf/load_wire.h"

#define RING_BYTES (1u << 20)
#define RECORD_BYTES 72		/* with the ring's own header */
#define FILL (RING_BYTES / RECORD_BYTES)
#define ROUNDS 41
#define REPEAT 10		/* drains per round */

struct rings {
	unsigned n;
	int fd[2];
	uint32_t cpu[2];
	struct ring_mem mem[2];
};

struct sum { uint64_t records, numbers, last_ns, backwards, switches; uint32_t last_cpu; };

static int libbpf_callback(void *ctx, void *data, _unused_ size_t len)
{
	const struct load_rec *r = data;
	struct sum *s = ctx;

	s->records++;
	s->numbers += r->number + r->hdr.ts_ns;
	return 0;
}

static int our_callback(void *ctx, const struct ring_rec *rec)
{
	const struct load_rec *r = rec->data;
	struct sum *s = ctx;

	s->records++;
	s->numbers += r->number + r->hdr.ts_ns;
	return 0;
}

static int order_callback(void *ctx, const struct ring_rec *rec)
{
	struct sum *s = ctx;

	s->backwards += rec->time_ns < s->last_ns;
	s->last_ns = rec->time_ns;
	s->switches += rec->cpu != s->last_cpu;
	s->last_cpu = rec->cpu;
	return 0;
}

/* ---- filling ---- */

struct filler { const struct bpf_program *prog; uint32_t cpu; pthread_barrier_t *start; };

static void *fill(void *arg)
{
	const struct filler *f = arg;

	if (load_pin(f->cpu) < 0)
		bench_die("cannot pin a thread");
	pthread_barrier_wait(f->start);
	for (unsigned left = FILL; left; left -= left < 64 ? left : 64)
		if (load_run(f->prog, left < 64 ? left : 64, NULL, NULL) < 0)
			bench_die("cannot run the producer");
	return NULL;
}

static void fill_all(const struct rings *r, const struct bpf_program *prog)
{
	struct filler f[2];
	pthread_t threads[2];
	pthread_barrier_t start;

	pthread_barrier_init(&start, NULL, r->n);
	for (unsigned i = 0; i < r->n; i++) {
		f[i] = (struct filler){ prog, r->cpu[i], &start };
		pthread_create(&threads[i], NULL, fill, &f[i]);
	}
	for (unsigned i = 0; i < r->n; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&start);
}

static int inner_fd(int outer, uint32_t cpu)
{
	uint32_t id;

	return bpf_map_lookup_elem(outer, &cpu, &id) < 0 ? -1 : bpf_map_get_fd_by_id(id);
}

static void map_ring(int fd, struct ring_mem *ret)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *cons = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	char *prod = mmap(NULL, page + 2 * (size_t)RING_BYTES, PROT_READ, MAP_SHARED, fd, (off_t)page);

	if (cons == MAP_FAILED || prod == MAP_FAILED)
		bench_die("cannot map a ring");
	*ret = (struct ring_mem){
		.cons_pos = cons, .prod_pos = (void *)prod, .data = prod + page, .data_bytes = RING_BYTES,
		.doubled = true,
	};
}

static void find_rings(struct rings *r, struct probe_env *env)
{
	int outer = probe_env_shared_map(env, "sonde_rings_bulk");
	uint32_t *online;
	int n = cpulist_read("/sys/devices/system/cpu/online", &online);

	if (n < 1)
		bench_die("cannot list the CPUs");
	r->n = n < 2 ? 1 : 2;
	for (unsigned i = 0; i < r->n; i++) {
		r->cpu[i] = online[i];
		r->fd[i] = inner_fd(outer, online[i]);
		map_ring(r->fd[i], &r->mem[i]);
	}
	free(online);
}

/* ---- the two readers ---- */

static void rewind_rings(const struct rings *r)
{
	for (unsigned i = 0; i < r->n; i++)
		*r->mem[i].cons_pos = 0;
}

static double run_libbpf(const struct rings *r, unsigned n_rings, struct sum *sum)
{
	struct ring_buffer *rb = ring_buffer__new(r->fd[0], libbpf_callback, sum, NULL);
	uint64_t ns = 0;

	if (!rb || (n_rings > 1 && ring_buffer__add(rb, r->fd[1], libbpf_callback, sum) < 0))
		bench_die("libbpf cannot open the rings");
	for (unsigned i = 0; i < REPEAT; i++) {
		uint64_t start;

		rewind_rings(r);
		start = bench_cpu_ns();
		if (ring_buffer__consume(rb) < 0)
			bench_die("libbpf cannot read the rings");
		ns += bench_cpu_ns() - start;
	}
	ring_buffer__free(rb);
	return (double)ns;
}

static double run_ours(const struct rings *r, unsigned n_rings, bool merge, struct sum *sum, ring_fn fn)
{
	uint64_t ns = 0;

	for (unsigned i = 0; i < REPEAT; i++) {
		struct ring_reader *rr = ring_reader_new();
		uint64_t start;

		rewind_rings(r);
		for (unsigned k = 0; rr && k < n_rings; k++) {
			const struct ring_opts o = { .kind = RING_BPF, .cpu = r->cpu[k] };

			if (ring_reader_add_mem(rr, &r->mem[k], &o) < 0)
				bench_die("cannot open the rings");
		}
		ring_reader_set_merge(rr, merge);
		start = bench_cpu_ns();
		if (ring_reader_drain(rr, 0, fn, sum) < 0)
			bench_die("cannot read the rings");
		ns += bench_cpu_ns() - start;
		ring_reader_free(rr);
	}
	return (double)ns;
}

static void compare(const struct rings *r, unsigned n_rings, bool merge, const char *name, double bound)
{
	double ratio[ROUNDS], theirs_ns[ROUNDS], ours_ns[ROUNDS];
	char text[128];

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct sum a = { 0 }, b = { 0 };

		theirs_ns[i] = run_libbpf(r, n_rings, &a);
		ours_ns[i] = run_ours(r, n_rings, merge, &b, our_callback);
		if (a.records != b.records || a.numbers != b.numbers ||
		    a.records != (uint64_t)REPEAT * FILL * n_rings)
			bench_die("the readers do not agree on the data");
		ratio[i] = theirs_ns[i] / ours_ns[i];
		theirs_ns[i] /= (double)a.records;
		ours_ns[i] /= (double)b.records;
	}
	snprintf(text, sizeof(text), "%s, libbpf", name);
	bench_figure(text, bench_median(theirs_ns, ROUNDS), "ns/record");
	snprintf(text, sizeof(text), "%s, sonde", name);
	bench_figure(text, bench_median(ours_ns, ROUNDS), "ns/record");
	snprintf(text, sizeof(text), "%s, speed against libbpf", name);
	bench_at_least(text, bench_median(ratio, ROUNDS), bound);
}

int main(void)
{
	const struct probe_env_opts o = { .ring_bytes = RING_BYTES, .life_ring_bytes = 4096 };
	struct err err = { 0 };
	struct probe_env *env = NULL;
	struct load *load = NULL;
	struct rings r = { 0 };
	struct sum order = { 0 };

	if (probe_env_new(&o, &env, &err) < 0 || load_open(env, 0, 4096, &load, &err) < 0)
		bench_die(err.msg);
	find_rings(&r, env);
	fill_all(&r, load_prog(load, "load_keys"));
	load_pin(r.cpu[0]);
	compare(&r, 1, false, "drain 1 ring", 1.0);
	if (r.n > 1) {
		compare(&r, 2, false, "drain 2 rings", 1.0);
		compare(&r, 2, true, "drain 2 rings merged", 0.7);
		run_ours(&r, 2, true, &order, order_callback);
		printf("note\tmerged: a run of one ring is %.1f records long\n",
		       2.0 * FILL * REPEAT / (double)order.switches);
		if (order.backwards > REPEAT - 1)
			bench_die("the merged records are not in order of time");
	}
	load_close(load);
	probe_env_free(env);
	return 0;
}
