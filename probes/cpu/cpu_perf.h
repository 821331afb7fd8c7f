/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The perf events of the samples: one per selected CPU that is online, opened and closed as CPUs come and go.
 */
#ifndef CPU_PERF_H
#define CPU_PERF_H

#include <stddef.h>
#include <stdint.h>

#include "base/opt.h"

struct bpf_program;
struct cpu_perf;

struct cpu_perf_opts {
	unsigned event;			/* enum cpu_event */
	uint32_t frequency;		/* samples per second and CPU, unless: */
	uint64_t period;		/* a sample per N events */
	const uint32_t *cpus;		/* borrowed for as long as the result lives */
	size_t n_cpus;			/* 0 = all */
};

/* The CPUs of "0-3,8" and the like; *ret is the caller's to free. How many, -EINVAL with a sentence, -ENOMEM. */
int cpu_perf_list(const struct opt_strv *lists, uint32_t **ret, struct err *err);

/* Decides which event it is, by opening it once. -EINVAL for what the user may mend, with a sentence. */
int cpu_perf_new(const struct cpu_perf_opts *o, struct cpu_perf **ret, struct err *err);
void cpu_perf_free(struct cpu_perf *p);	/* NULL is fine; detaches */

/* A clock's period in ns; 0 = hardware cycles. */
uint64_t cpu_perf_clock_ns(const struct cpu_perf *p);
/* Value of one sample in ns; 0 = the number of events that the kernel reports. */
uint64_t cpu_perf_value(const struct cpu_perf *p);

/*
 * Enables the events before they are attached. The first sample then comes at a random moment of a period, on
 * average half a period after the start, instead of a whole one. cpu_perf_attach() opens, or explains, those that
 * fail here.
 */
void cpu_perf_run_ahead(struct cpu_perf *p);

/* Called before the event of a CPU delivers samples. */
typedef int (*cpu_perf_start_fn)(void *ctx, uint32_t cpu);

/* Starts on every CPU; a CPU that is not online waits for cpu_perf_follow(). -errno when there is none at all. */
int cpu_perf_attach(struct cpu_perf *p, const struct bpf_program *prog, cpu_perf_start_fn start, void *ctx,
		    struct err *err);
/* CPUs that came or went since then. */
int cpu_perf_follow(struct cpu_perf *p);
void cpu_perf_detach(struct cpu_perf *p);

#endif
