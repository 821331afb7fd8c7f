/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One connection: chunks of bytes of both directions in, calls out (call_pool.h).
 *
 * The protocol comes from the first bytes; a call is shown only when a request and a response of one protocol were
 * parsed. Three contradictions give the connection up. All is a function of the chunks: no clock, no descriptor.
 */
#ifndef CALL_CALL_CONN_H
#define CALL_CALL_CONN_H

#include "base/cleanup.h"
#include "call/call_pool.h"

enum call_dir { CALL_DIR_RECEIVED, CALL_DIR_SENT, CALL_DIR__MAX };	/* as the watched process sees it */

enum call_role { CALL_ROLE_UNKNOWN, CALL_ROLE_CLIENT, CALL_ROLE_SERVER, CALL_ROLE__MAX };

enum call_conn_state {
	CALL_CONN_NEW,		/* protocol unknown so far */
	CALL_CONN_GUESSED,
	CALL_CONN_CONFIRMED,
	CALL_CONN_IGNORED,	/* needs no further bytes: unclassified, given up, or cipher text */
	CALL_CONN__MAX,
};

/*
 * A part of one direction's stream. Bytes between chunks that no chunk covers are a hole; @hole says so at once.
 * Bytes that were seen before are ignored.
 */
struct call_chunk {
	const void *data;
	uint32_t len;
	uint64_t offset;	/* of data in its direction; 0 = first byte of the connection, or of its capture */
	uint64_t hole;		/* bytes behind data that were not captured */
	uint64_t time_ns;
	uint64_t tag;		/* the caller's: comes back in call_span.tag */
	bool turn;		/* bytes of the other direction came before it, even if they are unknown */
};

/*
 * @midstream: bytes passed before the first chunk. @user: the caller's, returned by call_conn_user(). NULL without
 * memory.
 */
struct call_conn *call_conn_new(struct call_pool *pool, enum call_role role, bool midstream, void *user);
void call_conn_free(struct call_conn *c);
DEFINE_CLEANUP(struct call_conn *, call_conn_free)

void call_conn_feed(struct call_conn *c, enum call_dir dir, const struct call_chunk *chunk);

/* One message of a datagram socket. Offsets are not used; @chunk->hole: bytes cut from its end. */
void call_conn_datagram(struct call_conn *c, enum call_dir dir, const struct call_chunk *chunk);

/* The end of a direction's stream. */
void call_conn_end(struct call_conn *c, enum call_dir dir);

/* The connection is gone: outstanding calls end. The next call is call_conn_free(). */
void call_conn_close(struct call_conn *c);

/* The same of a connection that goes on, but gives way to others. */
void call_conn_evict(struct call_conn *c);

enum call_conn_state call_conn_state(const struct call_conn *c);
void *call_conn_user(const struct call_conn *c);
/* NULL = unknown */
const char *call_conn_protocol(const struct call_conn *c);
/* The watched process answers; meaningful unless the state is CALL_CONN_NEW. */
bool call_conn_is_server(const struct call_conn *c);
/* Calls outstanding at once so far: beyond 1, whole operations should be captured. */
uint32_t call_conn_most(const struct call_conn *c);

#endif
