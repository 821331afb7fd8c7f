// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The socket table.
 */
#include "enrich/socktab.h"

#include <errno.h>
#include <stdlib.h>

#include "base/macros.h"
#include "base/map.h"
#include "enrich/lru.h"

#define KEEP_CLOSED 4096	/* closed sockets that are kept however much room there is */

struct sock_entry {
	struct aged age;	/* in open by last use, or in closed by time of closing */
	uint64_t cookie, start_ns;
	uint32_t tgid;
	bool closed;
};

struct socktab {
	struct map by_cookie;	/* uint64_t -> struct sock_entry * */
	struct age_list open, closed;
	size_t max, n_closed;
	uint64_t evicted;	/* that were open */
};

static void forget(struct socktab *t, struct sock_entry *e)
{
	age_remove(&e->age);
	t->n_closed -= e->closed;
	map_remove(&t->by_cookie, &e->cookie);
	free(e);
}

static struct sock_entry *find(const struct socktab *t, uint64_t cookie)
{
	struct sock_entry **e = map_find(&t->by_cookie, &cookie);

	return e ? *e : NULL;
}

static void make_room(struct socktab *t)
{
	struct aged *a;

	while (t->n_closed > KEEP_CLOSED || (t->by_cookie.len >= t->max && t->n_closed))
		forget(t, container_of(age_oldest(&t->closed), struct sock_entry, age));
	while (t->by_cookie.len >= t->max && (a = age_oldest(&t->open))) {
		forget(t, container_of(a, struct sock_entry, age));
		t->evicted++;
	}
}

int socktab_set(struct socktab *t, uint64_t cookie, uint32_t tgid, uint64_t start_ns)
{
	struct sock_entry *e = find(t, cookie), **at;

	if (!e) {
		make_room(t);
		e = calloc(1, sizeof(*e));
		at = e ? map_add(&t->by_cookie, &cookie, NULL) : NULL;
		if (!at) {
			free(e);
			return -ENOMEM;
		}
		*at = e;
		e->cookie = cookie;
		age_add(&t->open, &e->age);
	}
	e->tgid = tgid;
	e->start_ns = start_ns;
	return 0;
}

void socktab_close(struct socktab *t, uint64_t cookie)
{
	struct sock_entry *e = find(t, cookie);

	if (!e || e->closed)
		return;
	e->closed = true;
	t->n_closed++;
	age_remove(&e->age);
	age_add(&t->closed, &e->age);
}

bool socktab_find(struct socktab *t, uint64_t cookie, uint32_t *ret_tgid, uint64_t *ret_start_ns)
{
	struct sock_entry *e = find(t, cookie);

	if (!e)
		return false;
	if (!e->closed) {
		age_remove(&e->age);
		age_add(&t->open, &e->age);
	}
	*ret_tgid = e->tgid;
	*ret_start_ns = e->start_ns;
	return true;
}

struct socktab *socktab_new(size_t max)
{
	struct socktab *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	map_init(&t->by_cookie, sizeof(uint64_t), sizeof(struct sock_entry *));
	age_init(&t->open);
	age_init(&t->closed);
	t->max = max;
	return t;
}

void socktab_free(struct socktab *t)
{
	struct aged *a;

	if (!t)
		return;
	while ((a = age_oldest(&t->open)) || (a = age_oldest(&t->closed)))
		forget(t, container_of(a, struct sock_entry, age));
	map_fini(&t->by_cookie);
	free(t);
}

void socktab_stats(const struct socktab *t, uint64_t *ret_sockets, uint64_t *ret_evicted)
{
	*ret_sockets = t->by_cookie.len;
	*ret_evicted = t->evicted;
}
