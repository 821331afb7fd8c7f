/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A protocol parser is one struct of functions over the bytes of both directions of a connection.
 *
 * It is a pure fold: no clock, no descriptor, no allocation beyond its state. The driver (call_conn.c) orders the
 * bytes, keeps those of an incomplete unit, passes over content, and says where bytes were not captured. Calls go
 * through call_queue.h.
 */
#ifndef CALL_CALL_PROTOCOL_H
#define CALL_CALL_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "call/call_pool.h"

enum call_side { CALL_SIDE_REQUEST, CALL_SIDE_RESPONSE, CALL_SIDE__MAX };

/* First bytes of a direction. */
enum call_look {
	CALL_LOOK_NO,
	CALL_LOOK_MORE,		/* may become one of the next two */
	CALL_LOOK_REQUEST,
	CALL_LOOK_RESPONSE,
	CALL_LOOK__MAX,
};

/*
 * Bytes of one direction for a parser. It takes complete units (lines, frames) from @c; the driver keeps the rest and
 * shows it again with more bytes behind it.
 */
struct call_io {
	struct cursor c;
	enum call_side side;
	/*
	 * The bytes behind @c will not be seen: a hole, or a unit beyond the driver's limit. The parser uses those at
	 * hand, then either sets @skip to the rest of the unit, or returns CALL_FEED_LOST.
	 */
	bool partial;
	bool gap;		/* partial by operations that were lost, maybe several turns */
	bool turn;		/* the first bytes of @c follow bytes of the other direction */
	uint64_t skip;		/* out: bytes behind @c that are content; a hole in them costs nothing */
	enum call_switch to;	/* out: both directions leave the protocol behind @c and @skip */

	struct call_queue *queue;
	const struct call_pool_conf *conf;
	/* Set by the driver, read by call_queue.c. */
	const uint8_t *start;	/* first byte of @c */
	uint64_t offset;	/* of @start in its direction */
	uint64_t now_ns, tag;	/* of the chunk */
	uint64_t start_ns, start_tag; /* of the byte at @start */
	const uint8_t *unit;	/* set by call_queue_unit() */
};

#define CALL_SKIP_REST UINT64_MAX	/* until the end of the stream */
#define CALL_SKIP_HOLE (UINT64_MAX - 1)	/* if partial: to the first byte behind the hole */

enum call_feed {
	CALL_FEED_OK,		/* what is left of @c waits for more bytes */
	CALL_FEED_LOST,		/* the next unit's start is unknown: go on where a turn begins with one */
	CALL_FEED_BAD,		/* the bytes contradict the protocol */
	CALL_FEED__MAX,
};

struct call_protocol {
	const char *name;
	enum call_kind kind;
	bool multiplexed;	/* calls share a direction's bytes: the parser counts them itself */
	bool ordered;		/* only their order says to which requests responses belong */
	bool datagrams;		/* each chunk is one message */
	bool late_status;	/* the end of a response says whether it failed */
	bool unanswered;	/* requests may follow each other without answers: any chunk may begin with one */
	size_t state_size;	/* bytes, zeroed at the start */

	/* First bytes of a turn of an unknown connection. */
	enum call_look (*classify)(const uint8_t *bytes, size_t len);
	/* First bytes behind a loss: CALL_LOOK_REQUEST or _RESPONSE if @side may start so. NULL: classify */
	enum call_look (*resume)(const uint8_t *bytes, size_t len, enum call_side side);
	/* Called before each unit: what ends when its content was passed over. May be NULL. */
	void (*settle)(void *state, struct call_io *io);
	/*
	 * Takes the next unit. Called for new bytes, and without bytes where @skip has ended and where a hole begins;
	 * again while it takes bytes. Taking none with CALL_FEED_OK and @skip 0, it needs more of them.
	 */
	enum call_feed (*feed)(void *state, struct call_io *io);
	/*
	 * A direction starts anew behind a loss, at the start of a unit; names and tables that were learned stay.
	 * @queue holds the calls that still await a response. May be NULL.
	 */
	void (*reset)(void *state, enum call_side side, const struct call_queue *queue);
	/*
	 * Bytes of the response of the only outstanding call behind a loss and reset(), up to the end of an
	 * operation. Returns the place of the units that end the response, of which the last ends with the bytes;
	 * @len if there are none. NULL: a response does not end so.
	 */
	size_t (*tail)(void *state, const uint8_t *bytes, size_t len);
	/* Releases what the state owns. May be NULL. */
	void (*fini)(void *state, struct call_pool *pool);
};

/* All parsers, in the order in which they are asked; NULL at the end. */
extern const struct call_protocol *const call_protocols[];

#endif
