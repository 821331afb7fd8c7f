/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Running the producers of load.bpf.c: on a given CPU, so many times. For tests and benchmarks.
 */
#ifndef TESTS_LOAD_RUN_H
#define TESTS_LOAD_RUN_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sched.h>
#include <stdint.h>

/* Pins the calling thread. 0 or -errno (-EINVAL: offline). */
static inline int load_pin(unsigned cpu)
{
	cpu_set_t *set = CPU_ALLOC(cpu + 1);
	size_t size = CPU_ALLOC_SIZE(cpu + 1);
	int r;

	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(size, set);
	CPU_SET_S(cpu, size, set);
	r = sched_setaffinity(0, size, set) < 0 ? -errno : 0;
	CPU_FREE(set);
	return r;
}

/* Runs @prog @times times on this CPU. *ret_ns: mean per run; *ret_value: of the last run. Either may be NULL. */
static inline int load_run(const struct bpf_program *prog, unsigned times, uint32_t *ret_ns, uint32_t *ret_value)
{
	static const unsigned char packet[64];
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = packet, .data_size_in = sizeof(packet), .repeat = (int)times);
	int r = bpf_prog_test_run_opts(bpf_program__fd(prog), &opts);

	if (r < 0)
		return -errno;
	if (ret_ns)
		*ret_ns = opts.duration;
	if (ret_value)
		*ret_value = opts.retval;
	return 0;
}

#endif
