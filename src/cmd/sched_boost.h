/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Being let in before others: by a priority, and for moments as a real-time task.
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
 * Where the scheduler shares by sessions (sched_autogroup), as desktops have it, a priority counts among the
 * processes of one session only, so one busy program in each of twenty others leaves a tenth of a CPU. Real-time
 * tasks are not shared by session: this process, without its children, is one for the moments in which somebody
 * waits, the start and the end. That is an attribute of the process alone, so nothing of it outlives a SIGKILL.
 */
struct sched_boost {
	struct sched_boost_sched before; /* what to go back to */
	bool raised;
};
void sched_boost_begin(struct sched_boost *h); /* nothing without rights, or where another policy was chosen */
void sched_boost_end(struct sched_boost *h);   /* may be called at any time */

/*
 * In short turns, and ahead of others when @nice is not 0 (else at the priority that we have): a task that asks for
 * short turns is let in early when it wakes, for no more CPU time in all (Linux 6.12). Older kernels take the
 * priority alone; without rights all stays as it is. While @h is raised: from its end on.
 */
void sched_boost_process(struct sched_boost *h, int nice);

#endif
