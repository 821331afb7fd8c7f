// SPDX-License-Identifier: GPL-2.0-or-later
/* Lives for 90 ms of CPU time: too short for a profiler that looks at processes when it prints. */
#include "timed.h"

static uint64_t state = 88172645463325252u;

static void spend(uint64_t ms)
{
	uint64_t end = timed_now(CLOCK_THREAD_CPUTIME_ID) + ms * 1000000;

	while (timed_now(CLOCK_THREAD_CPUTIME_ID) < end)
		state = timed_spin(state, 50000);
}

NOINLINE void first_sixty(void) { spend(60); KEEP(); }
NOINLINE void last_thirty(void) { spend(30); KEEP(); }

int main(void)
{
	first_sixty();
	last_thirty();
	return 0;
}
