/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Intrusive lists ordered by age, for tables that evict entries: the oldest is at the front.
 */
#ifndef STATE_LRU_H
#define STATE_LRU_H

#include <stddef.h>

struct aged {
	struct aged *prev, *next;
};

struct age_list {
	struct aged head;	/* circular: head.next is the oldest */
};

static inline void age_init(struct age_list *l)
{
	l->head.prev = l->head.next = &l->head;
}

static inline struct aged *age_oldest(struct age_list *l)
{
	return l->head.next == &l->head ? NULL : l->head.next;
}

static inline void age_remove(struct aged *a)
{
	a->prev->next = a->next;
	a->next->prev = a->prev;
	a->prev = a->next = a;
}

/* Appends @a as the youngest. It must not be in a list. */
static inline void age_add(struct age_list *l, struct aged *a)
{
	a->next = &l->head;
	a->prev = l->head.prev;
	a->prev->next = a;
	l->head.prev = a;
}

#endif
