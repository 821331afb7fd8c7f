/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The agent's own protocol as bytes: doc/protocol.md. Frames of {u32 length, u16 type, u16 zero, payload}, the
 * length counts the header and not the zeros that fill up to 8 bytes. Little endian. Pure: no descriptors.
 */
#ifndef BUS_PROTO_H
#define BUS_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

#define PROTO_MAJOR 1
#define PROTO_MINOR 1
#define PROTO_FRAME_MAX (1u << 20)	/* of any frame */
#define PROTO_REQUEST_MAX (64u << 10)	/* of one that a client sends */
#define PROTO_ALIGN 8u
#define PROTO_NAME_MAX 64		/* of a client */

/* Append only; a number is never used again. */
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
	PROTO_ERROR = 134,	/* struct proto_status, sentence */
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
	uint32_t pid, netns;		/* of the agent; its network namespace by inode */
	uint64_t start_ns;		/* when it started, boot clock */
};

struct proto_status {
	uint32_t id;			/* of the call; 0 in errors */
	uint32_t code;			/* errno, 0 = done */
};

#define PROTO_EVENT_COUNTS 1u		/* the first of its record: the books count it */

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

/* A frame in place. */
struct proto_frame {
	uint16_t type;
	const void *data;		/* 8-byte aligned if the buffer is */
	uint32_t len;
};

/* Bytes of the frame with this header on the wire. */
size_t proto_frame_bytes(const void *head);

/*
 * The frame at the start of @buf. Returns its bytes with padding, 0 when there is less than a frame, -EMSGSIZE for
 * one of more than @most bytes, -EBADMSG when it is none.
 */
int proto_next(const void *buf, size_t len, uint32_t most, struct proto_frame *ret);

/* Appends a frame: a fixed part and a text with its NUL, either may be missing (NULL). */
int proto_put(struct buf *out, enum proto_type type, const void *fixed, size_t fixed_len, const char *text);
/* Likewise, the second part being words: NUL-terminated strings behind each other. */
int proto_put_words(struct buf *out, enum proto_type type, const void *fixed, size_t fixed_len,
		    const struct buf *words);

/*
 * Takes the fixed part of a payload and returns the NUL-terminated text behind it ("" when there is none), or NULL
 * when the payload is too short or the text does not end.
 */
const char *proto_fixed(const struct proto_frame *f, void *fixed, size_t fixed_len);

/* The word behind @word in a payload that proto_fixed() accepted; the first for NULL. NULL at the end. */
const char *proto_word(const struct proto_frame *f, size_t fixed_len, const char *word);

#endif
