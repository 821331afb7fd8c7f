/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists in order of age, for tables that forget: the oldest entry is at the front. The links live in the entries.
 */
#ifndef ENRICH_AGING_H
#define ENRICH_AGING_H

#include <stddef.h>

struct aged {
	struct aged *prev, *next;
};

struct age_list {
	struct aged head;	/* a ring: head.next is the oldest */
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

/* @a becomes the youngest of @l; it is in no list. */
static inline void age_add(struct age_list *l, struct aged *a)
{
	a->next = &l->head;
	a->prev = l->head.prev;
	a->prev->next = a;
	l->head.prev = a;
}

#endif
