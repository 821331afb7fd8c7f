// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Flows as `hubble observe -o jsonpb` writes and `hubble observe --input-file` reads them: one GetFlowsResponse per
 * line, with the names and numbers of Cilium's API. Omits events that are not flows; reports lost events.
 */
#include "base/buf.h"
#include "event/core.h"
#include "sinks/cilium/hubble_flow.h"
#include "sinks/outfile.h"
#include "sinks/sink.h"

struct hubble {
	struct hubble_map map;
	struct time_text time;
	struct buf line;
};

static int hubble_event(struct sink *s, const struct event *ev)
{
	const char *node = s->opts->host ? s->opts->host->hostname : NULL;
	struct hubble *h = s->state;
	struct hubble_flow flow;
	uint64_t lost = 0;
	int64_t cpu = 0;
	int r = hubble_flow_event(&h->map, ev, &flow, &lost, &cpu);

	if (r <= 0)
		return r;
	buf_reset(&h->line);
	hubble_put_response(&h->line, &h->time, ev, r == 1 ? &flow : NULL, lost, cpu, node);
	r = buf_error(&h->line);
	return r < 0 ? r : outfile_record(s->out, h->line.data, h->line.len);
}

static int hubble_close(struct sink *s)
{
	struct hubble *h = s->state;

	hubble_flow_fini(&h->map);
	buf_fini(&h->line);
	return 0;
}

const struct sink_ops hubble_sink = {
	.name = "hubble", .summary = "flows and drops as `hubble observe -o jsonpb` writes them",
	.tool = "hubble", .instead_of = "json",
	.shows = "flows", .state_size = sizeof(struct hubble), .event = hubble_event, .close = hubble_close,
};
