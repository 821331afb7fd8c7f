/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Configuration of the cpu probe: what its options fill and what a command sets.
 */
#ifndef CPU_CONF_H
#define CPU_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"

/* The event of a sample: the CPU's cycle counter if it has one, else the clock. */
enum cpu_event { CPU_EVENT_AUTO, CPU_EVENT_CYCLES, CPU_EVENT_CLOCK, CPU_EVENT__MAX };

struct cpu_conf {
	uint32_t frequency;		/* --frequency: samples per second and CPU */
	uint64_t period;		/* --period N: a sample per N events (clock: ns); 0 = by frequency */
	unsigned event;			/* --event: enum cpu_event */
	struct opt_strv cpus;		/* --cpu: lists ("0-3,8"); none = all */
	struct opt_u32v tids;		/* --tid: threads; none = all */
	bool user_only, kernel_only;	/* --user-stacks-only, --kernel-stacks-only */
	bool idle;			/* --include-idle */
	bool off_cpu, wall;		/* --off-cpu: blocked instead of running threads; --wall: both */
	uint64_t min_block_ns;		/* --min-block-time, --max-block-time; 0 = no limit */
	uint64_t max_block_ns;
	uint32_t depth;			/* --depth: frames of a user stack at most; 0 = 512, of waits 127 */
	uint32_t kernel_depth;		/* --kernel-depth */
	uint64_t unwind_bytes;		/* --unwind-memory: of unwind tables in the kernel */
	bool no_nice;			/* --no-nice: nothing runs ahead of others */

	/* set by a command: user stacks of these system calls instead of samples and blocks; NULL = none */
	const uint64_t *calls;		/* CPU_CALLS bits by number */
	const char *program;		/* executable whose stacks will come first; NULL = none */
};

/* A command starts from it. */
extern const struct cpu_conf cpu_conf_default;

extern const struct opt cpu_opts[];	/* of a struct cpu_conf */
extern const char *const cpu_event_names[]; /* by enum cpu_event, NULL-terminated */

#endif
