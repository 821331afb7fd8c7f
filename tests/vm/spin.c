// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Something to profile inside a guest: works for the given milliseconds of CPU time with naps in between, each in its
 * own function. Static and without frame pointers: only unwind rows lead from there to main().
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* The volatile local keeps each call from becoming a jump. */
#define FRAME __attribute__((noinline, noclone))

static uint64_t cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static FRAME unsigned spin_innermost(unsigned n)
{
	volatile unsigned x = 0;

	for (unsigned i = 0; i < n; i++)
		x += i;
	return x;
}

static FRAME unsigned spin_middle(unsigned n)
{
	volatile unsigned x = spin_innermost(n);

	return x;
}

static FRAME unsigned spin_outer(unsigned n)
{
	volatile unsigned x = spin_middle(n);

	return x;
}

static FRAME void spin_nap(void)
{
	const struct timespec t = { .tv_nsec = 20000000 };
	volatile int r = nanosleep(&t, NULL);

	(void)r;
}

int main(int argc, char **argv)
{
	const uint64_t end = cpu_ms() + (argc > 1 ? strtoul(argv[1], NULL, 10) : 1000);
	unsigned sum = 0;

	while (cpu_ms() < end) {
		for (int i = 0; i < 10; i++)
			sum += spin_outer(200000);
		spin_nap();
	}
	printf("%u\n", sum);
	return 0;
}
