// SPDX-License-Identifier: GPL-2.0-or-later
/* Known time off the CPU: sleeps of 14, 4 and 2 ms from three callers, timed by the monotonic clock. */
#include "timed.h"

NOINLINE void doze(long ns)
{
	struct timespec t = { .tv_nsec = ns };

	nanosleep(&t, NULL);
	KEEP();
}

NOINLINE void wait70(void) { doze(14000000); KEEP(); }
NOINLINE void wait20(void) { doze(4000000); KEEP(); }
NOINLINE void wait10(void) { doze(2000000); KEEP(); }

static struct part parts[] = { { "wait70", 0 }, { "wait20", 0 }, { "wait10", 0 } };
static void (*const work[])(void) = { wait70, wait20, wait10 };

int main(int argc, char **argv)
{
	timed_begin(argc, argv);
	while (!timed_end)
		for (int i = 0; i < 3; i++) {
			uint64_t t = timed_now(CLOCK_MONOTONIC);

			work[i]();
			parts[i].ns += timed_now(CLOCK_MONOTONIC) - t;
		}
	return timed_print(parts, 3);
}
