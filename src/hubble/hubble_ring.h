/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The latest flows: each as the message that its clients get, and a copy of its event for their filters. Entries are
 * numbered from 0 on; a reader is a number, so readers cost nothing, and an overtaken reader can tell by how much.
 */
#ifndef HUBBLE_HUBBLE_RING_H
#define HUBBLE_HUBBLE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct event;

#define HUBBLE_RING_ENTRIES 4095u

struct hubble_ring *hubble_ring_new(void);	/* NULL without memory */
void hubble_ring_free(struct hubble_ring *r);	/* NULL is fine */

/* Adds a flow, or a report of a loss for every reader (@ev NULL); replaces the oldest entry. 0 or -ENOMEM. */
int hubble_ring_add(struct hubble_ring *r, const struct event *ev, const struct buf *message);

uint64_t hubble_ring_first(const struct hubble_ring *r);	/* oldest entry; hubble_ring_next() if empty */
uint64_t hubble_ring_next(const struct hubble_ring *r);		/* of the entry that will come */
uint64_t hubble_ring_flows(const struct hubble_ring *r);	/* ever added */
/* Message of entry @n, which is there; valid until it is replaced. */
const void *hubble_ring_message(const struct hubble_ring *r, uint64_t n, size_t *ret_len);
/*
 * Its event, valid until the next call; false for a loss. @then: hosts and pods have the names that they had when the
 * entry was added, as in its message; else those of now, which costs less.
 */
bool hubble_ring_event(struct hubble_ring *r, uint64_t n, bool then, struct event *ret);

#endif
