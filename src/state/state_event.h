/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events and the state engine: state events become facts, which then answer for each event. Never reads /proc, so
 * live runs and replays have the same data.
 */
#ifndef STATE_STATE_EVENT_H
#define STATE_STATE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

struct event;
struct names;
struct state;
struct state_range;

/*
 * Applies state events (SEC_STATE, SEC_FILE), then extends @ev: SEC_PROC if its process is known
 * at its time, the process keys if only the socket was known, and the file, the call and the container. Added data
 * belongs to the engine until the next event. 0 or -ENOMEM.
 */
int state_event(struct state *s, struct event *ev);

/* Only applies a state event: others that wait in front of it see its facts. 0 or -ENOMEM. */
int state_event_learn(struct state *s, const struct event *ev);

/*
 * Passes @fn the processes that the engine knows, as events without a type: keys, SEC_PROC, and the time of the end
 * (0 = alive): those alive, then those that ended after @since_ns, the latest first. A result of @fn other than 0
 * ends the walk and is returned; -ENOMEM.
 */
int state_event_known(struct state *s, const struct names *names, uint64_t since_ns,
		      int (*fn)(void *ctx, const struct event *ev), void *ctx);

/* Bytes of TCP that the process of @ev received in a packet. False if there are none. */
bool state_event_receives(const struct event *ev, struct state_range *ret);

#endif
