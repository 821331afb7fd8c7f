// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The end of sonde flows: number of flows, and how many were still open.
 */
#include "cmd/closing/flow_closing.h"

#include "base/buf.h"
#include "cmd/closing/closing.h"
#include "event/event.h"
#include "probes/net/flow/net_flow_wire.h"

void flow_closing_init(struct flow_closing *f)
{
	*f = (struct flow_closing){ .seen = 0 };
	map_init(&f->open, sizeof(uint64_t), 0);
}

void flow_closing_fini(struct flow_closing *f)
{
	map_fini(&f->open);
}

static int get(const struct event *ev, const char *word, uint64_t *ret)
{
	const struct field *f = event_field_named(ev->desc->fields, ev->desc->n_fields, word);

	return f ? event_get_number(ev, f, ret) : -1;
}

/* A flow that is open when the run ends is reported once more, as "end". */
void flow_closing_event(void *ctx, const struct event *ev)
{
	struct flow_closing *f = ctx;
	uint64_t id, why;

	if (get(ev, "flow.id", &id) < 0 || get(ev, "flow.event", &why) < 0)
		return;
	if (why == NET_FLOW_CLOSED || why == NET_FLOW_IDLE) {
		f->seen += !map_remove(&f->open, &id) && id != f->closed;
		f->closed = id;		/* the event of its other direction follows immediately */
		return;
	}
	f->seen += map_note(&f->open, &id) > 0;
}

void flow_closing_line(void *ctx, struct buf *line)
{
	const struct flow_closing *f = ctx;

	closing_add_count(line, f->seen, "flow");
	if (f->open.len) {
		buf_add_str(line, ", ");
		closing_add_number(line, f->open.len);
		buf_add_str(line, " still open");
	}
}
