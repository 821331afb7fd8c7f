// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Cost of keeping a packet for a flight recorder: a slot of a mapped array against an overwritable perf ring,
 * test-runs over an empty program, interleaved. doc/decisions/0014-flight-recorder.md quotes the figures.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <string.h>

#include "base/err.h"
#include "base/macros.h"
#include "ring/cpulist.h"
#include "ring/perf_rings.h"
#include "ring/ring.h"
#include "tests/bench/programs/bench.h"

#include "keep.skel.h"

#define ROUNDS 41
#define RUNS 20000
#define RING_BYTES (8u << 20)

static const struct { const char *what; uint32_t packet, snap; } cases[] = {
	{ "74 bytes", 74, 128 }, { "128 of 1,514 bytes", 1514, 128 }, { "1,514 bytes", 1514, 1536 },
};

static double run_ns(const struct bpf_program *prog, const uint8_t *packet, uint32_t len)
{
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = packet, .data_size_in = len, .repeat = RUNS);

	if (bpf_prog_test_run_opts(bpf_program__fd(prog), &o) < 0 || o.retval != UINT32_MAX)
		bench_die("cannot run the program: run as root");
	return o.duration;
}

static struct keep_bpf *load(uint32_t snap, struct ring_reader *rr, struct perf_rings **ret_rings)
{
	const struct perf_rings_opts o = { .ring_bytes = RING_BYTES, .overwritable = true };
	struct keep_bpf *k = keep_bpf__open();
	uint32_t *cpus = NULL;
	int n = cpulist_read("/sys/devices/system/cpu/possible", &cpus);
	struct err err = { 0 };

	if (!k || n <= 0)
		bench_die("cannot open the programs");
	k->rodata->keep_snap = snap;
	bpf_map__set_max_entries(k->maps.keep_perf, cpus[n - 1] + 1);
	free(cpus);
	if (keep_bpf__load(k) < 0)
		bench_die("cannot load the programs: run as root");
	if (perf_rings_open(bpf_map__fd(k->maps.keep_perf), &o, rr, ret_rings, &err) < 0)
		bench_die(err.msg);
	return k;
}

static void compare(size_t i, double *ret_ratio)
{
	static uint8_t packet[2048] = { [12] = 8, [14] = 0x45, [23] = 6, [26] = 127, [29] = 1, [30] = 127, [33] = 1 };
	struct ring_reader *rr = ring_reader_new();
	struct perf_rings *rings = NULL;
	struct keep_bpf *k = load(cases[i].snap, rr, &rings);
	double none[ROUNDS], slot[ROUNDS], perf[ROUNDS], a, b;
	char name[128];

	for (unsigned r = 0; r < ROUNDS; r++) {
		none[r] = run_ns(k->progs.keep_none, packet, cases[i].packet);
		slot[r] = run_ns(k->progs.keep_in_slot, packet, cases[i].packet) - none[r];
		perf[r] = run_ns(k->progs.keep_in_perf, packet, cases[i].packet) - none[r];
	}
	a = bench_median(slot, ROUNDS);
	b = bench_median(perf, ROUNDS);
	snprintf(name, sizeof(name), "kept in a slot, %s, over empty", cases[i].what);
	bench_figure(name, a, "ns");
	snprintf(name, sizeof(name), "kept in an overwritable ring, %s, over empty", cases[i].what);
	bench_figure(name, b, "ns");
	*ret_ratio = b / a;
	perf_rings_close(rings);
	ring_reader_free(rr);
	keep_bpf__destroy(k);
}

int main(void)
{
	double ratio[ARRAY_SIZE(cases)];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		compare(i, &ratio[i]);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char name[128];

		snprintf(name, sizeof(name), "overwritable ring / slot, %s", cases[i].what);
		bench_at_least(name, ratio[i], 1.0);
	}
	return 0;
}
