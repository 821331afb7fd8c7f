/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flows as Hubble's Observer sends them: GetFlowsResponse (observer.proto) in protobuf's bytes. Members and values
 * are those of hubble_put_response().
 */
#ifndef SINKS_HUBBLE_PB_H
#define SINKS_HUBBLE_PB_H

#include <stdint.h>

#include "base/buf.h"

struct event;
struct hubble_flow;

/* LostEventSource */
enum hubble_lost { HUBBLE_LOST_PERF = 1, HUBBLE_LOST_QUEUE, HUBBLE_LOST_RING, HUBBLE_LOST__MAX };

/* Scratch memory. Starts zeroed. */
struct hubble_pb {
	struct buf flow, part, inner, text;
};

void hubble_pb_fini(struct hubble_pb *p);

/* Appends the response of flow @f. @node may be NULL. */
void hubble_pb_flow(struct hubble_pb *p, const struct event *ev, const struct hubble_flow *f, const char *node,
		    struct buf *out);
/* The response that @lost events are missing; @cpu < 0 = of none. @wall_ns: 0 = unknown. */
void hubble_pb_lost(struct hubble_pb *p, enum hubble_lost source, uint64_t lost, int64_t cpu, uint64_t wall_ns,
		    const char *node, struct buf *out);

#endif
