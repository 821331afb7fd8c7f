/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bodies of the pipeline's own events.
 */
#ifndef EVENT_CORE_H
#define EVENT_CORE_H

#include <stdint.h>

#include "event/event.h"
#include "event/names.h"
#include "sonde/wire.h"

extern const struct xlat lost_cause_xlat;	/* SONDE_LOST_*: ring_full, recursion, ... */
extern const struct xlat ip_proto_xlat;		/* IPPROTO_*: tcp, udp, ... */

extern const struct event_desc *const core_descs[];	/* NULL-terminated */
extern const struct event_desc core_lost_desc;		/* published by modules that drop events: bus, pipeline */

/* sonde.ledger (EVENT_META): totals of one probe instance. */
struct core_ledger {
	uint64_t seen, delivered, filtered, sampled, lost;
	uint64_t lost_by[SONDE_LOST__MAX];
};

/* sonde.lost (EVENT_META): @count events are missing at this point of the stream. */
struct core_lost {
	uint64_t count;
	uint32_t cause;		/* SONDE_LOST_* */
	uint32_t pad;
};

/* Causes that lose no event of the stream but its names, or calls from before it. */
bool core_lost_is_apart(uint32_t cause);
/* The sentence of a cause for messages, with the remedy; NULL: unknown to this version. */
const char *core_lost_why(uint32_t cause);

/* sonde.sampling (EVENT_META): rate of one probe instance from here on. */
struct core_sampling {
	uint32_t one_in, cost_permille, budget_permille, pad;
};

/* sonde.clock (EVENT_STATE) */
struct core_clock {
	int64_t offset_ns;	/* CLOCK_REALTIME - CLOCK_BOOTTIME */
};

/* sonde.name (EVENT_STATE): SEC_TEXT holds the name; an empty name removes the entry. */
struct core_name {
	uint64_t key;
	uint32_t space;		/* SONDE_NAME_* */
	uint32_t pad;
};

#endif
