/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The outstanding calls of a connection: parsers open them at requests and end them at responses.
 *
 *	call_queue_unit(io);			the unit (line, frame) begins here
 *	c = call_queue_open(io);		a request begins with this unit
 *	call_queue_asked(io, c);		... and ends at the cursor
 *	c = call_queue_oldest(io);		the call that a response belongs to; or call_queue_find()
 *	call_queue_answer(io, c);		its response begins with this unit
 *	call_queue_answered(io, c);		... and ends at the cursor
 *
 * A call that is asked and answered goes to the pool's ended(); its pointer is invalid then.
 */
#ifndef CALL_CALL_QUEUE_H
#define CALL_CALL_QUEUE_H

#include "call/call_protocol.h"

/*
 * Outstanding calls of a connection. The oldest gives way, but where that would give its response to another call: a
 * new one is not opened then, and its response is a call without a request (call_queue_hidden()).
 */
#define CALL_QUEUE_MAX 1024

struct call_queue {
	struct call_pool *pool;
	struct call_conn *conn;
	const struct call_protocol *protocol;	/* NULL = none yet */
	struct call **calls;	/* owned as they are, oldest first */
	struct call *few[2];	/* room for them: most connections have one or two */
	uint32_t n, room;	/* of calls; room: allocated */
	uint64_t count;		/* calls opened so far */
	uint32_t most;		/* outstanding at once so far */
	uint32_t sure;		/* calls opened before the first request in a hole */
	struct call *held, **held_end;	/* owned: calls that ended before both sides were parsed, oldest first */
	uint32_t n_held, surplus;	/* surplus: further ones */
	uint32_t owed;		/* responses that may come to calls that were shown or counted */
	uint32_t strays;	/* responses without a known request, in this turn */
	bool asked;		/* a request was parsed */
	bool confirmed;		/* and a response */
	bool midstream;		/* bytes passed before the first chunk */
	bool skipped;		/* units were not parsed: the other end may count more calls */
	bool refused;		/* no call was opened: the driver loses the order of requests */
	bool hidden;		/* requests were not parsed since the last one: responses without one may be theirs */
	bool follow[CALL_SIDE__MAX];	/* in this turn of requests and its responses a message was in a hole */
	bool unpaired;		/* the order of responses is unknown: requests alone are calls */
};

/* The unit at the cursor begins; gives first bytes their time and offset. */
void call_queue_unit(struct call_io *io);

/* A new call, the youngest; NULL without memory. @io may be of either side. */
struct call *call_queue_open(struct call_io *io);

/* The same, asked by the side of responses: a message that is delivered. The other side answers. */
struct call *call_queue_push(struct call_io *io);

/* The oldest call without a complete response, and the youngest one; NULL = none. */
struct call *call_queue_oldest(const struct call_io *io);
struct call *call_queue_youngest(const struct call_io *io);
/* The oldest call with this id, with this key. */
struct call *call_queue_find(const struct call_io *io, uint64_t id);
struct call *call_queue_find_key(const struct call_io *io, uint64_t key);

/* A message that is in a hole of an operation follows the one before it. */
void call_queue_follow(struct call_io *io);

/* All take NULL for a call that is unknown. */
void call_queue_asked(struct call_io *io, struct call *c);
void call_queue_told(struct call_io *io, struct call *c); /* the same; no response follows */
void call_queue_answer(struct call_io *io, struct call *c);
void call_queue_answered(struct call_io *io, struct call *c);
/* Forgets a call that turned out to be none. */
void call_queue_drop(struct call_io *io, struct call *c);
/* Ends a call without a complete response. */
void call_queue_end(struct call_io *io, struct call *c, enum call_end end);

/* A response without a known request: a call that is counted, unless it was or began before the first chunk. */
void call_queue_orphan(struct call_io *io);

/*
 * The same where responses come in the order of requests. Its call, which is cut, if the request was in a hole:
 * one of several that followed each other. Else NULL.
 */
struct call *call_queue_hidden(struct call_io *io);

/* Does the oldest call wait for its response, or the rest of it? Those that may wait forever do not count. */
bool call_queue_waits(const struct call_queue *q);

/* Request and response of the protocol were parsed where no call has both. */
void call_queue_confirm(struct call_io *io);

/* ---- for the driver ---- */

/* Returns calls and memory to the pool. */
void call_queue_fini(struct call_queue *q);

/* The protocol is not confirmed any more: counts the calls that wait for that. */
void call_queue_leave_protocol(struct call_queue *q);

/*
 * Ends all calls. CALL_END_LOST: requests or responses were not seen since; what that leaves unknown marks calls as
 * cut. A single call whose response has begun ends with the last byte so far; its status may stand there, too.
 */
void call_queue_flush(struct call_queue *q, enum call_end end);

/* The same with CALL_END_LOST, but for a request that has not ended. */
void call_queue_lose(struct call_queue *q);

/* A turn of requests begins, or none will: counts a call whose request and response were in holes of the last one. */
void call_queue_turn(struct call_queue *q);

/*
 * From now on requests alone are calls, without status: the order of responses is unknown. @doubted: it was so since
 * a request was in a hole.
 */
void call_queue_unpair(struct call_queue *q, bool doubted);

/* Bytes up to @offset passed. They belong to the request or response that is incomplete, or @lost its end. */
void call_queue_progress(struct call_queue *q, enum call_side side, bool lost, uint64_t now_ns, uint64_t offset);

#endif
