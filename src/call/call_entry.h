/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A call: one request and its response, as a protocol parser found them in the bytes of a connection.
 *
 * Times are those of the chunks that held the bytes (call_conn.h); 0 = not seen. Bytes are exact, also where content
 * was not captured. Texts hold raw bytes of the peer: escape them before printing. Secrets are never in them: no
 * messages of authentication, no values of query strings, no literals of SQL, unless call_pool_conf asks for the
 * latter two.
 */
#ifndef CALL_CALL_ENTRY_H
#define CALL_CALL_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum call_kind {
#define CALL_KIND(kind, name) CALL_KIND_##kind,
#include "call/call_protocols.def"
	CALL_KIND__MAX,
};

enum call_text {
	CALL_TEXT_OPERATION,	/* HTTP method, SQL verb, Redis command, DNS type... */
	CALL_TEXT_RESOURCE,	/* path, table, hash of the key, queue, topic, question */
	CALL_TEXT_QUERY,	/* HTTP: "key=&key=", or with values */
	CALL_TEXT_AUTHORITY,	/* Host, :authority; without userinfo */
	CALL_TEXT_STATEMENT,	/* SQL without literals, or as it was sent */
	CALL_TEXT_DATABASE,	/* name of the database or of its number; virtual host */
	CALL_TEXT_STATUS,	/* gRPC name, SQLSTATE, RESP error prefix, rcode */
	CALL_TEXT_CONTENT_TYPE,	/* of the request, else of the response */
	CALL_TEXT_HEADERS,	/* asked for: lines "name: value" */
	CALL_TEXT__MAX,
};

/* Why parts of a call are unknown; bits. */
#define CALL_INCOMPLETE_CUT 1u		/* its bytes were not captured, or exceed a limit */
#define CALL_INCOMPLETE_HPACK 2u	/* a header refers to bytes from before the start */
#define CALL_INCOMPLETE_MIDSTREAM 4u	/* began before the connection was seen */

/* Whether the status is an error, and at which sides. */
enum call_error {
	CALL_ERROR_NONE,
	CALL_ERROR_CLIENT,	/* blames the request (HTTP 4xx): an error at the client's side */
	CALL_ERROR_FAILED,
	CALL_ERROR__MAX,
};

enum call_end {
	CALL_END_DONE,		/* the response is complete */
	CALL_END_ONEWAY,	/* the protocol has no response to it */
	CALL_END_CLOSED,	/* the connection ended first */
	CALL_END_RESET,		/* cancelled or reset by a peer */
	CALL_END_LOST,		/* its end was not captured */
	CALL_END_EVICTED,	/* too many outstanding calls */
	CALL_END__MAX,
};

#define CALL_STATUS_NONE INT64_MIN
#define CALL_ROWS_NONE UINT64_MAX
#define CALL_TEXT_BYTES 1024	/* of one text; longer ones are cut */

/* Start and end of one direction. */
struct call_span {
	uint64_t first_ns, last_ns;	/* first and last byte */
	uint64_t bytes;
	uint64_t tag;			/* of the chunk with the first byte (call_conn.h) */
	uint64_t at;			/* parser: offset of the first byte in its stream */
	bool begun, done;
};

struct call {
	uint64_t id;		/* the protocol's if it never returns (stream of HTTP/2), else counts from 1 */
	uint64_t key;		/* parser: the protocol's number of it while it is outstanding */
	struct call_span request, response;
	uint64_t statement_id;	/* hash of CALL_TEXT_STATEMENT's digest; 0 = none */
	uint64_t rows;		/* CALL_ROWS_NONE */
	int64_t status;		/* HTTP status, gRPC code, errno of MySQL, rcode; CALL_STATUS_NONE */
	uint32_t index;		/* calls outstanding before it */
	uint8_t kind;		/* enum call_kind */
	uint8_t error;		/* enum call_error */
	uint8_t end;		/* enum call_end */
	uint8_t incomplete;	/* CALL_INCOMPLETE_* */
	uint8_t note;		/* for the parser's use */
	bool quiet : 1;		/* parser: silence is a regular response */
	bool pushed : 1;	/* the side of responses asked: roles are swapped */
	bool numbered : 1;	/* `id` is the same at the other end of the connection */
	uint16_t text_units;	/* pool: accounted for texts */
	struct call *next;	/* queue: of those that wait to be shown */
	struct {
		uint16_t at, len;	/* len 0 = none */
	} texts[CALL_TEXT__MAX];
	struct buf bytes;	/* of the texts */
};

/* Replaces a text with at most CALL_TEXT_BYTES of @len bytes; longer ones mark the call as cut. */
void call_entry_set(struct call *c, enum call_text kind, const void *text, size_t len);
void call_entry_set_str(struct call *c, enum call_text kind, const char *text);

/* The text, not terminated, and its length; NULL if there is none. Valid until the next change. */
const char *call_entry_text(const struct call *c, enum call_text kind, size_t *ret_len);

/* Makes it a new call; keeps the memory of its texts. */
void call_entry_reset(struct call *c, enum call_kind kind);

#endif
