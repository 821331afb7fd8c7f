/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scheduling ahead of other tasks: by priority, and briefly as a real-time task.
 */
#ifndef CMD_SCHED_BOOST_H
#define CMD_SCHED_BOOST_H

#include <stdbool.h>
#include <stdint.h>

/* The head of struct sched_attr, which libc lacks. */
struct sched_boost_sched {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

/*
 * With sched_autogroup, as on desktops, a priority counts among the processes of a session only, so one busy program
 * in each of twenty other sessions leaves this one a tenth of a CPU. Real-time tasks are not grouped by session: this
 * process, without its children, is real-time for the short phases in which a user waits, the start and the end. The
 * policy is an attribute of the process, so none of it outlives a SIGKILL.
 */
struct sched_boost {
	struct sched_boost_sched before; /* the policy to restore */
	bool raised;
};
void sched_boost_begin(struct sched_boost *h); /* does nothing without privileges, or if another policy was set */
void sched_boost_end(struct sched_boost *h);   /* may be called at any time */

/*
 * Requests short slices, and priority @nice if it is not 0 (else the current one): a task with short slices is
 * scheduled earlier when it wakes, for the same total CPU time (Linux 6.12). Older kernels apply the priority alone;
 * without privileges nothing changes. While @h is raised, takes effect at its end.
 */
void sched_boost_process(struct sched_boost *h, int nice);

#endif
