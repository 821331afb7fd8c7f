// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Options of the cpu probe and their defaults.
 */
#include "probes/cpu/cpu_conf.h"

#include <stddef.h>

#include "base/macros.h"

const struct cpu_conf cpu_conf_default = {
	.frequency = 49,	/* not in step with what happens 50 or 100 times a second */
	.kernel_depth = 127, .unwind_bytes = 64u << 20, .min_block_ns = 1000,
};

const char *const cpu_event_names[] = {
	[CPU_EVENT_AUTO] = "auto",
	[CPU_EVENT_CYCLES] = "cycles",
	[CPU_EVENT_CLOCK] = "clock",
	NULL,
};
_Static_assert(ARRAY_SIZE(cpu_event_names) == CPU_EVENT__MAX + 1, "each event has a name");

#define ROW(member, ...) OPT_ROW(cpu_conf, member, __VA_ARGS__)

#define CYCLES_MOST 5000000000ull	/* per second and CPU: no event is more frequent */

/* As they go to an agent; the rows of users' options are the commands'. */
const struct opt cpu_opts[] = {
	ROW(frequency, "frequency", 0, OPT_U32, "HZ", "samples per second and CPU", .use = OPT_USE_HZ),
	ROW(period, "period", 0, OPT_U64, "N", "a sample every N events; of the clock an event is a nanosecond",
	    .use = OPT_USE_PERIOD, .unit = CYCLES_MOST),
	ROW(event, "event", 0, OPT_ENUM, "NAME", "event that samples", .names = cpu_event_names),
	ROW(cpus, "cpu", 0, OPT_STRV, "LIST", "these CPUs, as 0-3,8"),
	ROW(tids, "tid", 0, OPT_U32V, "TID", "these threads"),
	ROW(user_only, "user-stacks-only", 0, OPT_BOOL, NULL, "no kernel stacks"),
	ROW(kernel_only, "kernel-stacks-only", 0, OPT_BOOL, NULL, "no user stacks"),
	ROW(idle, "include-idle", 0, OPT_BOOL, NULL, "idle CPUs too"),
	ROW(off_cpu, "off-cpu", 0, OPT_BOOL, NULL, "threads off CPU, with how long"),
	ROW(wall, "wall", 0, OPT_BOOL, NULL, "threads on and off CPU"),
	ROW(min_block_ns, "min-block-time", 0, OPT_DURATION, "TIME", "no waits below TIME", .use = OPT_USE_NONE),
	ROW(max_block_ns, "max-block-time", 0, OPT_DURATION, "TIME", "no waits above TIME", .use = OPT_USE_NONE),
	ROW(depth, "depth", 0, OPT_U32, "N", "frames of a user stack at most", .use = OPT_USE_BYTES,
	    .unit = sizeof(uint64_t)),
	ROW(kernel_depth, "kernel-depth", 0, OPT_U32, "N", "frames of a kernel stack at most", .use = OPT_USE_BYTES,
	    .unit = sizeof(uint64_t)),
	ROW(unwind_bytes, "unwind-memory", 0, OPT_BYTES, "SIZE", "unwind tables in the kernel at most",
	    .use = OPT_USE_MEMORY),
	ROW(no_nice, "no-boost", 0, OPT_BOOL, NULL, "leave scheduling priorities alone"),
	OPT_END
};
