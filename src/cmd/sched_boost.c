// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Formats: struct sched_attr (include/uapi/linux/sched/types.h).
 */
#include "cmd/sched_boost.h"

#include <linux/sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHORT_TURN_NS 100000	/* the scheduler's minimum */

static int set(const struct sched_boost_sched *a)
{
	return (int)syscall(SYS_sched_setattr, 0, a, 0);
}

void sched_boost_process(struct sched_boost *h, int nice)
{
	struct sched_boost_sched a = {
		.size = sizeof(a),
		.nice = nice ? nice : getpriority(PRIO_PROCESS, 0),
		.runtime_ns = SHORT_TURN_NS,
	};

	if (h->raised)
		h->before = a;
	else if (set(&a) < 0)
		setpriority(PRIO_PROCESS, 0, a.nice);
}

void sched_boost_begin(struct sched_boost *h)
{
	const struct sched_boost_sched urgent = {
		.size = sizeof(urgent),
		.policy = SCHED_RR,
		.flags = SCHED_FLAG_RESET_ON_FORK,
		.priority = 1,
	};

	if (h->raised || syscall(SYS_sched_getattr, 0, &h->before, sizeof(h->before), 0) < 0 ||
	    h->before.policy != SCHED_NORMAL)
		return;
	h->raised = set(&urgent) == 0;
}

void sched_boost_end(struct sched_boost *h)
{
	if (h->raised && set(&h->before) < 0) {
		h->before.runtime_ns = 0;	/* the kernel does not support slices */
		set(&h->before);
	}
	h->raised = false;
}
