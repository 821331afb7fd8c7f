/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Open calls by process, connection and stream: requests that wait for their responses. Bounded: beyond the limit the
 * oldest call ends as evicted.
 */
#ifndef GOHTTP2_CALLS_H
#define GOHTTP2_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/map.h"
#include "call/call_event.h"
#include "probes/gohttp2/gohttp2_event.h"

#define GOHTTP2_CALLS_MAX 65536u /* open at once */
#define GOHTTP2_CONNS_MAX 65536u

struct gohttp2_call_key {
	uint64_t start_ns, conn;
	uint32_t tgid, stream;
};

struct gohttp2_conn_key {
	uint64_t start_ns, conn;
	uint32_t tgid, pad;
};

struct gohttp2_conn {
	struct list lru;   /* oldest use first */
	struct list calls; /* calls of this connection */
	struct gohttp2_conn_key key;
	struct event_keys keys; /* addresses, namespace, socket of the last request that had them */
	int32_t fd;
	uint32_t first_stream; /* of the requests seen; 0 = none yet. Stream numbers only grow */
	uint8_t unix_socket;
	bool closed; /* its socket was closed: reported with the next record */
};

struct gohttp2_call {
	struct list lru; /* oldest first */
	struct list in_conn;
	struct gohttp2_conn *conn;
	struct gohttp2_call_key key;
	struct call_event_body body; /* without strings */
	uint64_t goid;
	uint64_t image, cgroup_id; /* as in struct sonde_ident */
	uint64_t number;	/* of this call; 0 = in recordings of older versions */
	uint64_t reported_ns; /* time of its last progress event */
	uint32_t tid;
	uint16_t instance;
	bool answered;		       /* response headers arrived */
	char *text[CALL_EVENT_TEXT__MAX]; /* owned; NULL = none */
	uint32_t text_len[CALL_EVENT_TEXT__MAX];
};

struct gohttp2_calls {
	struct map calls, conns, cookies; /* key -> pointer; cookies: socket -> struct gohttp2_conn * */
	struct map numbers; /* of calls of servers -> struct gohttp2_call * */
	struct list calls_lru, conns_lru;
	bool ready;
	bool any_closed; /* a closed connection is still to be reported */
};

void gohttp2_calls_init(struct gohttp2_calls *t);
void gohttp2_calls_fini(struct gohttp2_calls *t);

/* NULL if not found; gohttp2_calls_conn_add() returns NULL without memory. */
struct gohttp2_conn *gohttp2_calls_conn_find(const struct gohttp2_calls *t, const struct gohttp2_conn_key *key);
struct gohttp2_conn *gohttp2_calls_conn_add(struct gohttp2_calls *t, const struct gohttp2_conn_key *key);
struct gohttp2_conn *gohttp2_calls_conn_of_cookie(const struct gohttp2_calls *t, uint64_t cookie);
/* Sets the socket of a connection. */
void gohttp2_calls_conn_set_cookie(struct gohttp2_calls *t, struct gohttp2_conn *c, uint64_t cookie);
/* The calls of @c must be removed before. */
void gohttp2_calls_conn_remove(struct gohttp2_calls *t, struct gohttp2_conn *c);

struct gohttp2_call *gohttp2_calls_find(const struct gohttp2_calls *t, const struct gohttp2_call_key *key);
struct gohttp2_call *gohttp2_calls_add(struct gohttp2_calls *t, const struct gohttp2_call_key *key,
				       struct gohttp2_conn *conn);
void gohttp2_calls_remove(struct gohttp2_calls *t, struct gohttp2_call *c);

/* Enters an open call by its number, once. 0 or -ENOMEM. */
int gohttp2_calls_set_number(struct gohttp2_calls *t, struct gohttp2_call *c, uint64_t number);
struct gohttp2_call *gohttp2_calls_numbered(const struct gohttp2_calls *t, uint64_t number); /* NULL if not open */

/* The oldest call if the table is full, else NULL. */
struct gohttp2_call *gohttp2_calls_surplus(const struct gohttp2_calls *t);

/* Replaces a string of the call. 0 or -ENOMEM. */
int gohttp2_calls_set(struct gohttp2_call *c, enum call_event_text which, const char *text, size_t len);
/* Appends to a string, up to 16 KiB. 0 or -ENOMEM. */
int gohttp2_calls_append(struct gohttp2_call *c, enum call_event_text which, const char *text, size_t len);

#endif
