// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/clock.h"

#include <time.h>

#include "base/macros.h"

static uint64_t read_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

uint64_t clock_boot_ns(void)
{
	return read_ns(CLOCK_BOOTTIME);
}

uint64_t clock_thread_cpu_ns(void)
{
	return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Takes the narrowest of a few boot/real/boot readings: a preemption between them skews the offset. */
int64_t clock_boot_offset_ns(void)
{
	uint64_t best = UINT64_MAX;
	int64_t offset = 0;

	for (int i = 0; i < 5; i++) {
		uint64_t a = read_ns(CLOCK_BOOTTIME), real = read_ns(CLOCK_REALTIME), b = read_ns(CLOCK_BOOTTIME);

		if (b - a >= best)
			continue;
		best = b - a;
		offset = (int64_t)(real - (a + (b - a) / 2));
	}
	return offset;
}

/* Every boot/mono/boot reading bounds the result. 0 within the bounds means that the machine never slept. */
uint64_t clock_slept_ns(void)
{
	uint64_t low = 0, high = UINT64_MAX;

	for (int i = 0; i < 16; i++) {
		uint64_t a = read_ns(CLOCK_MONOTONIC), boot = read_ns(CLOCK_BOOTTIME), b = read_ns(CLOCK_MONOTONIC);

		if (boot > b && boot - b > low)
			low = boot - b;
		if (boot - a < high)
			high = boot - a;
	}
	return low ? low + (high - low) / 2 : 0;
}

uint64_t clock_tick_ns(void)
{
	struct timespec ts;

	if (clock_getres(CLOCK_MONOTONIC_COARSE, &ts) < 0)
		return 0;
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}
