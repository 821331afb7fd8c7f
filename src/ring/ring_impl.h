/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside src/ring only: what the reader asks of each kind of ring.
 */
#ifndef RING_RING_IMPL_H
#define RING_RING_IMPL_H

#include "ring/ring.h"

enum ring_next { RING_HAVE, RING_EMPTY, RING_BUSY };

struct ring {
	const struct ring_kind_ops *ops;
	struct ring_opts opts;
	struct ring_mem mem;		/* where its parts are mapped */
	void *map_meta, *map_data;	/* to unmap; NULL for plain memory */
	size_t map_meta_bytes, map_data_bytes;
	bool doubled;			/* data is mapped twice in a row: no record is ever torn */

	uint64_t pos, end;		/* this batch: next to read, and where to stop */
	uint64_t released;		/* position the producer knows */
	uint64_t last_ns;		/* time of the last record delivered */
	struct ring_rec rec;		/* the record at pos, when there is one */
	enum ring_next state;

	char *scratch;			/* owned: torn records are put together here */
	size_t scratch_bytes;
	uint64_t *index;		/* owned: RING_PERF_BACKWARD, offsets of records, newest first */
	size_t n_index, cap_index;
};

struct ring_kind_ops {
	/* Samples how far the ring is written: sets end. */
	void (*begin)(struct ring *r, struct ring_stats *st);
	/* Looks at pos: fills rec, skipping what is not delivered. */
	enum ring_next (*next)(struct ring *r, struct ring_stats *st);
	/* Steps over the record that rec holds. */
	void (*advance)(struct ring *r);
	/* Tells the producer how far it may write. */
	void (*release)(struct ring *r);
	/* Bytes that wait to be read. */
	uint64_t (*unread)(const struct ring *r);
};

extern const struct ring_kind_ops ring_bpf_ops;

/* @len bytes at @off of a ring whose data is not doubled, in one piece; NULL if memory ran out. */
const void *ring_piece(struct ring *r, uint64_t off, size_t len);

#endif
