// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Many different stacks: five levels of eight functions make 32768 paths; `paths sleep|spin FIRST LAST US` walks the
 * paths FIRST to LAST once each. At the end of a path it sleeps or computes for US microseconds of the thread's CPU
 * clock. Path n has the functions f0_a f1_b f2_c f3_d f4_e, where abcde is n in octal.
 *
 * A sleep that ends before the thread has left its CPU, by the kernel's own count of switches, was none (some in a
 * hundred thousand, where a hypervisor takes the CPU away at that moment): the path is slept at again.
 *
 * The CPU clock runs on while a hypervisor has the CPU, so a turn that took long was not all of this program: no more
 * of it counts than a quarter of the path.
 */
#define _GNU_SOURCE	/* RUSAGE_THREAD */
#include <string.h>
#include <sys/resource.h>

#include "timed.h"

static uint64_t state = 88172645463325252u;
static long us;
static int sleeps;

static long switches(void)
{
	struct rusage u = { 0 };

	getrusage(RUSAGE_THREAD, &u);
	return u.ru_nvcsw;
}

NOINLINE void end_of_path(unsigned int path)
{
	const struct timespec t = { .tv_nsec = us * 1000 };
	const long before = sleeps ? switches() : 0;
	const uint64_t most = (uint64_t)us * 250;
	uint64_t before_ns, now_ns, turn_ns, left_ns = (uint64_t)us * 1000;

	(void)path;
	if (sleeps) {
		do
			nanosleep(&t, NULL);
		while (switches() == before);
		return;
	}
	now_ns = timed_now(CLOCK_THREAD_CPUTIME_ID);
	while (left_ns) {
		before_ns = now_ns;
		state = timed_spin(state, 10000);
		now_ns = timed_now(CLOCK_THREAD_CPUTIME_ID);
		turn_ns = now_ns - before_ns < most ? now_ns - before_ns : most;
		left_ns -= turn_ns < left_ns ? turn_ns : left_ns;
	}
}

typedef void (*step_fn)(unsigned int path);

#define STEP(level, i, next) NOINLINE void f##level##_##i(unsigned int path) { next; KEEP(); }
#define TABLE(level) static const step_fn steps##level[8] = { f##level##_0, f##level##_1, f##level##_2, \
	f##level##_3, f##level##_4, f##level##_5, f##level##_6, f##level##_7 };
#define LEVEL(level, next) STEP(level, 0, next) STEP(level, 1, next) STEP(level, 2, next) STEP(level, 3, next) \
	STEP(level, 4, next) STEP(level, 5, next) STEP(level, 6, next) STEP(level, 7, next) TABLE(level)

LEVEL(4, end_of_path(path))
LEVEL(3, steps4[path & 7](path))
LEVEL(2, steps3[path >> 3 & 7](path))
LEVEL(1, steps2[path >> 6 & 7](path))
LEVEL(0, steps1[path >> 9 & 7](path))

int main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	sleeps = strcmp(argv[1], "sleep") == 0;
	us = atol(argv[4]);
	for (unsigned int path = (unsigned int)atoi(argv[2]); path < (unsigned int)atoi(argv[3]); path++)
		steps0[path >> 12 & 7](path);
	return 0;
}
