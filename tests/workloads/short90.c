// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lives for 90 ms of CPU time (or argv[1] ms in each of its two functions): too short for a profiler that looks at
 * processes when it prints.
 */
#include "timed.h"

static uint64_t state = 88172645463325252u;

static void spend(uint64_t ms)
{
	uint64_t end = timed_now(CLOCK_THREAD_CPUTIME_ID) + ms * 1000000;

	while (timed_now(CLOCK_THREAD_CPUTIME_ID) < end)
		state = timed_spin(state, 50000);
}

NOINLINE void first_sixty(uint64_t ms) { spend(ms); KEEP(); }
NOINLINE void last_thirty(uint64_t ms) { spend(ms); KEEP(); }

int main(int argc, char **argv)
{
	uint64_t ms = argc > 1 ? (uint64_t)atoi(argv[1]) : 0;

	first_sixty(ms ? ms : 60);
	last_thirty(ms ? ms : 30);
	return 0;
}
