/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads segments in order, as one stream: all of it, or the blocks that may answer a question. Before a block that is
 * read comes all state that was recorded before it in its segment; names come before the records that need them.
 *
 * The ledgers of the runs are added up and come last, but only if everything was read.
 */
#ifndef STORE_STORE_READER_H
#define STORE_STORE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/store.h"
#include "store/store.h"

struct err;
struct store_reader;

#define STORE_LEAD_NS 2000000000ull	/* read before the first instant: records that later ones complete */

/* A question. Zeroed: everything. Pointers are borrowed for the reader's life. */
struct store_query {
	int64_t since_ns, until_ns;	/* wall clock; 0 = no bound */
	bool follow;			/* wait for further records behind the last one; for the caller */
	const uint64_t *segment;	/* number of the only one to read; NULL = all; for the caller */
	struct store_keys {
		const uint64_t *items;	/* any of them */
		size_t len;
		uint64_t unknown;	/* 1ull << probe: blocks with records of it are read all the same */
	} keys[SONDE_STORE_BY__MAX];
	uint64_t probes;		/* any of these, 1ull << probe; 0 = all */
	bool (*is_state)(void *ctx, uint16_t type);	/* as in struct store_writer_opts; NULL = no type is */
	void *ctx;
};

struct store_report {
	uint64_t damaged_bytes, damages;	/* unreadable, and in how many places */
	uint64_t from_ns, to_ns;		/* times of the stream around them; 0 = not known */
	uint64_t segments, skipped_segments, blocks, skipped_blocks;	/* of the stream */
	uint64_t records;			/* delivered */
};

int store_reader_new(const struct store_query *q, struct store_reader **ret);	/* 0 or -ENOMEM */
void store_reader_free(struct store_reader *r);					/* NULL is fine */

/*
 * Reads the segment @fd, which follows the one read before. 0; the negative return of @fn; or, with a message, an
 * error that concerns this segment only.
 */
int store_reader_segment(struct store_reader *r, int fd, store_fn fn, void *ctx, struct err *err);

/*
 * The same for a segment that may be growing: delivers its whole chunks from *@off on (0: from its start) and moves
 * *@off. 1 at the end of the segment, 0 if more may come, or an error as above.
 */
int store_reader_follow(struct store_reader *r, int fd, uint64_t *off, store_fn fn, void *ctx, struct err *err);

/* After the last one: the ledgers. 0 or the negative return of @fn. */
int store_reader_end(struct store_reader *r, store_fn fn, void *ctx);

const struct store_report *store_reader_report(const struct store_reader *r);

#endif
