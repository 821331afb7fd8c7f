/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Encoding of the agent's own protocol: doc/protocol.md. Frames are {u32 length, u16 type, u16 zero, payload}, little
 * endian; the length includes the header, and excludes the zeros that pad the frame to 8 bytes. Pure: no descriptors.
 */
#ifndef IPC_PROTO_H
#define IPC_PROTO_H

#include <stddef.h>
#include <stdint.h>

struct buf;

#define PROTO_MAJOR 1
#define PROTO_MINOR 3
#define PROTO_FRAME_MAX (1u << 20)	/* of any frame */
#define PROTO_REQUEST_MAX (64u << 10)	/* of a frame from a client */
#define PROTO_ALIGN 8u
#define PROTO_NAME_MAX 64		/* of a client */

/* Append only; numbers are never reused. */
enum proto_type {
	/* client to agent */
	PROTO_HELLO = 1,	/* struct proto_hello, name */
	PROTO_SUBSCRIBE = 2,	/* words */
	PROTO_STOP = 3,		/* nothing */
	PROTO_CALL = 4,		/* u32 id, u32 zero, words: verb, arguments */
	/* agent to client */
	PROTO_WELCOME = 128,	/* struct proto_welcome, release */
	PROTO_READY = 129,	/* words: one per instance, "NUMBER PROBE" */
	PROTO_RECORD = 130,	/* one record: include/sonde/wire.h */
	PROTO_EVENT = 131,	/* struct proto_event, words: type, "FIELD=VALUE"... */
	PROTO_END = 132,	/* reason */
	PROTO_REPLY = 133,	/* struct proto_status, text */
	PROTO_ERROR = 134,	/* struct proto_status, message */
	PROTO_HOOK_FAILED = 135, /* words: hook, why it does not work; may repeat */
	PROTO__MAX,
};

#define PROTO_RIGHT_READ 1u
#define PROTO_RIGHT_CONTROL 2u

struct proto_head {
	uint32_t len;
	uint16_t type, zero;
};

struct proto_hello {
	uint16_t major, minor;
	uint32_t flags;			/* zero */
};

struct proto_welcome {
	uint16_t major, minor;
	uint32_t rights;		/* PROTO_RIGHT_* */
	uint32_t pid, netns;		/* pid of the agent, inode of its network namespace */
	uint64_t start_ns;		/* its start, boot clock */
};

struct proto_status {
	uint32_t id;			/* id of the call; 0 = not a reply */
	uint32_t code;			/* errno, 0 = success */
};

#define PROTO_EVENT_COUNTS 1u		/* first event of its record: the ledger counts it */

struct proto_event {
	uint64_t ts_ns;			/* boot clock */
	uint32_t type;
	uint16_t instance, flags;	/* PROTO_EVENT_* */
};

_Static_assert(sizeof(struct proto_event) == 16, "an event's head is ABI");
_Static_assert(sizeof(struct proto_head) == 8, "the header is ABI");
_Static_assert(sizeof(struct proto_hello) == 8, "the greeting is ABI");
_Static_assert(sizeof(struct proto_welcome) == 24, "the answer to it is ABI");
_Static_assert(sizeof(struct proto_status) == 8, "the status is ABI");

/* A frame in the input buffer. */
struct proto_frame {
	uint16_t type;
	const void *data;		/* 8-byte aligned if the buffer is */
	uint32_t len;
};

/* Size on the wire of the frame with this header. */
size_t proto_frame_bytes(const void *head);

/*
 * Parses the frame at the start of @buf. Its size with padding; 0 if incomplete, -EMSGSIZE above @most bytes,
 * -EBADMSG if invalid.
 */
int proto_next(const void *buf, size_t len, uint32_t most, struct proto_frame *ret);

/* Appends a frame: a fixed part and a NUL-terminated text, each may be NULL. */
int proto_put(struct buf *out, enum proto_type type, const void *fixed, size_t fixed_len, const char *text);
/* Appends a frame: a fixed part and consecutive NUL-terminated strings. */
int proto_put_words(struct buf *out, enum proto_type type, const void *fixed, size_t fixed_len,
		    const struct buf *words);

/*
 * Takes the fixed part of a payload. Returns the NUL-terminated text after it ("" if none), or NULL if the payload is
 * too short or the text is not terminated.
 */
const char *proto_fixed(const struct proto_frame *f, void *fixed, size_t fixed_len);

/* Next string after @word in a payload that proto_fixed() accepted; NULL = the first one. NULL at the end. */
const char *proto_word(const struct proto_frame *f, size_t fixed_len, const char *word);

#endif
