/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state engine: processes, threads, images, sockets and files at any time of the stream.
 *
 * A fact holds from a point of event time on; a question is a key and a time. The engine has no clock. Answers do not
 * depend on the order in which the facts of one window arrive.
 *
 * An event is stronger than a snapshot, unless records between the two were lost. An own value is stronger than an
 * inherited one.
 */
#ifndef STATE_STATE_H
#define STATE_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "state/state_limits.h"

enum state_table { STATE_PROCESS, STATE_THREAD, STATE_SOCKET, STATE_FILE, STATE_TABLE__MAX };

struct state_stats {
	uint64_t entries;
	uint64_t bytes;
	uint64_t evicted;	/* entries removed for lack of room */
};

/* @budget_bytes: limit of all tables (0 = 64 MiB). NULL without memory. */
struct state *state_new(size_t budget_bytes);
void state_free(struct state *s);

/* Records from before @ts_ns were lost: snapshots taken later are stronger than events from before. */
void state_lost(struct state *s, uint64_t ts_ns);

void state_stats(const struct state *s, enum state_table table, struct state_stats *ret);

#endif
