/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside src/source only: input that is compressed as a whole (gzip, zstd) becomes what it was. Several streams
 * one behind the other are one. Everything else passes as it is.
 */
#ifndef SOURCE_INFLATE_H
#define SOURCE_INFLATE_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;
struct inflate;

/* True when @head (4 bytes, fewer at the end of the input) begins a compressed stream. */
bool inflate_wants(const void *head, size_t len);

/* @head as above. NULL without memory. */
struct inflate *inflate_new(const void *head, size_t len);
void inflate_free(struct inflate *z);

/*
 * Turns as much of @in as gives about @most bytes into @out; consumes it from @in. 0, or -EBADMSG (broken stream)
 * or -ENOMEM with @err.
 */
int inflate_feed(struct inflate *z, struct buf *in, struct buf *out, size_t most, struct err *err);

/* True between streams: the input may end here. */
bool inflate_is_whole(const struct inflate *z);

#endif
