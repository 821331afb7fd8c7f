/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls that are open: requests wait here for their responses, by process, connection and stream. Bounded: beyond
 * that the oldest is given up, and says so.
 */
#ifndef GOHTTP2_CALLS_H
#define GOHTTP2_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "probes/gohttp2/gohttp2_event.h"

#define GOHTTP2_CALLS_MAX 65536u /* open at once */
#define GOHTTP2_CONNS_MAX 65536u

struct gohttp2_link {
	struct gohttp2_link *next, *prev;
};

struct gohttp2_call_key {
	uint64_t start_ns, conn;
	uint32_t tgid, stream;
};

struct gohttp2_conn_key {
	uint64_t start_ns, conn;
	uint32_t tgid, pad;
};

struct gohttp2_conn {
	struct gohttp2_link lru;   /* oldest use first */
	struct gohttp2_link calls; /* of this connection */
	struct gohttp2_conn_key key;
	struct event_keys keys; /* addresses, namespace, socket: of the last request that had them */
	int32_t fd;
	uint32_t first_stream; /* of the requests that were seen; 0 = none yet. Numbers only grow */
	uint8_t unix_socket;
	bool closed; /* its socket is: told with the next record */
};

struct gohttp2_call {
	struct gohttp2_link lru; /* oldest first */
	struct gohttp2_link in_conn;
	struct gohttp2_conn *conn;
	struct gohttp2_call_key key;
	struct gohttp2_call_body body; /* without its strings */
	uint64_t goid;
	uint64_t told_ns; /* when its progress was told last */
	uint32_t tid;
	uint16_t instance;
	bool answered;		       /* response headers were seen */
	char *text[GOHTTP2_TEXT__MAX]; /* owned; NULL = none */
	uint32_t text_len[GOHTTP2_TEXT__MAX];
};

struct gohttp2_calls {
	struct map calls, conns, cookies; /* key -> pointer; cookies: socket -> struct gohttp2_conn * */
	struct gohttp2_link calls_lru, conns_lru;
	bool ready;
	bool any_closed; /* some connection waits to be told of */
};

void gohttp2_calls_init(struct gohttp2_calls *t);
void gohttp2_calls_fini(struct gohttp2_calls *t);

/* NULL when there is none; gohttp2_calls_conn_add() also without memory. */
struct gohttp2_conn *gohttp2_calls_conn_find(const struct gohttp2_calls *t, const struct gohttp2_conn_key *key);
struct gohttp2_conn *gohttp2_calls_conn_add(struct gohttp2_calls *t, const struct gohttp2_conn_key *key);
struct gohttp2_conn *gohttp2_calls_conn_of_cookie(const struct gohttp2_calls *t, uint64_t cookie);
/* The connection has that socket. */
void gohttp2_calls_conn_set_cookie(struct gohttp2_calls *t, struct gohttp2_conn *c, uint64_t cookie);
/* Its calls must have been removed. */
void gohttp2_calls_conn_remove(struct gohttp2_calls *t, struct gohttp2_conn *c);

struct gohttp2_call *gohttp2_calls_find(const struct gohttp2_calls *t, const struct gohttp2_call_key *key);
struct gohttp2_call *gohttp2_calls_add(struct gohttp2_calls *t, const struct gohttp2_call_key *key,
				       struct gohttp2_conn *conn);
void gohttp2_calls_remove(struct gohttp2_calls *t, struct gohttp2_call *c);

/* The oldest call when there is no room for another one, else NULL; likewise a connection without calls. */
struct gohttp2_call *gohttp2_calls_surplus(const struct gohttp2_calls *t);

/* Replaces a string. 0 or -ENOMEM. */
int gohttp2_calls_set(struct gohttp2_call *c, enum gohttp2_text which, const char *text, size_t len);
/* Appends to it, up to 16 KiB. */
int gohttp2_calls_append(struct gohttp2_call *c, enum gohttp2_text which, const char *text, size_t len);

#endif
