// SPDX-License-Identifier: GPL-2.0-or-later
/* One leaf, three callers with about 50, 30 and 20 % of its time: only a stack can tell them, no flat profile. */
#include "timed.h"

#define UNIT 20000

static uint64_t state = 88172645463325252u;

NOINLINE uint64_t leaf(uint64_t x, unsigned int rounds) { return timed_spin(x, rounds); }

NOINLINE void caller50(void) { state = leaf(state, timed_uneven(50 * UNIT / 10)); KEEP(); }
NOINLINE void caller30(void) { state = leaf(state, timed_uneven(30 * UNIT / 10)); KEEP(); }
NOINLINE void caller20(void) { state = leaf(state, timed_uneven(20 * UNIT / 10)); KEEP(); }

static struct part parts[] = { { "caller50", 0 }, { "caller30", 0 }, { "caller20", 0 } };
static void (*const work[])(void) = { caller50, caller30, caller20 };

int main(int argc, char **argv)
{
	timed_begin(argc, argv);
	while (!timed_end)
		for (int i = 0; i < 3; i++) {
			uint64_t t = timed_now(CLOCK_THREAD_CPUTIME_ID);

			work[i]();
			parts[i].ns += timed_now(CLOCK_THREAD_CPUTIME_ID) - t;
		}
	return timed_print(parts, 3);
}
