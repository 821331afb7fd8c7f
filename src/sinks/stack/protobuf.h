/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Protocol buffers, written: varints, strings and nested messages into a buffer
 * (https://protobuf.dev/programming-guides/encoding/). Errors stick to the buffer.
 *
 * A message is built in a buffer of its own and then added to its parent. Zero values are left out, as proto3 wants.
 */
#ifndef SINKS_PROTOBUF_H
#define SINKS_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

struct buf;

void protobuf_varint(struct buf *out, uint64_t v);		 /* without a tag: elements of packed fields */
void protobuf_uint(struct buf *out, uint32_t field, uint64_t v); /* int64 too: as two's complement */
void protobuf_bytes(struct buf *out, uint32_t field, const void *data, size_t len); /* also when it is empty */
void protobuf_fixed64(struct buf *out, uint32_t field, uint64_t v);

/* A string: readers refuse a whole message for one byte that is no UTF-8, so U+FFFD stands for each of those. */
void protobuf_text(struct buf *out, uint32_t field, const char *text, size_t len);

#endif
