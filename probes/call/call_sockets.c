// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of watched connections. Lists are circular with a head node; entries are allocated one by one, so
 * pointers to them stay valid.
 */
#include "probes/call/call_sockets.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

void call_sockets_init(struct call_sockets *t)
{
	if (t->ready)
		return;
	map_init(&t->by_key, sizeof(struct call_socket_key), sizeof(struct call_socket *));
	map_init(&t->by_ends, sizeof(uint64_t), sizeof(struct call_socket *));
	list_init(&t->lru);
	t->ready = true;
}

void call_sockets_fini(struct call_sockets *t)
{
	map_fini(&t->by_key);
	map_fini(&t->by_ends);
	t->ready = false;
}

struct call_socket *call_sockets_find(const struct call_sockets *t, uint64_t cookie, uint32_t source)
{
	const struct call_socket_key key = { .cookie = cookie, .source = source };
	struct call_socket **found = map_find(&t->by_key, &key);

	if (!found)
		return NULL;
	list_remove(&(*found)->lru);
	list_add((struct list *)&t->lru, &(*found)->lru);
	return *found;
}

struct call_socket *call_sockets_add(struct call_sockets *t, uint64_t cookie, uint32_t source)
{
	struct call_socket *s = calloc(1, sizeof(*s)), **slot;

	if (!s)
		return NULL;
	s->key = (struct call_socket_key){ .cookie = cookie, .source = source };
	slot = map_add(&t->by_key, &s->key, NULL);
	if (!slot) {
		free(s);
		return NULL;
	}
	*slot = s;
	list_add(&t->lru, &s->lru);
	return s;
}

/* A quarter of the memory that the addresses would take. Of two with one hash the last is found. */
static uint64_t hash_of(const struct call_socket_ends *ends)
{
	return map_hash(ends, sizeof(*ends));
}

static void forget_ends(struct call_sockets *t, const struct call_socket *s)
{
	const uint64_t hash = hash_of(&s->ends);
	struct call_socket **found = s->ends.conn.proto ? map_find(&t->by_ends, &hash) : NULL;

	if (found && *found == s)
		map_remove(&t->by_ends, &hash);
}

void call_sockets_set_ends(struct call_sockets *t, struct call_socket *s, const struct call_socket_ends *ends)
{
	const uint64_t hash = hash_of(ends);
	struct call_socket **slot;

	if (!memcmp(&s->ends, ends, sizeof(*ends)))
		return;
	forget_ends(t, s);
	s->ends = *ends;
	slot = ends->conn.proto ? map_add(&t->by_ends, &hash, NULL) : NULL;
	if (slot)
		*slot = s;
}

struct call_socket *call_sockets_peer(const struct call_sockets *t, const struct call_socket *s)
{
	struct call_socket_ends other = s->ends;
	struct call_socket **found;
	uint64_t hash;

	if (s->unix_socket)
		return s->peer_cookie ? call_sockets_find(t, s->peer_cookie, s->key.source) : NULL;
	if (!other.conn.proto)
		return NULL;
	other.conn.saddr = s->ends.conn.daddr;
	other.conn.daddr = s->ends.conn.saddr;
	other.conn.sport = s->ends.conn.dport;
	other.conn.dport = s->ends.conn.sport;
	hash = hash_of(&other);
	found = map_find(&t->by_ends, &hash);
	return found && !memcmp(&(*found)->ends, &other, sizeof(other)) ? *found : NULL;
}

void call_sockets_remove(struct call_sockets *t, struct call_socket *s)
{
	forget_ends(t, s);
	map_remove(&t->by_key, &s->key);
	list_remove(&s->lru);
	call_conn_free(s->conn);
	free(s);
}

struct call_socket *call_sockets_surplus(const struct call_sockets *t)
{
	return t->by_key.len >= CALL_SOCKETS_MAX ? container_of(t->lru.next, struct call_socket, lru) : NULL;
}

size_t call_sockets_bytes(const struct call_sockets *t)
{
	return t->by_key.len * (sizeof(struct call_socket) + sizeof(size_t)) +
	       t->by_key.cap * t->by_key.stride + t->by_ends.cap * t->by_ends.stride;
}
