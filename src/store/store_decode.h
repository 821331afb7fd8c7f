/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chunks to records. Pure; trusts no byte.
 */
#ifndef STORE_STORE_DECODE_H
#define STORE_STORE_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include "sonde/store.h"
#include "store/store.h"

struct err;
struct store_decode;

int store_decode_new(struct store_decode **ret);	/* 0 or -ENOMEM */
void store_decode_free(struct store_decode *d);		/* NULL is fine */

/*
 * Checks a head. 0; -EBADMSG if it is none or damaged, -EPROTONOSUPPORT if a later version wrote it; with a message.
 */
int store_decode_head(const struct sonde_store_head *h, struct err *err);

/*
 * Size in the file of the chunk that begins with @data, padding included; 0 if @len bytes do not tell. -EBADMSG if no
 * chunk begins there.
 */
int64_t store_decode_size(const void *data, size_t len);

/*
 * Decodes a chunk that is completely in @data (store_decode_size()); chunks of a block come in order. Calls @fn for
 * each record; @fn NULL only decompresses. Returns the number of records, 0 for an index; -EBADMSG if the chunk is
 * damaged or its block is, then nothing more of the block can be decoded; or the negative return of @fn.
 */
int store_decode_chunk(struct store_decode *d, const void *data, store_fn fn, void *ctx);

/* Offset in @data of the next aligned chunk that may begin a block; @len if there is none. */
size_t store_decode_seek(const void *data, size_t len);

#endif
