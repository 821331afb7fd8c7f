// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Discards events and writes the ledger (as JSON), for benchmarks and for runs that only measure losses.
 */
#include "base/buf.h"
#include "base/cleanup.h"
#include "sinks/json_line.h"
#include "sinks/outfile.h"
#include "sinks/sink.h"
#include "sonde/wire.h"

static int write_ledger(struct sink *s, const struct event *ev)
{
	_cleanup_(buf_fini) struct buf line = { 0 };
	_cleanup_(json_line_fini) struct json_line json = { 0 };
	int r = json_line(&json, ev, NULL, false, &line);

	return r < 0 ? r : outfile_record(s->out, line.data, line.len);
}

/* Called up to a million times per second in benchmarks. */
static int null_event(struct sink *s, const struct event *ev)
{
	return ev->desc->type == SONDE_EV_LEDGER ? write_ledger(s, ev) : 0;
}

const struct sink_ops null_sink = {
	.name = "null", .summary = "only the ledger, at the end", .event = null_event,
};
