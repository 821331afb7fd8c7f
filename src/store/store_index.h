/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The index of a segment: made while blocks are written, read and validated from a file, and asked which blocks may
 * have records of a process, socket, call or file.
 */
#ifndef STORE_STORE_INDEX_H
#define STORE_STORE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "sonde/store.h"

struct store_block_sum;

#define STORE_FILTER_BYTES 8192		/* largest filter */
#define STORE_PROBES 256		/* types are probe << 8 | number */

/* ---- writing ---- */

/* Facts of the records of one block; filters are made at the largest size and folded at the end. */
struct store_facts {
	uint64_t last[SONDE_STORE_BY__MAX];	/* key added last */
	uint32_t n_keys[SONDE_STORE_BY__MAX];	/* distinct ones, about */
	uint64_t bits[SONDE_STORE_BY__MAX][STORE_FILTER_BYTES / 8];
	uint32_t n[STORE_PROBES];
	uint64_t bytes[STORE_PROBES];
	uint8_t flags;				/* SONDE_STORE_HAS_* */
};

void store_index_facts_reset(struct store_facts *f);
void store_index_facts_add(struct store_facts *f, const struct sonde_rec *r);

void store_index_facts_process(struct store_facts *f, uint32_t tgid);

/* ---- the whole index, of either origin ---- */

struct store_index {
	VEC(struct sonde_store_block) blocks;
	VEC(struct sonde_store_count) counts;
	struct buf filters;
	int64_t offset_min_ns, offset_max_ns;	/* of the wall clock */
};

void store_index_fini(struct store_index *x);
void store_index_reset(struct store_index *x);

/* Appends a block that begins at @off. @facts NULL: no filters and no counts, so any question fits. 0 or -ENOMEM. */
int store_index_add(struct store_index *x, uint64_t off, uint8_t role, const struct store_block_sum *sum,
		    const struct store_facts *facts);

/* Adds a process to the filter of block @i, whose size stays. */
void store_index_add_process(struct store_index *x, size_t i, uint32_t tgid);

/* Appends the index as a chunk of the file to @out. 0 or -ENOMEM. */
int store_index_write(const struct store_index *x, struct buf *out);

/*
 * Takes the content of an index chunk (behind its header), of which nothing is trusted: every block lies in a file of
 * @file_bytes and every offset in the index. 0, -EBADMSG or -ENOMEM.
 */
int store_index_parse(struct store_index *x, const void *data, size_t len, uint64_t file_bytes);

/* May the block have a record with @key of kind @by (SONDE_STORE_BY_*)? */
bool store_index_may_have(const struct store_index *x, const struct sonde_store_block *b, unsigned by, uint64_t key);
/* Has it records of a probe in @probes, bits 1ull << probe below 64? */
bool store_index_has_probe(const struct store_index *x, const struct sonde_store_block *b, uint64_t probes);

#endif
