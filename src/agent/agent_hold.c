// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Logs handlers that held the loop for longer than HOLD_NS.
 */
#include "agent/agent_hold.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/clock.h"
#include "loop/hold.h"
#include "base/log.h"
#include "loop/loop.h"

#define LOG_EVERY_NS (10 * NS_PER_S) /* a new longest hold is logged at once */

static void on_hold(void *ctx, const struct hold *h)
{
	struct agent_holds *w = ctx;
	uint64_t now_ns = clock_boot_ns();
	char by[256], more[64] = "";

	if (now_ns < w->next_log_ns && h->wall_ns < loop_longest(w->loop)->wall_ns) {
		w->n++;
		return;
	}
	if (w->n)
		snprintf(more, sizeof(more), "; %u more holds since the last message", w->n);
	hold_text(h, by, sizeof(by));
	log_info("sonde: loop held %" PRIu64 " ms (%" PRIu64 " ms of CPU time): %s%s",
		 (uint64_t)(h->wall_ns / NS_PER_MS), (uint64_t)(h->cpu_ns / NS_PER_MS), by, more);
	w->next_log_ns = now_ns + LOG_EVERY_NS;
	w->n = 0;
}

void agent_hold_watch(struct agent_holds *w)
{
	loop_watch(w->loop, HOLD_NS, on_hold, w);
}

static void put_ms(struct buf *out, uint64_t ns)
{
	buf_printf(out, "%" PRIu64 ".%03" PRIu64 " ms", (uint64_t)(ns / NS_PER_MS),
		   (uint64_t)(ns % NS_PER_MS / 1000));
}

void agent_hold_report(const struct hold *h, struct buf *out)
{
	char by[256];

	buf_printf(out, "loop: held for ");
	put_ms(out, h->wall_ns);
	buf_printf(out, " at most");
	if (h->wall_ns) {
		hold_text(h, by, sizeof(by));
		buf_printf(out, " (");
		put_ms(out, h->cpu_ns);
		buf_printf(out, " of CPU time): %s", by);
	}
	buf_printf(out, "\n");
}
