// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/closing/net_closing.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/macros.h"
#include "cmd/closing/closing.h"
#include "cmd/run/run.h"
#include "event/core.h"
#include "event/event.h"
#include "probes/net/net_event.h"
#include "sinks/sink.h"
#include "sonde/wire.h"

/* ---- counting ---- */

static void count_packet(struct net_closing *c, const struct event *ev)
{
	const struct sec_packet *pkt = event_packet(ev, NULL);
	const bool captured = ev->desc->type == SONDE_EV_PACKET, is_drop = ev->desc == &net_drop_desc;
	const bool is_packet = captured || ev->desc == &net_trace_desc || c->file;

	c->captured |= captured;
	c->drops += is_drop;
	c->packets += is_packet;
	c->others += !is_drop && !is_packet;	/* a verdict has the packet that it is about */
	c->bytes += pkt ? pkt->cap_len : 0;
}

static void count_unexplained(struct net_closing *c, const struct event *ev)
{
	const struct net_unexplained_event *b = ev->body;

	c->counted += b->counted;
	c->unexplained += b->rest;
}

/* The sum of sonde.lost events equals the losses of the ledger. Causes apart lose no packet. */
static void count_lost(struct net_closing *c, const struct event *ev)
{
	if (ev->desc->type == SONDE_EV_LOST && !core_lost_is_apart(((const struct core_lost *)ev->body)->cause))
		c->lost += ((const struct core_lost *)ev->body)->count;
}

static int closing_event(struct sink *s, const struct event *ev)
{
	struct net_closing *c = s->opts->ctx;

	if (ev->desc == &net_unexplained_desc)
		count_unexplained(c, ev);
	else if (ev->desc->class == EVENT_META)
		count_lost(c, ev);
	else if (ev->desc == &net_refused_desc)
		c->refused++;
	else if (ev->desc->class == EVENT_DATA && event_section(ev, SEC_PACKET))
		count_packet(c, ev);
	else if (ev->desc->class == EVENT_DATA)
		c->others++;
	return 0;
}

static int closing_open(struct sink *s, _unused_ struct err *err)
{
	((struct net_closing *)s->opts->ctx)->begin_ns = clock_boot_ns();
	return 0;
}

static int closing_close(struct sink *s)
{
	((struct net_closing *)s->opts->ctx)->end_ns = clock_boot_ns();
	return 0;
}

static const struct sink_ops closing_sink = {
	.name = "closing", .summary = "sums for the last line", .open = closing_open, .event = closing_event,
	.close = closing_close, .flags = SINK_ASIDE | SINK_NO_FILE,
};

void net_closing_set_spec(struct net_closing *c, struct run_ops *spec)
{
	if (spec->watcher || !closing_needed(c->run))
		return;
	spec->watcher = &closing_sink;
	spec->watcher_ctx = c;
}

/* ---- saying ---- */

static void put_bytes(struct buf *b, uint64_t n)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };
	double v = (double)n;
	size_t unit = 0;

	for (; v >= 1000 && unit + 1 < sizeof(units) / sizeof(*units); unit++)
		v /= 1000;
	buf_printf(b, unit ? "%.1f %s" : "%.0f %s", v, units[unit]);
}

static void put_lost(struct buf *b, const struct net_closing *c, const char *between)
{
	buf_add_str(b, between);
	closing_add_number(b, c->lost);
	buf_add_str(b, " lost");
}

/* "x.pcapng: 36 packets, 12.1 kB; 0 lost": bytes of packets, as in the progress line */
static void put_file(struct buf *b, const struct net_closing *c)
{
	buf_printf(b, "%s: ", c->file);
	closing_add_count(b, c->packets, "packet");
	buf_add_str(b, ", ");
	put_bytes(b, c->bytes);
}

static void put_count(struct buf *b, uint64_t n, const char *what)
{
	if (b->len)
		buf_add_str(b, ", ");
	closing_add_count(b, n, what);
}

/* "2,917 packets, 12 drops in 41 s; 0 lost" */
static void put_seen(struct buf *b, const struct net_closing *c)
{
	if (c->no_packets)
		buf_add_str(b, "no packets watched");
	else if (!c->neither)
		put_count(b, c->packets, "packet");
	if (c->no_drops)
		buf_add_str(b, ", no drops watched");
	else if (!c->neither && (c->drops || !c->captured))
		put_count(b, c->drops, "drop");
	if (c->others || (c->neither && !c->refused))
		put_count(b, c->others, c->neither ? "event" : "other event");
	if (c->refused)
		put_count(b, c->refused, "refused connection");
	if (!c->run->read && c->end_ns > c->begin_ns)
		buf_printf(b, " in %" PRIu64 " s", (uint64_t)((c->end_ns - c->begin_ns) / NS_PER_S));
}

/* "; nstat 24, shown 24": refused connections by the kernel's count */
static void put_counted(struct buf *b, const struct net_closing *c)
{
	if (!c->counted)
		return;
	buf_add_str(b, "; nstat ");
	closing_add_number(b, c->counted);
	buf_add_str(b, ", shown ");
	closing_add_number(b, c->refused);
	if (!c->unexplained)
		return;
	buf_add_str(b, ", unexplained ");
	closing_add_number(b, c->unexplained);
}

void net_closing_say(const struct net_closing *c, int status)
{
	_cleanup_(buf_fini) struct buf b = { 0 };

	if (!c->begin_ns || !closing_due(c->run, status))
		return;
	c->file ? put_file(&b, c) : put_seen(&b, c);
	put_lost(&b, c, "; ");
	put_counted(&b, c);
	if (!buf_error(&b))
		fprintf(stderr, "%s\n", buf_str(&b));
}

/* "14:03:07  36 packets  12.1 kB  0 lost" */
static void put_progress(void *ctx, _unused_ uint64_t secs, struct buf *line)
{
	const struct net_closing *c = ctx;
	time_t now = time(NULL);
	struct tm tm;
	char text[16];

	strftime(text, sizeof(text), "%T", localtime_r(&now, &tm));
	buf_printf(line, "%s  ", text);
	closing_add_count(line, c->packets, "packet");
	buf_add_str(line, "  ");
	put_bytes(line, c->bytes);
	put_lost(line, c, "  ");
}

int net_closing_started(void *ctx, struct loop *loop, _unused_ struct pipeline *p, struct err *err)
{
	struct net_closing *c = ctx;
	int r = c->file ? closing_progress_new(loop, c->run, put_progress, c, &c->progress) : 0;

	return r < 0 ? err_errno(err, r, "cannot show progress") : 0;
}

void net_closing_stopped(void *ctx)
{
	closing_progress_free(TAKE_PTR(((struct net_closing *)ctx)->progress));
}
