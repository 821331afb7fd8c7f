/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time. Inside the program every time is uint64_t nanoseconds of CLOCK_BOOTTIME, as records carry
 * it; it becomes wall-clock time once, at the sink, through an offset that travels in the stream.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

uint64_t clock_boot_ns(void);

/* CLOCK_REALTIME minus CLOCK_BOOTTIME, in ns: the wall-clock time of boot 0. */
int64_t clock_boot_offset_ns(void);

/* CLOCK_BOOTTIME minus CLOCK_MONOTONIC, within some ns: how long the machine slept since it was started. */
uint64_t clock_slept_ns(void);

/* How long the kernel's tick is, in ns: what its coarse clocks and jiffies go on by. 0 = not known. */
uint64_t clock_tick_ns(void);

#endif
