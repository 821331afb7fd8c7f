/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies of events that outlive their callback: the event, its body and its sections in one piece of memory. Names
 * (struct names) stay borrowed from the pipeline, which must live as long. State behind the event (`view`) is left
 * out.
 */
#ifndef EVENT_COPY_H
#define EVENT_COPY_H

#include <stddef.h>

struct arena;
struct event;

size_t event_copy_size(const struct event *ev);		/* bytes, a multiple of 8 */
void event_copy_put(const struct event *ev, void *to);	/* @to: aligned to 8 bytes */
/* *ret points into @copy; values that are built on demand go to @scratch. */
void event_copy_get(const void *copy, struct arena *scratch, struct event *ret);

#endif
