/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event type of packets in capture files. Private to src/event.
 */
#ifndef EVENT_CORE_PACKET_H
#define EVENT_CORE_PACKET_H

struct emitter;
struct event;
struct event_desc;
struct sonde_rec;

extern const struct event_desc core_packet_desc;

int core_packet_decode(const struct sonde_rec *r, struct event *ev, const struct emitter *em);

#endif
