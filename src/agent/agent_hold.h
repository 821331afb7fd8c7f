/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Watchdog: logs handlers that kept the loop from its clients for too long (loop/hold.h). */
#ifndef AGENT_AGENT_HOLD_H
#define AGENT_AGENT_HOLD_H

#include <stdint.h>

#include "base/macros.h"

struct buf;
struct hold;

#define HOLD_NS (50 * NS_PER_MS) /* longer holds are logged */

struct agent_holds {
	struct loop *loop;    /* borrowed */
	uint64_t next_log_ns; /* a shorter hold before it is only counted */
	unsigned n;	      /* holds since the last message */
};

void agent_hold_watch(struct agent_holds *w);
void agent_hold_report(const struct hold *h, struct buf *out); /* line of `status` */

#endif
