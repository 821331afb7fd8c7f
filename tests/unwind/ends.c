// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs the cpu probe for a while and prints how its user stacks ended: one line per command name and reason,
 * "comm end samples frames-per-sample", then one of the tables and one of the time in the kernel. For tests.
 *
 * unwind_ends SECONDS [HZ [BUDGET_KB]]
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/err.h"
#include "loop/loop.h"
#include "base/map.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "probes/cpu/cpu_conf.h"
#include "probes/cpu/cpu_wire.h"
#include "ring/ring.h"
#include "sonde/stack_wire.h"

static const char *const end_names[] = {
	[SONDE_STACK_NONE] = "none", [SONDE_STACK_BOTTOM] = "bottom", [SONDE_STACK_NO_TABLE] = "no-table",
	[SONDE_STACK_NO_RULE] = "no-rule", [SONDE_STACK_NO_MAPPING] = "no-mapping", [SONDE_STACK_MEMORY] = "memory",
	[SONDE_STACK_DEPTH] = "depth", [SONDE_STACK_FP] = "fp", [SONDE_STACK_RULE] = "rule",
	[SONDE_STACK_BUSY] = "busy",
};
_Static_assert(sizeof(end_names) / sizeof(end_names[0]) == SONDE_STACK__MAX, "each end has a name");

struct key {
	char comm[16];
	uint32_t end;
};

struct tally {
	uint64_t samples, frames;
};

struct run {
	struct probe p;
	struct map counts;	/* struct key -> struct tally */
	bool verbose;
};

static int count(struct run *run, const struct sonde_rec *rec)
{
	struct cursor c = cur_init(rec, rec->len);
	struct cpu_sample_rec r;
	struct key key = { 0 };
	struct tally *t;

	if (!cur_copy(&c, &r, sizeof(r)) || r.user_end >= SONDE_STACK__MAX || !r.hdr.tgid)
		return 0;
	memcpy(key.comm, r.comm, sizeof(key.comm));
	key.end = r.user_end;
	t = map_add(&run->counts, &key, NULL);
	if (!t)
		return -ENOMEM;
	t->samples++;
	t->frames += r.n_user;
	if (!run->verbose || r.user_end == SONDE_STACK_BOTTOM)
		return 0;
	fprintf(stderr, "%.16s %u %s:", r.comm, r.hdr.tgid, end_names[r.user_end]);
	cur_skip(&c, r.n_kern * sizeof(uint64_t));
	for (unsigned i = 0; i < r.n_user; i++)
		fprintf(stderr, " %lx", (unsigned long)cur_u64(&c));
	fputc('\n', stderr);
	return 0;
}

static int on_record(void *ctx, const struct ring_rec *rec)
{
	struct run *run = ctx;
	const struct sonde_rec *r = rec->data;

	if (!r || rec->len < sizeof(*r))
		return 0;
	if (run->p.ops->control)
		run->p.ops->control(&run->p, r);
	return r->type == CPU_REC_SAMPLE ? count(run, r) : 0;
}

static int injected(void *ctx, const struct sonde_rec *r)
{
	(void)ctx;
	(void)r;
	return 0;
}

static void complain(void *ctx, unsigned instance, const char *hook, const struct err *err)
{
	(void)ctx;
	(void)instance;
	fprintf(stderr, "%s: %s\n", hook, err->msg);
}

static int drain(void *ctx, int fd, uint32_t events)
{
	struct run *run = ctx;

	(void)fd;
	(void)events;
	return ring_reader_drain(probe_env_reader(run->p.env), 0, on_record, run);
}

static int run_for(struct run *run, uint64_t ns)
{
	struct loop *loop = run->p.loop;
	uint64_t end = clock_boot_ns() + ns;
	int r = loop_add_io(loop, ring_reader_fd(probe_env_reader(run->p.env)), EPOLLIN, drain, run, NULL);

	while (r >= 0 && clock_boot_ns() < end) {
		r = loop_once(loop, 50);
		if (r >= 0)
			r = drain(run, -1, 0);
		run->p.ops->tick(&run->p, clock_boot_ns());
	}
	return r;
}

/* Mean time of the sampling program, by the kernel's own statistics. */
static void print_cost(void)
{
	uint32_t id = 0;

	while (bpf_prog_get_next_id(id, &id) == 0) {
		_cleanup_close_ int fd = bpf_prog_get_fd_by_id(id);
		struct bpf_prog_info info = { 0 };
		uint32_t len = sizeof(info);

		if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len) < 0 || strcmp(info.name, "cpu_sample"))
			continue;
		if (info.run_cnt)
			printf("# %llu runs of %llu ns\n", (unsigned long long)info.run_cnt,
			       (unsigned long long)(info.run_time_ns / info.run_cnt));
	}
}

static void print_counts(const struct run *run)
{
	void *k, *v;
	size_t pos = 0;

	while (map_next(&run->counts, &pos, &k, &v)) {
		const struct key *key = k;
		const struct tally *t = v;
		char comm[17] = { 0 };

		memcpy(comm, key->comm, sizeof(key->comm));
		for (char *s = comm; *s; s++)
			*s = *s == ' ' ? '_' : *s;
		printf("%s %s %llu %.1f\n", comm, end_names[key->end], (unsigned long long)t->samples,
		       (double)t->frames / (double)t->samples);
	}
}

static int run_probe(struct run *run, uint64_t seconds, struct err *err)
{
	int r = run->p.ops->open(&run->p, err);

	if (r >= 0)
		r = run->p.ops->attach(&run->p, err);
	if (r >= 0)
		r = run_for(run, seconds * 1000000000ull);
	if (r >= 0) {
		print_counts(run);
		print_cost();
	}
	run->p.ops->close(&run->p);
	return r;
}

int main(int argc, char **argv)
{
	const struct probe_env_opts opts = { 0 };
	struct cpu_conf conf = cpu_conf_default;
	struct run run = { .verbose = getenv("UNWIND_VERBOSE") };
	_cleanup_close_ int stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	struct err err = { 0 };
	int r;

	if (argc < 2)
		return 2;
	conf.frequency = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 99;
	conf.unwind_bytes = argc > 3 ? strtoull(argv[3], NULL, 10) << 10 : conf.unwind_bytes;
	conf.depth = 1024;
	map_init(&run.counts, sizeof(struct key), sizeof(struct tally));
	run.p = (struct probe){ .ops = probe_find("cpu"), .conf = &conf, .instance = 1 };
	run.p.state = calloc(1, run.p.ops->state_size);
	run.p.loop = loop_new();
	r = probe_env_new(&opts, &run.p.env, &err);
	if (r >= 0 && run.p.loop) {
		probe_env_set_sink(run.p.env, injected, NULL, &run);
		probe_env_set_complain(run.p.env, complain, &run);
		r = run_probe(&run, strtoull(argv[1], NULL, 10), &err);
	}
	probe_env_free(run.p.env);
	loop_free(run.p.loop);
	free(run.p.state);
	map_fini(&run.counts);
	if (r < 0)
		fprintf(stderr, "unwind_ends: %s\n", err.msg);
	return r < 0;
}
