/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Applies the rules of all decoders (event/redact/redact.h) to a record.
 */
#ifndef EVENT_REDACT_REDACT_RECORD_H
#define EVENT_REDACT_REDACT_RECORD_H

struct buf;
struct decoder_ops;
struct sonde_rec;

/*
 * Puts @r, of the core or of one of @decoders (NULL-terminated), without @fields into @out, replacing its content. 1,
 * or 0 if @r may be written as it is. Negative: @r must not be written.
 */
int redact_record(const struct decoder_ops *const *decoders, const struct sonde_rec *r, unsigned fields,
		  struct buf *out);

#endif
