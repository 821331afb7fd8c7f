/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maps events to notifications of Cilium's monitor, for its lines (sinks/cilium/cilium.c) and its clients (the
 * agent's listener). Cilium's own records (SEC_NOTIFY) pass unchanged; other events map by their fields and sections,
 * whatever their probe:
 *
 *   drop.reason, drop.cause     a drop; code from tables/cilium_drops.tsv, a cause by its text
 *   net.point                   a trace at that point, state from net.state
 *   xdp.action                  a drop without packet bytes
 *   a packet and none of these  a trace at from-network or to-network
 *   sonde.lost                  a lost record
 *   rpc.path and rpc.latency    an access-log record (L7) of a response
 *
 * Identities: 1 host, 2 world, 256 + id for an endpoint; 0 = unknown. An endpoint's id is the index of its interface
 * in the host's namespace, or a number from 32768 on, hashed from namespace and index: stable for the interface's
 * lifetime. File and line are 0.
 */
#ifndef SINKS_CILIUM_MAP_H
#define SINKS_CILIUM_MAP_H

#include "base/buf.h"
#include "base/vec.h"
#include "sinks/time_text.h"

struct cilium_payload;
struct map_type;

struct cilium_map {
	VEC(struct map_type) types;	/* known event types with their fields */
	struct buf bytes;		/* of the current payload */
	struct time_text time;
};

void cilium_map_fini(struct cilium_map *m);	/* *m starts zeroed */

/* 1 and the payload (valid until the next call), 0 if the event maps to no notification, or -ENOMEM. */
int cilium_map_event(struct cilium_map *m, const struct event *ev, struct cilium_payload *ret);

/* Drop code of a reason and cause; either may be VAL_NONE. */
uint8_t cilium_map_drop_code(const struct value *reason, const struct value *cause);

#endif
