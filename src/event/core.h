/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bodies of the pipeline's own events.
 */
#ifndef EVENT_CORE_H
#define EVENT_CORE_H

#include <stdint.h>

#include "event/event.h"
#include "sonde/wire.h"

extern const struct xlat lost_cause_xlat;	/* SONDE_LOST_*: ring_full, recursion, ... */

/* sonde.ledger (EVENT_META): totals of one instance, or of one client when client is set. */
struct core_ledger {
	uint64_t seen, delivered, filtered, sampled, lost;
	uint64_t lost_by[SONDE_LOST__MAX];
};

/* sonde.lost (EVENT_META): count events are missing here. */
struct core_lost {
	uint64_t count;
	uint32_t cause;		/* SONDE_LOST_* */
	uint32_t pad;
};

/* packet (EVENT_DATA): from a capture file; SEC_PACKET, SEC_TEXT with its comments. */
struct core_packet {
	uint32_t len;		/* on the wire */
	uint32_t iface;
	uint8_t direction, pad[7];
};

/* sonde.host (EVENT_STATE) */
struct core_host {
	uint32_t n_cpus, page_size;
	char release[64], machine[32], hostname[64];
};

#endif
