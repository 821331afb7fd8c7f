// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where time goes, known: hot70, hot20 and hot10 below four levels of callers, about 70, 20 and 10 % of the time, and
 * the parts measured by the thread's own CPU clock. Built with and without frame pointers, static and stripped.
 */
#include "timed.h"

#define UNIT 20000

static uint64_t state = 88172645463325252u;

NOINLINE uint64_t hot70(uint64_t x) { return timed_spin(x, timed_uneven(70 * UNIT / 10)); }
NOINLINE uint64_t hot20(uint64_t x) { return timed_spin(x, timed_uneven(20 * UNIT / 10)); }
NOINLINE uint64_t hot10(uint64_t x) { return timed_spin(x, timed_uneven(10 * UNIT / 10)); }

static struct part parts[] = { { "hot70", 0 }, { "hot20", 0 }, { "hot10", 0 } };
static uint64_t (*const work[])(uint64_t) = { hot70, hot20, hot10 };

NOINLINE void level4(int i)
{
	uint64_t t = timed_now(CLOCK_THREAD_CPUTIME_ID);

	state = work[i](state);
	parts[i].ns += timed_now(CLOCK_THREAD_CPUTIME_ID) - t;
}

NOINLINE void level3(int i) { level4(i); KEEP(); }
NOINLINE void level2(int i) { level3(i); KEEP(); }
NOINLINE void level1(int i) { level2(i); KEEP(); }

int main(int argc, char **argv)
{
	timed_begin(argc, argv);
	while (!timed_end)
		for (int i = 0; i < 3; i++)
			level1(i);
	return timed_print(parts, 3);
}
