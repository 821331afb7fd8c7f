/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SEC_PARAMS: an event as libscap's readers see it, that is its type number and its parameters as bytes in
 * libscap's encodings (little endian, unaligned), whatever made it: a probe, or a capture file. What the numbers
 * mean is in src/scap/schema.h; this file knows lengths and bytes only.
 */
#ifndef EVENT_PARAMS_H
#define EVENT_PARAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cursor.h"

struct arena;
struct event;

#define PARAMS_MAX 64		/* of one event; libscap's limit is 32, its state tables have up to 41 */

#define PARAMS_HAS_WORD 1u	/* `word` was in the file: a block with event flags */
#define PARAMS_LARGE 2u		/* lengths need 32 bits, or had them in the file */
#define PARAMS_ANEW 8u		/* a thread's row: its descriptors all follow, what was known of others is over */
#define PARAMS_HIDDEN 4u	/* folded into the state, counted, and not shown (a file's state events) */

/* The section: this, then n lengths (uint32_t), then the bytes of all parameters, one behind the other. */
struct sec_params {
	int64_t tid;		/* of libscap: -1 for what no thread did */
	uint64_t num;		/* number of the event in its file, from 1; 0 = count it yourself */
	uint16_t type;		/* enum scap_event_type; an even number enters, the next odd one leaves */
	uint16_t pad;
	uint32_t flags;		/* PARAMS_* */
	uint32_t word;		/* libscap's event flags */
	uint32_t n;		/* parameters */
};

/* ---- reading ---- */

/* A checked view; borrows the section. */
struct params {
	const struct sec_params *head;
	const uint8_t *data;
	uint32_t n;
	uint32_t end[PARAMS_MAX];	/* of each parameter, from @data */
};

/* @data is 8-byte aligned. 0, or -EBADMSG when it contradicts itself. */
int params_read(const void *data, size_t len, struct params *ret);
/* 0, or -ENOENT when the event has no (or a broken) SEC_PARAMS. */
int params_of(const struct event *ev, struct params *ret);

/* The bytes of parameter @i: NULL when the event has fewer parameters; an empty one has *ret_len 0. */
const void *params_bytes(const struct params *p, unsigned i, size_t *ret_len);
/* A bad cursor when there is no such parameter. */
struct cursor params_cursor(const struct params *p, unsigned i);
/* False when it is missing or not 1, 2, 4 or 8 bytes long. The first extends by zeros, the second by the sign. */
bool params_u64(const struct params *p, unsigned i, uint64_t *ret);
bool params_i64(const struct params *p, unsigned i, int64_t *ret);
/* Text up to its NUL, or all of it when it has none. NULL when missing or empty (libscap's NULL). */
const char *params_str(const struct params *p, unsigned i, size_t *ret_len);

/* ---- building ---- */

/* Zeroed at first; params_out_fini() once at the end. Errors stay until params_begin(). */
struct params_out {
	struct sec_params head;
	uint32_t len[PARAMS_MAX];
	struct buf bytes;
};

void params_begin(struct params_out *o, uint16_t type, int64_t tid);
void params_add(struct params_out *o, const void *data, size_t len);
void params_add_u8(struct params_out *o, uint8_t v);
void params_add_u16(struct params_out *o, uint16_t v);
void params_add_u32(struct params_out *o, uint32_t v);
void params_add_u64(struct params_out *o, uint64_t v);		/* errno, fd and pid too: 8 bytes each */
void params_add_str(struct params_out *o, const char *s, size_t len);	/* adds the NUL; s NULL = libscap's NULL */

/* The last parameter grows: for lists (fdlist, tuples) that are written in pieces. */
void params_append(struct params_out *o, const void *data, size_t len);

/* Appends the section's bytes. 0, -E2BIG (more than PARAMS_MAX) or -ENOMEM. */
int params_write(const struct params_out *o, struct buf *out);
/* The section in scratch memory, ready for event_add_section(); NULL as above. */
const void *params_finish(const struct params_out *o, struct arena *scratch, uint32_t *ret_len);
void params_out_fini(struct params_out *o);

#endif
