// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes system calls at a rate, or only burns CPU time, on one CPU.
 *
 *   bench_sys_produce CPU SECONDS RATE	calls of getppid a second; 0 = as many as there is time for
 *   bench_sys_produce CPU SECONDS spin	no calls at all
 *
 * Prints how many calls were made.
 */
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "tests/bench/programs/bench.h"

#define SLICE 200	/* calls between two looks at the clock */
#define NS_PER_S 1000000000ull

static void produce(uint64_t end_ns, double per_ns, uint64_t *made)
{
	uint64_t start = clock_boot_ns(), now = start;

	for (; now < end_ns; now = clock_boot_ns()) {
		uint64_t due = per_ns > 0 ? (uint64_t)((double)(now - start) * per_ns) : UINT64_MAX;

		if (*made + SLICE > due) {
			usleep(200);
			continue;
		}
		for (int i = 0; i < SLICE; i++)
			syscall(SYS_getppid);
		*made += SLICE;
	}
}

int main(int argc, char **argv)
{
	uint64_t cpu, seconds, rate = 0, made = 0, end_ns;
	cpu_set_t set;

	if (argc != 4 || str_to_u64(argv[1], 10, &cpu) < 0 || str_to_u64(argv[2], 10, &seconds) < 0 ||
	    (strcmp(argv[3], "spin") != 0 && str_to_u64(argv[3], 10, &rate) < 0))
		bench_die("usage: bench_sys_produce CPU SECONDS RATE|spin");
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		bench_die("cannot pin to that CPU");
	end_ns = clock_boot_ns() + seconds * NS_PER_S;
	if (!strcmp(argv[3], "spin"))
		while (clock_boot_ns() < end_ns)
			;
	else
		produce(end_ns, (double)rate / (double)NS_PER_S, &made);
	printf("%llu\n", (unsigned long long)made);
	return 0;
}
