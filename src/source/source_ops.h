/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A format of input files: converts bytes to records and knows no probe. Each is a file and a row in sources.def.
 * Content identifies the format, never the file name.
 */
#ifndef SOURCE_SOURCE_OPS_H
#define SOURCE_SOURCE_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct sonde_rec;

#define SOURCE_RECORD_MAX_BYTES (1u << 20)

/* A validated record: 8-byte aligned, readable, r->len within sizeof(*r)..SOURCE_RECORD_MAX_BYTES. */
typedef int (*source_fn)(void *ctx, const struct sonde_rec *r);

struct source_ops {
	const char *name, *summary;
	size_t state_size;
	/* Is a file with these first bytes (at least 8 unless it is shorter) of this format? */
	bool (*match)(const void *head, size_t len);
	/* Bytes that match() needs, given the first 8 (fewer at the end). NULL: 8. */
	size_t (*match_bytes)(const void *head, size_t len);
	/*
	 * Parses @data, a window that starts where the last call stopped, and calls @fn per record. Returns the bytes
	 * consumed, 0 if it needs more, -EBADMSG for invalid content (@err: what and where), or fn's negative return.
	 * @eof: no more input follows; a truncated file yields its whole records, then -ENODATA with a message. Pure:
	 * no clock, no descriptor.
	 */
	int64_t (*parse)(void *state, const void *data, size_t len, bool eof, source_fn fn, void *ctx,
			 struct err *err);
	void (*fini)(void *state);
};

extern const struct source_ops *const all_sources[];	/* NULL-terminated */

#endif
