/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that are open: requests wait here for their responses, by process, connection and stream. Bounded: beyond
 * that the oldest is given up, and says so.
 */
#ifndef GORPC_CALLS_H
#define GORPC_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "probes/gorpc/gorpc_event.h"

#define GORPC_CALLS_MAX 65536u	/* open at once */
#define GORPC_CONNS_MAX 65536u

struct gorpc_link { struct gorpc_link *next, *prev; };

struct gorpc_call_key {
	uint64_t start_ns, conn;
	uint32_t tgid, stream;
};

struct gorpc_conn_key {
	uint64_t start_ns, conn;
	uint32_t tgid, pad;
};

struct gorpc_conn {
	struct gorpc_link lru;		/* oldest use first */
	struct gorpc_link calls;	/* of this connection */
	struct gorpc_conn_key key;
	struct event_keys keys;		/* addresses, namespace, socket: of the last request that had them */
	int32_t fd;
	uint32_t first_stream;		/* of the requests that were seen; 0 = none yet. Numbers only grow */
	uint8_t unix_socket;
	bool closed;			/* its socket is: told with the next record */
};

struct gorpc_call {
	struct gorpc_link lru;		/* oldest first */
	struct gorpc_link in_conn;
	struct gorpc_conn *conn;
	struct gorpc_call_key key;
	struct gorpc_call_body body;	/* without its strings */
	uint64_t goid;
	uint64_t told_ns;		/* when its progress was told last */
	uint32_t tid;
	uint16_t instance;
	bool answered;			/* response headers were seen */
	char *text[GORPC_TEXT__MAX];	/* owned; NULL = none */
	uint32_t text_len[GORPC_TEXT__MAX];
};

struct gorpc_calls {
	struct map calls, conns, cookies; /* key -> pointer; cookies: socket -> struct gorpc_conn * */
	struct gorpc_link calls_lru, conns_lru;
	bool ready;
	bool any_closed;		/* some connection waits to be told of */
};

void gorpc_calls_init(struct gorpc_calls *t);
void gorpc_calls_fini(struct gorpc_calls *t);

/* NULL when there is none; gorpc_conn_add() also without memory. */
struct gorpc_conn *gorpc_conn_find(const struct gorpc_calls *t, const struct gorpc_conn_key *key);
struct gorpc_conn *gorpc_conn_add(struct gorpc_calls *t, const struct gorpc_conn_key *key);
struct gorpc_conn *gorpc_conn_of_cookie(const struct gorpc_calls *t, uint64_t cookie);
/* The connection has that socket. */
void gorpc_conn_set_cookie(struct gorpc_calls *t, struct gorpc_conn *c, uint64_t cookie);
/* Its calls must have been removed. */
void gorpc_conn_remove(struct gorpc_calls *t, struct gorpc_conn *c);

struct gorpc_call *gorpc_call_find(const struct gorpc_calls *t, const struct gorpc_call_key *key);
struct gorpc_call *gorpc_call_add(struct gorpc_calls *t, const struct gorpc_call_key *key, struct gorpc_conn *conn);
void gorpc_call_remove(struct gorpc_calls *t, struct gorpc_call *c);

/* The oldest call when there is no room for another one, else NULL; likewise a connection without calls. */
struct gorpc_call *gorpc_calls_surplus(const struct gorpc_calls *t);

/* Replaces a string. 0 or -ENOMEM. */
int gorpc_call_set(struct gorpc_call *c, enum gorpc_text which, const char *text, size_t len);
/* Appends to it, up to 16 KiB. */
int gorpc_call_append(struct gorpc_call *c, enum gorpc_text which, const char *text, size_t len);

#endif
