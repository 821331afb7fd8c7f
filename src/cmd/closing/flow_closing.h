/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts flows for the closing lines of sonde flows; for struct tally.
 */
#ifndef CMD_FLOW_CLOSING_H
#define CMD_FLOW_CLOSING_H

#include <stdint.h>

#include "base/map.h"

struct buf;
struct event;

struct flow_closing {
	struct map open;	/* ids: memory follows open flows, not all flows */
	uint64_t seen;
	uint64_t closed;	/* id of the flow that ended last */
};

void flow_closing_init(struct flow_closing *f);
void flow_closing_fini(struct flow_closing *f);
void flow_closing_event(void *ctx, const struct event *ev);	/* @ctx: a struct flow_closing */
void flow_closing_line(void *ctx, struct buf *line);

#endif
