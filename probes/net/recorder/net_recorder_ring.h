/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the flight recorder's slots during writes, and separates whole packets from torn ones. Works on memory only.
 */
#ifndef NET_NET_RECORDER_RING_H
#define NET_NET_RECORDER_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/net/recorder/net_recorder_wire.h"

/* One ring: the slots of a CPU and direction. */
struct net_recorder_ring {
	const uint8_t *slots;
	size_t slot_bytes;	/* head and data, rounded as the kernel does */
	uint32_t n;		/* slots, a power of two */
	const struct net_recorder_pos *pos;
};

struct net_recorder_ring_stats {
	uint64_t torn;	    /* overwritten while they were read */
	uint64_t oldest_ns; /* time of the oldest whole slot; 0 = none */
	bool lapped;	    /* slots were overwritten: packets before oldest_ns are missing */
};

/* @s is a whole copy, with cap_len within its bytes. A negative return ends the reading and is its result. */
typedef int (*net_slot_fn)(void *ctx, const struct net_slot *s);

/*
 * Calls @fn for each slot with a time in [@from_ns, @to_ns], in the order of the ring. @scratch: slot_bytes. Adds to
 * @st, which the caller zeroed. Packets of the last moments may be missing: choose @to_ns in the past. Returns 0 or
 * the result of @fn.
 */
int net_recorder_ring_read(const struct net_recorder_ring *s, uint64_t from_ns, uint64_t to_ns,
			   struct net_slot *scratch, net_slot_fn fn, void *ctx, struct net_recorder_ring_stats *st);

#endif
