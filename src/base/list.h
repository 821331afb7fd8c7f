/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Intrusive circular lists, as of entries by age: the oldest is the first.
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stddef.h>

/* A member of entries, and the head. */
struct list {
	struct list *prev, *next;	/* of the head: the last, the first */
};

static inline void list_init(struct list *l)
{
	l->prev = l->next = l;
}

static inline struct list *list_first(const struct list *head)
{
	return head->next == head ? NULL : head->next;
}

/* Fine for an entry that is in no list, if it was initialised. */
static inline void list_remove(struct list *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
	list_init(l);
}

/* Appends @l as the last. It must not be in a list. */
static inline void list_add(struct list *head, struct list *l)
{
	l->next = head;
	l->prev = head->prev;
	l->prev->next = l;
	head->prev = l;
}

#endif
