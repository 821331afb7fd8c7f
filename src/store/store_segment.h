/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A segment being written, as bytes: blocks, copies of state records, index. The caller writes the bytes to a file,
 * and says whether they arrived.
 */
#ifndef STORE_STORE_SEGMENT_H
#define STORE_STORE_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#define STORE_OWNER_NS 200000000ull

struct sonde_rec;
struct sonde_store_head;
struct store_segment;

int store_segment_new(struct store_segment **ret);	/* 0 or -ENOMEM */
void store_segment_free(struct store_segment *s);	/* NULL is fine */

/* Starts a file with @h, of which the constant members are set here. @h->number and so on are the caller's. */
int store_segment_begin(struct store_segment *s, const struct sonde_store_head *h, bool told);

/* The block of the next records: SONDE_STORE_DATA and so on. Ends a block of another role. 0 or -errno. */
int store_segment_role(struct store_segment *s, uint8_t role);

/* Adds a record. @is_state: readers that skip its block need it. 0 or -errno. */
int store_segment_add(struct store_segment *s, const struct sonde_rec *r, bool is_state);

/*
 * The process @tgid turned out to be that of a record of time @ts_ns, at most STORE_OWNER_NS ago. Without such calls
 * (@told false at the beginning) blocks with records of unknown process stay marked.
 */
void store_segment_owner(struct store_segment *s, uint64_t ts_ns, uint32_t tgid);

/* Ends the chunk of the records that no chunk has yet. 0 or -errno. */
int store_segment_flush(struct store_segment *s);

/* Ends the blocks and adds index and foot. 0 or -errno. */
int store_segment_end(struct store_segment *s);

/* Bytes that are not in the file yet, to be written at store_segment_offset(). */
const struct buf *store_segment_out(const struct store_segment *s);
uint64_t store_segment_offset(const struct store_segment *s);
/* Size of the file with these bytes. */
uint64_t store_segment_bytes(const struct store_segment *s);

/* The bytes are in the file. */
void store_segment_written(struct store_segment *s);
/*
 * The bytes are not in the file, and it ends at store_segment_offset(): their records are left out, and those without
 * a chunk. Returns how many records of the stream.
 */
uint64_t store_segment_cut(struct store_segment *s);

/* Counts @n records that were not even added as left out, for the foot. */
void store_segment_count_lost(struct store_segment *s, uint64_t n);

#endif
