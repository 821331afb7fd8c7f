// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * NDJSON: one object per line (sinks/json_line.h). The ledger, published last, is the last line.
 */
#include "base/clock.h"
#include "sinks/json_line.h"
#include "sinks/json_names.h"
#include "sinks/outfile.h"
#include "sinks/sink.h"

struct json_state {
	struct json_line json;
	struct json_names names;
};

/* A replay gets the names of all stacks at its end. */
static bool waits(const struct sink *s)
{
	return s->opts->wait && !s->opts->follows;
}

/* With symbol names: lines wait, so that each file is queried once for all of them. */
static int json_event_named(struct sink *s, const struct event *ev)
{
	struct json_state *st = s->state;
	uint64_t now_ns = clock_boot_ns();
	int r;

	st->names.sym = s->opts->sym;
	if (!st->names.since_ns)
		st->names.since_ns = now_ns;
	r = json_line(&st->json, ev, &st->names, s->opts->line.hex, &st->names.text);
	if (r >= 0 && json_names_due(&st->names, now_ns, waits(s)))
		r = json_names_write(&st->names, s->out);
	return r;
}

static int json_event(struct sink *s, const struct event *ev)
{
	struct json_state *st = s->state;
	int r;

	if (s->opts->sym)
		return json_event_named(s, ev);
	r = json_line(&st->json, ev, NULL, s->opts->line.hex, outfile_begin(s->out));
	if (r >= 0)
		return outfile_end(s->out);
	outfile_cancel(s->out);
	return r;
}

static int json_flush(struct sink *s)
{
	struct json_state *st = s->state;

	return json_names_due(&st->names, clock_boot_ns(), waits(s)) ? json_names_write(&st->names, s->out) : 0;
}

static int json_state_close(struct sink *s)
{
	struct json_state *st = s->state;
	int r = st->names.since_ns ? json_names_write(&st->names, s->out) : 0;

	json_names_fini(&st->names);
	json_line_fini(&st->json);
	return r;
}

const struct sink_ops json_sink = {
	.name = "json", .summary = "one JSON object per line; the ledger comes last", .suffix = ".json",
	.state_size = sizeof(struct json_state), .event = json_event, .flush = json_flush,
	.close = json_state_close,
};
