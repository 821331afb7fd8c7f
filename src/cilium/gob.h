/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Go's gob encoding (specified in the documentation of Go's package encoding/gob), limited to the needs of Cilium's
 * monitor: decodes any type, encodes the payload type only.
 *
 * Streams are untrusted: the number of messages and types and the depth of nesting are bounded, and no memory is
 * allocated for data that has not arrived.
 */
#ifndef CILIUM_GOB_H
#define CILIUM_GOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct buf;
struct cilium_payload;
struct err;

#define GOB_MESSAGE_MAX (1u << 20)	/* a payload has at most 64 KiB plus a few bytes */

enum gob_kind {
	GOB_BOOL, GOB_INT, GOB_UINT, GOB_FLOAT, GOB_BYTES, GOB_STRING, GOB_LIST, GOB_MAP, GOB_STRUCT, GOB__MAX
};

/* A decoded value. gob omits members that are zero. */
struct gob_value {
	enum gob_kind kind;
	const char *name;	/* member name in a struct, else "" */
	union {
		int64_t i;
		uint64_t u;	/* GOB_UINT, GOB_BOOL */
		double f;
	};
	const uint8_t *data;	/* GOB_BYTES, GOB_STRING: points into the message */
	size_t len;		/* bytes of data; elements of LIST, pairs of MAP, members of STRUCT */
	struct gob_value *at;	/* elements; MAP: key, value, key, value */
};

/* A decoder with the types of one stream. */
struct gob *gob_new(void);
void gob_free(struct gob *g);	/* @g may be NULL */

/*
 * Length of the first message at @data, including its length prefix; 0 if more bytes are needed. -EMSGSIZE above
 * GOB_MESSAGE_MAX, -EBADMSG for an invalid length.
 */
int gob_message_len(const uint8_t *data, size_t len, size_t *ret);

/*
 * Decodes one whole message with its length prefix. A type definition is stored and *@ret is NULL; a value is decoded
 * into @mem and borrows from @data. 0, -EBADMSG (@err has the reason) or -ENOMEM.
 */
int gob_message(struct gob *g, const uint8_t *data, size_t len, struct arena *mem, struct gob_value **ret,
		struct err *err);

/* Decodes a complete stream; *@ret is its last value. */
int gob_stream(struct gob *g, const uint8_t *data, size_t len, struct arena *mem, struct gob_value **ret,
	       struct err *err);

/* Member @name of a struct, or NULL if it is zero or unknown. @v may be NULL, so lookups chain. */
const struct gob_value *gob_member(const struct gob_value *v, const char *name);
int64_t gob_int(const struct gob_value *v);	/* 0 for NULL and other kinds */

/* ---- the payload ---- */

/* Type definitions that a server sends at the start of each connection. */
void gob_put_payload_type(struct buf *out);
/* Encodes one payload. @explicit_cpu: also writes CPU 0, for clients that reuse their struct. */
void gob_put_payload(struct buf *out, const struct cilium_payload *p, bool explicit_cpu);
/* Converts a value of any stream; -EBADMSG if it is not a payload. */
int gob_get_payload(const struct gob_value *v, struct cilium_payload *ret);

#endif
