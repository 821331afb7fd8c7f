/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A block being written: records go in, finished chunks come out as bytes.
 */
#ifndef STORE_STORE_BLOCK_H
#define STORE_STORE_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct sonde_rec;
struct store_block;

/* Sums over the chunks of the block so far; times are 0 without a record. */
struct store_block_sum {
	uint64_t t_min, t_max;
	uint32_t len;	/* bytes in the file */
	uint32_t rlen, n, n_chunks;
};

int store_block_new(struct store_block **ret);	/* 0 or -ENOMEM */
void store_block_free(struct store_block *b);	/* NULL is fine */

/* Starts the next block, of SONDE_STORE_DATA and so on. The last one has ended. */
void store_block_begin(struct store_block *b, uint8_t role);
bool store_block_is_open(const struct store_block *b);

/* Adds a record. 0 or -ENOMEM. */
int store_block_add(struct store_block *b, const struct sonde_rec *r);

/* Is the chunk, or the block, as large as it should be? Then the caller ends it. */
bool store_block_chunk_is_full(const struct store_block *b);
bool store_block_is_full(const struct store_block *b);

/* Number of records that no chunk has yet. */
uint32_t store_block_pending(const struct store_block *b);

/*
 * Appends a chunk of the pending records to @out; @last ends the block. Writes an empty chunk if nothing is pending.
 * 0, -ENOMEM, or -EIO if zstd fails.
 */
int store_block_chunk(struct store_block *b, bool last, struct buf *out);

/* Forgets the block: no chunk follows those that came out. */
void store_block_drop(struct store_block *b);

void store_block_sum(const struct store_block *b, struct store_block_sum *ret);

#endif
