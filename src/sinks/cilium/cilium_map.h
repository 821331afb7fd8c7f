/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events as notifications of Cilium's monitor: for its lines (sinks/cilium/cilium.c) and for its clients (the agent's
 * listener). What came from Cilium (SEC_NOTIFY) goes out as it came; what is ours is told by the fields and sections
 * that an event has, whoever made it:
 *
 *   drop.reason, drop.cause     a drop, code by tables/cilium_drops.tsv; a cause is worded as its code
 *   net.point                   a trace at that point, its state by net.state
 *   xdp.action                  a drop without packet bytes
 *   a packet and none of these  a trace at from-network or to-network
 *   sonde.lost                  a lost record
 *   rpc.path and rpc.latency    an access-log record (L7) of the answer to a call
 *
 * Identities: 1 host, 2 world, an endpoint's is 256 + its id; 0 = not known. An endpoint's id is the index of its
 * interface in the host's namespace, or a number from 32768 on made of namespace and index: stable as long as the
 * interface lives. File and line are 0.
 */
#ifndef SINKS_CILIUM_MAP_H
#define SINKS_CILIUM_MAP_H

#include "base/buf.h"
#include "base/vec.h"
#include "sinks/time_text.h"

struct cilium_payload;
struct event;
struct map_type;
struct value;

struct cilium_map {
	VEC(struct map_type) types;	/* event types seen, with their fields */
	struct buf bytes;		/* of the payload at hand */
	struct time_text time;
};

void cilium_map_fini(struct cilium_map *m);	/* a zeroed struct is ready */

/* 1 and the payload (valid until the next call), 0 when the event has no such form, or -ENOMEM. */
int cilium_map_event(struct cilium_map *m, const struct event *ev, struct cilium_payload *ret);

/* The code of a drop with this reason and cause; either may be VAL_NONE. */
uint8_t cilium_map_drop_code(const struct value *reason, const struct value *cause);

#endif
