// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of open calls. Lists are circular with a head of their own; entries are allocated one by one, so that
 * pointers to them stay good.
 */
#include "probes/gorpc/gorpc_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

#define TEXT_MAX 16384u

static void list_init(struct gorpc_link *l)
{
	l->next = l->prev = l;
}

static void list_add(struct gorpc_link *head, struct gorpc_link *l)
{
	l->prev = head->prev;
	l->next = head;
	head->prev->next = l;
	head->prev = l;
}

static void list_del(struct gorpc_link *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
	list_init(l);
}

void gorpc_calls_init(struct gorpc_calls *t)
{
	if (t->ready)
		return;
	map_init(&t->calls, sizeof(struct gorpc_call_key), sizeof(struct gorpc_call *));
	map_init(&t->conns, sizeof(struct gorpc_conn_key), sizeof(struct gorpc_conn *));
	map_init(&t->cookies, sizeof(uint64_t), sizeof(struct gorpc_conn *));
	list_init(&t->calls_lru);
	list_init(&t->conns_lru);
	t->ready = true;
}

void gorpc_calls_fini(struct gorpc_calls *t)
{
	if (!t->ready)
		return;
	while (t->calls_lru.next != &t->calls_lru)
		gorpc_call_remove(t, container_of(t->calls_lru.next, struct gorpc_call, lru));
	while (t->conns_lru.next != &t->conns_lru)
		gorpc_conn_remove(t, container_of(t->conns_lru.next, struct gorpc_conn, lru));
	map_fini(&t->calls);
	map_fini(&t->conns);
	map_fini(&t->cookies);
	t->ready = false;
}

/* ---- connections ---- */

struct gorpc_conn *gorpc_conn_find(const struct gorpc_calls *t, const struct gorpc_conn_key *key)
{
	struct gorpc_conn **slot = map_find(&t->conns, key);

	return slot ? *slot : NULL;
}

/* One without calls, the least recently used; NULL when all have some. */
static struct gorpc_conn *idle_conn(const struct gorpc_calls *t)
{
	for (struct gorpc_link *l = t->conns_lru.next; l != &t->conns_lru; l = l->next) {
		struct gorpc_conn *c = container_of(l, struct gorpc_conn, lru);

		if (c->calls.next == &c->calls)
			return c;
	}
	return NULL;
}

struct gorpc_conn *gorpc_conn_add(struct gorpc_calls *t, const struct gorpc_conn_key *key)
{
	struct gorpc_conn *c = gorpc_conn_find(t, key), **slot;

	if (c) {
		list_del(&c->lru);
		list_add(&t->conns_lru, &c->lru);
		return c;
	}
	if (t->conns.len >= GORPC_CONNS_MAX && (c = idle_conn(t)))
		gorpc_conn_remove(t, c);
	c = calloc(1, sizeof(*c));
	slot = c ? map_add(&t->conns, key, NULL) : NULL;
	if (!slot) {
		free(c);
		return NULL;
	}
	*slot = c;
	c->key = *key;
	c->fd = -1;
	list_init(&c->calls);
	list_add(&t->conns_lru, &c->lru);
	return c;
}

struct gorpc_conn *gorpc_conn_of_cookie(const struct gorpc_calls *t, uint64_t cookie)
{
	struct gorpc_conn **slot = t->ready ? map_find(&t->cookies, &cookie) : NULL;

	return slot ? *slot : NULL;
}

static void forget_cookie(struct gorpc_calls *t, struct gorpc_conn *c)
{
	if (c->keys.cookie && gorpc_conn_of_cookie(t, c->keys.cookie) == c)
		map_remove(&t->cookies, &c->keys.cookie);
}

void gorpc_conn_set_cookie(struct gorpc_calls *t, struct gorpc_conn *c, uint64_t cookie)
{
	struct gorpc_conn **slot;

	if (cookie == c->keys.cookie)
		return;
	forget_cookie(t, c);
	c->keys.cookie = cookie;
	slot = cookie ? map_add(&t->cookies, &cookie, NULL) : NULL;
	if (slot)
		*slot = c;
}

void gorpc_conn_remove(struct gorpc_calls *t, struct gorpc_conn *c)
{
	forget_cookie(t, c);
	map_remove(&t->conns, &c->key);
	list_del(&c->lru);
	free(c);
}

/* ---- calls ---- */

struct gorpc_call *gorpc_call_find(const struct gorpc_calls *t, const struct gorpc_call_key *key)
{
	struct gorpc_call **slot = map_find(&t->calls, key);

	return slot ? *slot : NULL;
}

struct gorpc_call *gorpc_call_add(struct gorpc_calls *t, const struct gorpc_call_key *key, struct gorpc_conn *conn)
{
	struct gorpc_call *c = calloc(1, sizeof(*c)), **slot = c ? map_add(&t->calls, key, NULL) : NULL;

	if (!slot) {
		free(c);
		return NULL;
	}
	*slot = c;
	c->key = *key;
	c->conn = conn;
	c->body.status = GORPC_STATUS_UNKNOWN;
	list_add(&t->calls_lru, &c->lru);
	list_add(&conn->calls, &c->in_conn);
	return c;
}

void gorpc_call_remove(struct gorpc_calls *t, struct gorpc_call *c)
{
	map_remove(&t->calls, &c->key);
	list_del(&c->lru);
	list_del(&c->in_conn);
	for (unsigned i = 0; i < GORPC_TEXT__MAX; i++)
		free(c->text[i]);
	free(c);
}

struct gorpc_call *gorpc_calls_surplus(const struct gorpc_calls *t)
{
	return t->calls.len >= GORPC_CALLS_MAX ? container_of(t->calls_lru.next, struct gorpc_call, lru) : NULL;
}

int gorpc_call_set(struct gorpc_call *c, enum gorpc_text which, const char *text, size_t len)
{
	free(c->text[which]);
	c->text[which] = NULL;
	c->text_len[which] = 0;
	return gorpc_call_append(c, which, text, len);
}

int gorpc_call_append(struct gorpc_call *c, enum gorpc_text which, const char *text, size_t len)
{
	size_t have = c->text_len[which];
	char *grown;

	len = MIN(len, TEXT_MAX - have);
	if (!len)
		return 0;
	grown = realloc(c->text[which], have + len);
	if (!grown)
		return -ENOMEM;
	memcpy(grown + have, text, len);
	c->text[which] = grown;
	c->text_len[which] = (uint32_t)(have + len);
	return 0;
}
