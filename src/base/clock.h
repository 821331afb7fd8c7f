/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time. All times in the program are uint64_t nanoseconds of CLOCK_BOOTTIME, as in records. Sinks convert them to
 * wall-clock time with an offset that is part of the stream.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_boot_ns(void);

/* CPU time of the calling thread: preemption and sleep do not count. */
uint64_t clock_thread_cpu_ns(void);

/* CLOCK_REALTIME minus CLOCK_BOOTTIME, in ns: the wall-clock time of the boot. */
int64_t clock_boot_offset_ns(void);

/* CLOCK_BOOTTIME minus CLOCK_MONOTONIC, to some ns: time in suspend since the boot. */
uint64_t clock_slept_ns(void);

/* Period of the kernel's tick in ns, the resolution of its coarse clocks and of jiffies. 0 = unknown. */
uint64_t clock_tick_ns(void);

#endif
