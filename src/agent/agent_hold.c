// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The watchdog: says which step kept the loop from its clients for too long.
 */
#include <inttypes.h>

#include "agent/agent_impl.h"
#include "base/buf.h"
#include "base/clock.h"
#include "loop/hold.h"
#include "base/log.h"
#include "loop/loop.h"

#define LOG_EVERY_NS (10 * NS_PER_S) /* but a new longest hold is logged at once */

static void on_hold(void *ctx, const struct hold *h)
{
	struct agent *a = ctx;
	uint64_t now_ns = clock_boot_ns();
	char by[256], more[64] = "";

	if (now_ns < a->held.again_ns && h->wall_ns < loop_longest(a->loop)->wall_ns) {
		a->held.n++;
		return;
	}
	if (a->held.n)
		snprintf(more, sizeof(more), "; %u more holds since the last message", a->held.n);
	hold_text(h, by, sizeof(by));
	log_info("sonde: loop held %" PRIu64 " ms (%" PRIu64 " ms of CPU time): %s%s",
		 (uint64_t)(h->wall_ns / NS_PER_MS), (uint64_t)(h->cpu_ns / NS_PER_MS), by, more);
	a->held.again_ns = now_ns + LOG_EVERY_NS;
	a->held.n = 0;
}

void agent_hold_watch_begin(struct agent *a)
{
	loop_watch(a->loop, HOLD_NS, on_hold, a);
}

static void say_ms(struct buf *out, uint64_t ns)
{
	buf_printf(out, "%" PRIu64 ".%03" PRIu64 " ms", (uint64_t)(ns / NS_PER_MS),
		   (uint64_t)(ns % NS_PER_MS / 1000));
}

void agent_hold_say(const struct hold *h, struct buf *out)
{
	char by[256];

	buf_printf(out, "loop: held for ");
	say_ms(out, h->wall_ns);
	buf_printf(out, " at most");
	if (h->wall_ns) {
		hold_text(h, by, sizeof(by));
		buf_printf(out, " (");
		say_ms(out, h->cpu_ns);
		buf_printf(out, " of CPU time): %s", by);
	}
	buf_printf(out, "\n");
}
