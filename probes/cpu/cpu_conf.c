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

static const char *const event_names[] = {
	[CPU_EVENT_AUTO] = "auto", [CPU_EVENT_CYCLES] = "cycles", [CPU_EVENT_CLOCK] = "clock", NULL,
};
_Static_assert(ARRAY_SIZE(event_names) == CPU_EVENT__MAX + 1, "each event has a name");

#define ROW(member, ...) OPT_ROW(cpu_conf, member, __VA_ARGS__)

#define CYCLES_MOST 5000000000ull	/* per second and CPU: no event is more frequent */

const struct opt cpu_opts[] = {
	ROW(frequency, "frequency", 0, OPT_U32, "HZ", "samples per second and CPU (default 49)",
	    .use = OPT_USE_HZ),
	ROW(period, "period", 0, OPT_U64, "N",
	    "instead: a sample every N events; of the clock an event is a nanosecond",
	    .use = OPT_USE_PERIOD, .unit = CYCLES_MOST),
	{ .name = "event", .kind = OPT_ENUM, .off = offsetof(struct cpu_conf, event), .arg = "WHAT",
	  .help = "auto, cycles or clock: what is counted (default auto: cycles where the machine counts them)",
	  .aux = event_names },
	ROW(cpus, "cpu", 0, OPT_STRV, "LIST", "only these CPUs, as 0-3,8"),
	ROW(tids, "tid", 0, OPT_U32V, "TID", "only these threads"),
	ROW(user_only, "user-stacks-only", 0, OPT_BOOL, NULL, "no kernel stacks"),
	ROW(kernel_only, "kernel-stacks-only", 0, OPT_BOOL, NULL, "no user stacks"),
	ROW(idle, "include-idle", 0, OPT_BOOL, NULL, "show idle CPUs too"),
	ROW(off_cpu, "off-cpu", 0, OPT_BOOL, NULL, "threads that wait instead of those that run, with how long"),
	ROW(wall, "wall", 0, OPT_BOOL, NULL, "both: where the time goes, on a CPU or not"),
	ROW(min_block_ns, "min-block-time", 0, OPT_DURATION, "TIME", "no waits shorter than this (default 1us)",
	    .use = OPT_USE_NONE),
	ROW(max_block_ns, "max-block-time", 0, OPT_DURATION, "TIME", "no waits longer than this",
	    .use = OPT_USE_NONE),
	ROW(depth, "depth", 0, OPT_U32, "N", "frames of a user stack at most (default 512, of waits 127)",
	    .use = OPT_USE_BYTES, .unit = sizeof(uint64_t)),
	ROW(kernel_depth, "kernel-depth", 0, OPT_U32, "N",
	    "frames of a kernel stack at most (default 127; kernel.perf_event_max_stack must allow more)",
	    .use = OPT_USE_BYTES, .unit = sizeof(uint64_t)),
	ROW(unwind_bytes, "unwind-memory", 0, OPT_BYTES, "SIZE", "unwind tables in the kernel at most (default 64M)",
	    .use = OPT_USE_MEMORY),
	ROW(no_nice, "no-nice", 0, OPT_BOOL, NULL,
	    "leave scheduling priorities alone; on a busy host the first stacks of a program are then cut short"),
	OPT_END
};
