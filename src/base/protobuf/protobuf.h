/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Protocol buffer encoder: varints, strings and nested messages (https://protobuf.dev/programming-guides/encoding/).
 * Errors stick to the buffer.
 *
 * Build a message in its own buffer, then add it to its parent. Zero values are omitted, as in proto3.
 */
#ifndef BASE_PROTOBUF_H
#define BASE_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

struct buf;

void protobuf_varint(struct buf *out, uint64_t v);		 /* without a tag: element of a packed field */
void protobuf_uint(struct buf *out, uint32_t field, uint64_t v); /* also int64 in two's complement */
void protobuf_bytes(struct buf *out, uint32_t field, const void *data, size_t len); /* even if empty */
void protobuf_fixed64(struct buf *out, uint32_t field, uint64_t v);

/* A string. Readers reject a message with invalid UTF-8, so each invalid byte becomes U+FFFD. */
void protobuf_text(struct buf *out, uint32_t field, const char *text, size_t len);

#endif
