/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Facts added to events from tables that the stream itself filled: processes, containers, socket owners.
 * No look-up ever reads /proc: live and replay know the same.
 */
#ifndef ENRICH_ENRICH_H
#define ENRICH_ENRICH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct enrich;
struct event;

struct enrich_stats {
	uint64_t processes, sockets;	/* in the tables */
	uint64_t evicted;		/* removed to stay within the budget */
	uint64_t unresolved;		/* events with a process that was not known */
};

/* @budget_bytes bounds all tables (0 = 64 MiB). */
struct enrich *enrich_new(size_t budget_bytes);
void enrich_free(struct enrich *e);

/*
 * First feeds the tables from state events (by section and field names, not by probe), then adds to @ev:
 * SEC_PROC when its process is known at its time, and the process keys when only the socket was known.
 * What was added is lent by the tables until the next event, or lives in @scratch. 0 or -ENOMEM.
 */
int enrich_event(struct enrich *e, struct event *ev, struct arena *scratch);

/* Records about processes were lost, up to @ts_ns: who owns those known so far has to be read again. */
void enrich_lost(struct enrich *e, uint64_t ts_ns);

/*
 * The user whose process (@tgid, @start_ns) was at @ts_ns, as the tables know it. False when they do not, or when a
 * record that changed it may have been lost.
 */
bool enrich_owner(struct enrich *e, uint32_t tgid, uint64_t start_ns, uint64_t ts_ns, uint32_t *ret_uid);

void enrich_stats(const struct enrich *e, struct enrich_stats *ret);

#endif
