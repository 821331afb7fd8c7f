/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decompresses input that is compressed as a whole (gzip, zstd), including concatenated streams. Other input passes
 * unchanged. Private to src/source.
 */
#ifndef SOURCE_INFLATE_H
#define SOURCE_INFLATE_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;

/* Does @head (4 bytes, fewer at the end of the input) start a compressed stream? */
bool inflate_wants(const void *head, size_t len);

/* @head: as above. NULL without memory. */
struct inflate *inflate_new(const void *head, size_t len);
void inflate_free(struct inflate *z);

/*
 * Decompresses about @most bytes from @in to @out and consumes their input. 0, -EBADMSG for a corrupt stream, or
 * -ENOMEM.
 */
int inflate_feed(struct inflate *z, struct buf *in, struct buf *out, size_t most, struct err *err);

/* True between streams, where the input may end. */
bool inflate_is_whole(const struct inflate *z);

#endif
