// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/closing/sys_closing.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/macros.h"
#include "cmd/closing/closing.h"
#include "cmd/closing/tally.h"
#include "cmd/run/run.h"
#include "event/event.h"
#include "probes/sys/sys_body.h"
#include "probes/sys/sys_event.h"

/* Events of captures and others beside calls are in the tally's number alone. */
void sys_closing_event(void *ctx, const struct event *ev)
{
	struct sys_closing *c = ctx;
	const struct sys_body *b = ev->desc == &sys_exit_desc ? sys_body_of(ev) : NULL;

	c->calls += b != NULL;
	c->failed += b && sys_failed(b->ret);
}

/* "1,204 calls, 31 failed in 41 s; 0 lost" */
void sys_closing_line(void *ctx, struct buf *line)
{
	const struct sys_closing *c = ctx;
	const struct tally *t = c->tally;

	if (!c->calls && t->n_events) {
		closing_add_count(line, t->n_events, "event");
	} else {
		closing_add_count(line, c->calls, "call");
		buf_add_str(line, ", ");
		closing_add_number(line, c->failed);
		buf_add_str(line, " failed");
	}
	if (!t->conf->read && t->end_ns > t->begin_ns)
		buf_printf(line, " in %" PRIu64 " s", (uint64_t)((t->end_ns - t->begin_ns) / NS_PER_S));
	buf_add_str(line, "; ");
	closing_add_number(line, t->n_lost);
	buf_add_str(line, " lost");
}
