/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SEC_PARAMS: an event as readers of libscap see it. It holds the type number and the parameters in libscap's
 * encodings (little endian, unaligned), from a probe or a capture file. src/scap/schema.h gives the numbers their
 * meaning; this file handles lengths and bytes only.
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

#define PARAMS_MAX 64		/* per event; libscap allows 32, its state tables have up to 41 */

#define PARAMS_HAS_WORD 1u	/* `word` is valid: the file's block had event flags */
#define PARAMS_LARGE 2u		/* lengths need 32 bits, or had them in the file */
#define PARAMS_ANEW 8u		/* row of a thread: its descriptors follow and replace all known ones */
#define PARAMS_HAS_RAN 16u	/* `ran_us` is valid: live events of threads that lose their CPU */
#define PARAMS_HIDDEN 4u	/* applied to the state and counted, but not shown (state events of a file) */

/* Layout: this struct, n lengths (uint32_t), then the bytes of all parameters. */
struct sec_params {
	int64_t tid;		/* libscap's; -1 for events without a thread */
	uint64_t num;		/* number in the file, from 1; 0 = unnumbered */
	uint16_t type;		/* enum scap_event_type; even = enter, odd = exit */
	uint16_t pad;
	uint32_t flags;		/* PARAMS_* */
	union {
		uint32_t word;		/* libscap's event flags */
		uint32_t ran_us;	/* how long the thread had the CPU */
	};
	uint32_t n;		/* number of parameters */
};

/* ---- reading ---- */

/* A validated view; borrows the section. */
struct params {
	const struct sec_params *head;
	const uint8_t *data;
	uint32_t n;
	uint32_t end[PARAMS_MAX];	/* end offset of each parameter, from @data */
};

/* @data: 8-byte aligned. 0, or -EBADMSG if lengths contradict each other. */
int params_read(const void *data, size_t len, struct params *ret);
/* 0, or -ENOENT if the event has no valid SEC_PARAMS. */
int params_of(const struct event *ev, struct params *ret);

/* Bytes of parameter @i, or NULL beyond the last; an empty parameter has *ret_len 0. */
const void *params_bytes(const struct params *p, unsigned i, size_t *ret_len);
/* A failed cursor if the parameter is missing. */
struct cursor params_cursor(const struct params *p, unsigned i);
/*
 * False if the parameter is missing or its size is not 1, 2, 4 or 8 bytes. params_u64() zero-extends, params_i64()
 * sign-extends.
 */
bool params_u64(const struct params *p, unsigned i, uint64_t *ret);
bool params_i64(const struct params *p, unsigned i, int64_t *ret);
/* Text up to the NUL, or all bytes without one. NULL if missing or empty (libscap's NULL). */
const char *params_str(const struct params *p, unsigned i, size_t *ret_len);

/* ---- building ---- */

/* Initialise with zeros, or by params_out_in(); call params_out_fini() once. Errors stick until params_begin(). */
struct params_out {
	struct sec_params head;
	uint32_t len[PARAMS_MAX];
	struct buf bytes;
};

/* Begins in the caller's memory (buf_in()). */
static inline void params_out_in(struct params_out *o, char *memory, size_t bytes)
{
	o->bytes = buf_in(memory, bytes);
}

void params_begin(struct params_out *o, uint16_t type, int64_t tid);
void params_add(struct params_out *o, const void *data, size_t len);
void params_add_u8(struct params_out *o, uint8_t v);
void params_add_u16(struct params_out *o, uint16_t v);
void params_add_u32(struct params_out *o, uint32_t v);
void params_add_u64(struct params_out *o, uint64_t v);		/* also errno, fd and pid: 8 bytes each */
void params_add_str(struct params_out *o, const char *s, size_t len);	/* adds a NUL; @s NULL = libscap's NULL */

/* Appends to the last parameter, for lists (fdlist, tuples) written in pieces. */
void params_append(struct params_out *o, const void *data, size_t len);

/* Appends the section's bytes. 0, -E2BIG (more than PARAMS_MAX) or -ENOMEM. */
int params_write(const struct params_out *o, struct buf *out);
/* The section in @scratch, ready for event_add_section(). NULL on the errors above. */
const void *params_finish(const struct params_out *o, struct arena *scratch, uint32_t *ret_len);
void params_out_fini(struct params_out *o);

#endif
