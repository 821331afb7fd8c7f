// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/closing/tally.h"

#include <net/if.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "loop/loop.h"
#include "base/opt.h"
#include "cmd/closing/closing.h"
#include "cmd/run/run.h"
#include "event/core.h"
#include "event/event.h"
#include "sinks/sink.h"
#include "sonde/wire.h"

#define QUIET_NS 5000000000ull

static int tally_event(struct sink *s, const struct event *ev)
{
	struct tally *t = s->opts->ctx;

	if (ev->desc->type == SONDE_EV_LOST && !core_lost_is_apart(((const struct core_lost *)ev->body)->cause))
		t->n_lost += ((const struct core_lost *)ev->body)->count;
	if (ev->desc->class != EVENT_DATA)
		return 0;
	t->n_events++;
	if (t->event)
		t->event(t->ctx, ev);
	return 0;
}

static int tally_open(struct sink *s, _unused_ struct err *err)
{
	((struct tally *)s->opts->ctx)->begin_ns = clock_boot_ns();
	return 0;
}

static int tally_close(struct sink *s)
{
	((struct tally *)s->opts->ctx)->end_ns = clock_boot_ns();
	return 0;
}

const struct sink_ops tally_sink = {
	.name = "tally",
	.summary = "for closing words",
	.flags = SINK_ASIDE | SINK_NO_FILE,
	.open = tally_open,
	.event = tally_event,
	.close = tally_close,
};

static int on_quiet(void *ctx, _unused_ uint64_t now_ns)
{
	const struct tally *t = ctx;

	if (!t->n_events && t->nothing)
		log_info("%s", buf_str(t->nothing));
	return 0;
}

int tally_started(void *ctx, struct loop *loop, _unused_ struct pipeline *p, struct err *err)
{
	const struct tally *t = ctx;
	int r = 0;

	if (!t->conf->read && closing_needed(t->conf))
		r = loop_add_timer(loop, QUIET_NS, 0, on_quiet, ctx, NULL);
	return r < 0 ? err_errno(err, r, "cannot set a timer") : 0;
}

void tally_report(const struct tally *t, int status)
{
	_cleanup_(buf_fini) struct buf b = { 0 };

	if (!t->closing || !closing_due(t->conf, status))
		return;
	t->closing(t->ctx, &b);
	if (b.len)
		log_info("%s", buf_str(&b));
}

void tally_add_no_traffic(struct buf *b, const struct opt_strv *ifaces, bool elsewhere)
{
	struct if_nameindex *all = ifaces->len || elsewhere ? NULL : if_nameindex();
	const char *comma = " on ";

	buf_add_str(b, "no traffic yet");
	for (size_t i = 0; i < ifaces->len; i++, comma = ", ")
		buf_printf(b, "%s%s", comma, ifaces->items[i]);
	for (struct if_nameindex *i = all; i && i->if_name; i++, comma = ", ")
		buf_printf(b, "%s%s", comma, i->if_name);
	if (all)	/* the C library does not take NULL */
		if_freenameindex(all);
}
