// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * NDJSON: one object per line (sinks/json_line.h). What the pipeline publishes last, the ledger, is last here.
 */
#include "base/buf.h"
#include "sinks/json_line.h"
#include "sinks/outfile.h"
#include "sinks/sink.h"

struct json_state {
	struct time_text time;
	struct buf line;
};

static int json_event(struct sink *s, const struct event *ev)
{
	struct json_state *st = s->state;
	int r;

	buf_reset(&st->line);
	r = json_line(&st->time, ev, s->opts->sym, s->opts->line.hex, &st->line);
	return r < 0 ? r : outfile_record(s->out, st->line.data, st->line.len);
}

static int json_state_close(struct sink *s)
{
	struct json_state *st = s->state;

	buf_fini(&st->line);
	return 0;
}

const struct sink_ops json_sink = {
	.name = "json", .summary = "one JSON object per line; the ledger comes last", .suffix = ".json",
	.state_size = sizeof(struct json_state), .event = json_event, .close = json_state_close,
};
