/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the connections of one source: configuration, receiver of calls, limits, counters.
 */
#ifndef CALL_CALL_POOL_H
#define CALL_CALL_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "call/call_entry.h"

struct call_conn;

struct call_pool_conf {
	uint32_t kinds;			/* bits of enum call_kind; 0 = all */
	bool query_values;		/* show values of query strings */
	bool literals;			/* show SQL as it was sent */
	const char *const *headers;	/* lower case, NULL-terminated; NULL = traceparent, b3, x-request-id */
};

/* Why bytes or calls did not become output. */
enum call_miss {
	CALL_MISS_UNCLASSIFIED,	/* connections: no known protocol within the first turns */
	CALL_MISS_CONTRADICTED,	/* places where bytes contradict the protocol */
	CALL_MISS_GIVEN_UP,	/* connections: three of those */
	CALL_MISS_UNCONFIRMED,	/* calls of connections where no request and response were parsed */
	CALL_MISS_ORPHAN,	/* calls: responses without a known request */
	CALL_MISS_NO_BYTES,	/* calls, at least: turns of which a request and a response were in holes */
	CALL_MISS_LOST,		/* places where a hole hid the start of the next message */
	CALL_MISS_EVICTED,	/* calls beyond CALL_QUEUE_MAX outstanding ones; shown */
	CALL_MISS_MEMORY,	/* calls that limits left out */
	CALL_MISS__MAX,
};

/* The next use of a connection that leaves its protocol. */
enum call_switch {
	CALL_SWITCH_NONE,
	CALL_SWITCH_ANEW,	/* classified anew: h2c, CONNECT */
	CALL_SWITCH_TLS,	/* cipher bytes: SSLRequest, STARTTLS */
	CALL_SWITCH_WEBSOCKET,	/* messages that are no calls; bytes are counted */
	CALL_SWITCH_COMPRESSED,	/* MySQL's compressed protocol */
	CALL_SWITCH__MAX,
};

struct call_pool_ops {
	/* A call whose request has begun; may be NULL. Texts may still be missing. */
	void (*opened)(void *ctx, struct call_conn *conn, const struct call *c);
	/* A call that ended, on a connection whose protocol is confirmed. Borrowed until the return. */
	void (*ended)(void *ctx, struct call_conn *conn, const struct call *c);
	/* The connection leaves its protocol; may be NULL. */
	void (*switched)(void *ctx, struct call_conn *conn, enum call_switch to);
};

struct call_pool {
	struct call_pool_conf conf;
	const struct call_pool_ops *ops;
	void *ctx;			/* of ops */
	size_t bytes, bytes_max;	/* buffers and states of all connections */
	uint64_t missed[CALL_MISS__MAX];
	uint32_t n_held;		/* calls that ended, of connections that are not confirmed yet */
	struct call *spare[64];		/* owned: calls for reuse */
	size_t n_spare;
};

#define CALL_POOL_BYTES (53u << 20)

void call_pool_init(struct call_pool *p, const struct call_pool_ops *ops, void *ctx);
/* All connections are freed before. */
void call_pool_fini(struct call_pool *p);

/* A reset call, or NULL at the limit of memory. Returned by call_pool_put(). */
struct call *call_pool_get(struct call_pool *p, enum call_kind kind);
void call_pool_put(struct call_pool *p, struct call *c);
/* Accounts the bytes of its texts as they are now. */
void call_pool_settle(struct call_pool *p, struct call *c);

/* Accounts a chunk of @bytes; false beyond the limit. */
bool call_pool_take(struct call_pool *p, size_t bytes);
void call_pool_give(struct call_pool *p, size_t bytes);

#endif
