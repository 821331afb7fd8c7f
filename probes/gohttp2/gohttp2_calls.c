// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of open calls. Lists are circular with a head node; entries are allocated one by one, so pointers to them
 * stay valid.
 */
#include "probes/gohttp2/gohttp2_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

#define TEXT_MAX 16384u

void gohttp2_calls_init(struct gohttp2_calls *t)
{
	if (t->ready)
		return;
	map_init(&t->calls, sizeof(struct gohttp2_call_key), sizeof(struct gohttp2_call *));
	map_init(&t->conns, sizeof(struct gohttp2_conn_key), sizeof(struct gohttp2_conn *));
	map_init(&t->cookies, sizeof(uint64_t), sizeof(struct gohttp2_conn *));
	map_init(&t->numbers, sizeof(uint64_t), sizeof(struct gohttp2_call *));
	list_init(&t->calls_lru);
	list_init(&t->conns_lru);
	t->ready = true;
}

void gohttp2_calls_fini(struct gohttp2_calls *t)
{
	if (!t->ready)
		return;
	while (t->calls_lru.next != &t->calls_lru)
		gohttp2_calls_remove(t, container_of(t->calls_lru.next, struct gohttp2_call, lru));
	while (t->conns_lru.next != &t->conns_lru)
		gohttp2_calls_conn_remove(t, container_of(t->conns_lru.next, struct gohttp2_conn, lru));
	map_fini(&t->calls);
	map_fini(&t->conns);
	map_fini(&t->cookies);
	map_fini(&t->numbers);
	t->ready = false;
}

/* ---- connections ---- */

struct gohttp2_conn *gohttp2_calls_conn_find(const struct gohttp2_calls *t, const struct gohttp2_conn_key *key)
{
	return map_find_ptr(&t->conns, key);
}

/* The least recently used connection without calls; NULL if all have some. */
static struct gohttp2_conn *idle_conn(const struct gohttp2_calls *t)
{
	for (struct list *l = t->conns_lru.next; l != &t->conns_lru; l = l->next) {
		struct gohttp2_conn *c = container_of(l, struct gohttp2_conn, lru);

		if (c->calls.next == &c->calls)
			return c;
	}
	return NULL;
}

struct gohttp2_conn *gohttp2_calls_conn_add(struct gohttp2_calls *t, const struct gohttp2_conn_key *key)
{
	struct gohttp2_conn *c = gohttp2_calls_conn_find(t, key);

	if (c) {
		list_remove(&c->lru);
		list_add(&t->conns_lru, &c->lru);
		return c;
	}
	if (t->conns.len >= GOHTTP2_CONNS_MAX && (c = idle_conn(t)))
		gohttp2_calls_conn_remove(t, c);
	c = map_add_new(&t->conns, key, sizeof(*c));
	if (!c)
		return NULL;
	c->key = *key;
	c->fd = -1;
	list_init(&c->calls);
	list_add(&t->conns_lru, &c->lru);
	return c;
}

struct gohttp2_conn *gohttp2_calls_conn_of_cookie(const struct gohttp2_calls *t, uint64_t cookie)
{
	return t->ready ? map_find_ptr(&t->cookies, &cookie) : NULL;
}

static void forget_cookie(struct gohttp2_calls *t, struct gohttp2_conn *c)
{
	if (c->keys.cookie && gohttp2_calls_conn_of_cookie(t, c->keys.cookie) == c)
		map_remove(&t->cookies, &c->keys.cookie);
}

void gohttp2_calls_conn_set_cookie(struct gohttp2_calls *t, struct gohttp2_conn *c, uint64_t cookie)
{
	if (cookie == c->keys.cookie)
		return;
	forget_cookie(t, c);
	c->keys.cookie = cookie;
	if (cookie)
		map_put(&t->cookies, &cookie, &c);
}

void gohttp2_calls_conn_remove(struct gohttp2_calls *t, struct gohttp2_conn *c)
{
	forget_cookie(t, c);
	map_remove(&t->conns, &c->key);
	list_remove(&c->lru);
	free(c);
}

/* ---- calls ---- */

struct gohttp2_call *gohttp2_calls_find(const struct gohttp2_calls *t, const struct gohttp2_call_key *key)
{
	return map_find_ptr(&t->calls, key);
}

struct gohttp2_call *gohttp2_calls_add(struct gohttp2_calls *t, const struct gohttp2_call_key *key,
				       struct gohttp2_conn *conn)
{
	struct gohttp2_call *c = map_add_new(&t->calls, key, sizeof(*c));

	if (!c)
		return NULL;
	c->key = *key;
	c->conn = conn;
	c->body.status = CALL_EVENT_STATUS_UNKNOWN;
	list_add(&t->calls_lru, &c->lru);
	list_add(&conn->calls, &c->in_conn);
	return c;
}

struct gohttp2_call *gohttp2_calls_numbered(const struct gohttp2_calls *t, uint64_t number)
{
	return number ? map_find_ptr(&t->numbers, &number) : NULL;
}

int gohttp2_calls_set_number(struct gohttp2_calls *t, struct gohttp2_call *c, uint64_t number)
{
	if (map_put(&t->numbers, &number, &c) < 0)
		return -ENOMEM;
	c->number = number;
	return 0;
}

void gohttp2_calls_remove(struct gohttp2_calls *t, struct gohttp2_call *c)
{
	map_remove(&t->calls, &c->key);
	if (gohttp2_calls_numbered(t, c->number) == c)
		map_remove(&t->numbers, &c->number);
	list_remove(&c->lru);
	list_remove(&c->in_conn);
	for (unsigned i = 0; i < CALL_EVENT_TEXT__MAX; i++)
		free(c->text[i]);
	free(c);
}

struct gohttp2_call *gohttp2_calls_surplus(const struct gohttp2_calls *t)
{
	return t->calls.len >= GOHTTP2_CALLS_MAX ? container_of(t->calls_lru.next, struct gohttp2_call, lru) : NULL;
}

int gohttp2_calls_set(struct gohttp2_call *c, enum call_event_text which, const char *text, size_t len)
{
	free(c->text[which]);
	c->text[which] = NULL;
	c->text_len[which] = 0;
	return gohttp2_calls_append(c, which, text, len);
}

int gohttp2_calls_append(struct gohttp2_call *c, enum call_event_text which, const char *text, size_t len)
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
