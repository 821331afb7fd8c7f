/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Adds processes, containers and socket owners to events. State events become facts of the engine (state/state.h),
 * which then answers for each event. Never reads /proc, so live runs and replays have the same data.
 */
#ifndef ENRICH_ENRICH_H
#define ENRICH_ENRICH_H

#include <stdbool.h>

struct enrich;
struct event;
struct state;
struct state_range;

/* @state: borrowed. */
struct enrich *enrich_new(struct state *state);
void enrich_free(struct enrich *e);

/*
 * Applies state events to the engine (by section and field names, not by probe), then extends @ev: SEC_PROC if its
 * process is known at its time, and the process keys if only the socket was known. Added data belongs to the engine
 * until the next event. 0 or -ENOMEM.
 */
int enrich_event(struct enrich *e, struct event *ev);

/* Only applies a state event: others that wait in front of it see its facts. 0 or -ENOMEM. */
int enrich_learn(struct enrich *e, const struct event *ev);

/* Bytes of TCP that the process of @ev received in a packet. False if there are none. */
bool enrich_receives(struct enrich *e, const struct event *ev, struct state_range *ret);

#endif
