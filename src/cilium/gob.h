/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Go's gob encoding (the documentation of Go's package encoding/gob is the specification), as far as Cilium's monitor
 * speaks it: any types on the way in, its payload type on the way out.
 *
 * A stream is hostile: message and type counts are bounded, nesting is bounded, nothing is allocated for what is not
 * there.
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
struct gob;

#define GOB_MESSAGE_MAX (1u << 20)	/* bytes; a payload is at most 64 KiB and some words */

enum gob_kind {
	GOB_BOOL, GOB_INT, GOB_UINT, GOB_FLOAT, GOB_BYTES, GOB_STRING, GOB_LIST, GOB_MAP, GOB_STRUCT, GOB__MAX
};

/* A decoded value. Members that were zero are not there: gob does not send them. */
struct gob_value {
	enum gob_kind kind;
	const char *name;	/* of the member of a struct; "" elsewhere */
	union {
		int64_t i;
		uint64_t u;	/* GOB_UINT, GOB_BOOL */
		double f;
	};
	const uint8_t *data;	/* GOB_BYTES, GOB_STRING: in the message */
	size_t len;		/* of data; elements of LIST, pairs of MAP, members of STRUCT */
	struct gob_value *at;	/* elements; MAP: key, value, key, value */
};

/* A decoder: the types of one stream. */
struct gob *gob_new(void);
void gob_free(struct gob *g);	/* NULL is fine */

/*
 * Length of the first message at @data, its length prefix included, or 0 when more bytes are needed to tell.
 * -EMSGSIZE above GOB_MESSAGE_MAX, -EBADMSG for no length.
 */
int gob_message_len(const uint8_t *data, size_t len, size_t *ret);

/*
 * Takes one whole message (with its length prefix). A definition is remembered: *@ret is NULL then; a value is
 * decoded into @mem and lives as long as that and @data. 0, -EBADMSG (@err says what), -ENOMEM.
 */
int gob_message(struct gob *g, const uint8_t *data, size_t len, struct arena *mem, struct gob_value **ret,
		struct err *err);

/* All messages of a complete stream; the last value. */
int gob_stream(struct gob *g, const uint8_t *data, size_t len, struct arena *mem, struct gob_value **ret,
	       struct err *err);

/* Member @name of a struct, or NULL: it was zero, or there is none. NULL in gives NULL out, so look-ups chain. */
const struct gob_value *gob_member(const struct gob_value *v, const char *name);
int64_t gob_int(const struct gob_value *v);	/* 0 for NULL or other kinds */

/* ---- the payload ---- */

/* What a server sends first on each connection. */
void gob_put_payload_type(struct buf *out);
/* One payload. @explicit_cpu: CPU 0 is written too, which clients that reuse their struct need to see. */
void gob_put_payload(struct buf *out, const struct cilium_payload *p, bool explicit_cpu);
/* From a value of any stream; -EBADMSG when it is no payload. */
int gob_get_payload(const struct gob_value *v, struct cilium_payload *ret);

#endif
