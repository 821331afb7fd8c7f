/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event type of packets in capture files. Private to src/event.
 */
#ifndef EVENT_CORE_PACKET_H
#define EVENT_CORE_PACKET_H

#include <stdint.h>

struct emitter;
struct event;
struct sonde_rec;

/* packet (EVENT_DATA): a packet of a capture file in SEC_PACKET, its comments in SEC_TEXT. */
struct core_packet {
	uint32_t len;		/* bytes on the wire */
	uint32_t iface;
	uint8_t direction, pad[7];
};

extern const struct event_desc core_packet_desc;

int core_packet_decode(const struct sonde_rec *r, struct event *ev, const struct emitter *em);

#endif
