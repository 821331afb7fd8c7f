// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/store_segment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "store/crc32c.h"
#include "base/macros.h"
#include "sonde/store.h"
#include "store/store_block.h"
#include "store/store_index.h"

#define COPY_BLOCKS 16	/* data blocks whose state records share a block */

/* State of the file after the last write that succeeded. */
struct durable {
	uint64_t off;			/* its size */
	size_t n_blocks, n_counts, filter_len;
	struct store_block_sum block;	/* of the open block; all 0 = none */
	uint64_t block_off;
	uint8_t role;
	uint64_t n;			/* records of the stream in its chunks */
};

struct store_segment {
	struct sonde_store_head head;
	struct buf out;			/* bytes from durable.off on */
	struct store_block *block;	/* owned; the stream, or names, or the state at the start */
	struct store_block *copy;	/* owned; state records of covered blocks */
	struct buf copy_out;		/* its chunks, until it is complete */
	uint32_t covers;		/* first block that it covers */
	struct store_facts facts;	/* of the open DATA block */
	struct store_index index;
	struct durable durable;
	uint64_t block_off;		/* of the open block */
	uint8_t role;
	uint64_t t_min, t_max, n, lost;
	bool told;			/* store_segment_owner() names the owners later */
	size_t n_settled;		/* blocks of the index of which all owners are known */
};

DEFINE_CLEANUP(struct store_segment *, store_segment_free)

int store_segment_new(struct store_segment **ret)
{
	_cleanup_(store_segment_freep) struct store_segment *s = calloc(1, sizeof(*s));

	if (!s || store_block_new(&s->block) < 0 || store_block_new(&s->copy) < 0)
		return -ENOMEM;
	*ret = TAKE_PTR(s);
	return 0;
}

void store_segment_free(struct store_segment *s)
{
	if (!s)
		return;
	store_block_free(s->block);
	store_block_free(s->copy);
	buf_fini(&s->out);
	buf_fini(&s->copy_out);
	store_index_fini(&s->index);
	free(s);
}

static uint64_t position(const struct store_segment *s)
{
	return s->durable.off + s->out.len;
}

static void drop_copy(struct store_segment *s)
{
	store_block_drop(s->copy);
	buf_reset(&s->copy_out);
}

int store_segment_begin(struct store_segment *s, const struct sonde_store_head *from, bool told)
{
	struct sonde_store_head *h = &s->head;

	*h = *from;
	memcpy(h->magic, SONDE_STORE_MAGIC, SONDE_STORE_MAGIC_LEN);
	h->major = SONDE_STORE_MAJOR;
	h->minor = SONDE_STORE_MINOR;
	h->byte_order = SONDE_STORE_BYTE_ORDER;
	h->head_len = sizeof(*h);
	h->rec_len = sizeof(struct sonde_rec);
	h->crc = crc32c(0, h, offsetof(struct sonde_store_head, crc));
	store_block_drop(s->block);
	drop_copy(s);
	store_index_reset(&s->index);
	s->index.offset_min_ns = s->index.offset_max_ns = h->clock_offset_ns;
	s->durable = (struct durable){ 0 };
	s->role = SONDE_STORE_DATA;
	s->told = told;
	s->n_settled = 0;
	s->t_min = s->t_max = s->n = s->lost = 0;
	buf_reset(&s->out);
	return buf_add(&s->out, h, sizeof(*h));
}

/* ---- copies of state records ---- */

static int end_copy(struct store_segment *s)
{
	const uint64_t off = position(s);
	struct store_block_sum sum;
	int r;

	if (!store_block_is_open(s->copy))
		return 0;
	store_block_sum(s->copy, &sum);
	r = sum.n_chunks ? store_index_add(&s->index, off, SONDE_STORE_COPY, &sum, NULL) : 0;
	if (r >= 0 && sum.n_chunks) {
		s->index.blocks.items[s->index.blocks.len - 1].covers = s->covers;
		r = buf_add(&s->out, s->copy_out.data, s->copy_out.len);
	}
	drop_copy(s);
	return r;
}

/* The DATA block just indexed gets its chunk of copies, an empty one if it has no state. */
static int copy_block(struct store_segment *s)
{
	struct store_block_sum sum;
	int r;

	store_block_sum(s->copy, &sum);
	if (!sum.n_chunks)
		s->covers = (uint32_t)s->index.blocks.len - 1;
	r = store_block_chunk(s->copy, false, &s->copy_out);
	return r < 0 || sum.n_chunks + 1 < COPY_BLOCKS ? r : end_copy(s);
}

static int add_copy(struct store_segment *s, const struct sonde_rec *r)
{
	if (!store_block_is_open(s->copy))
		store_block_begin(s->copy, SONDE_STORE_COPY);
	return store_block_add(s->copy, r);
}

/* ---- blocks ---- */

static void begin_block(struct store_segment *s)
{
	store_block_begin(s->block, s->role);
	store_index_facts_reset(&s->facts);
	s->block_off = position(s);
	if (s->role == SONDE_STORE_DATA && !store_block_is_open(s->copy))
		store_block_begin(s->copy, SONDE_STORE_COPY);
}

/* No owner of a record comes later than this. */
static void settle(struct store_segment *s)
{
	while (s->told && s->n_settled < s->index.blocks.len) {
		struct sonde_store_block *b = &s->index.blocks.items[s->n_settled];

		if (b->role == SONDE_STORE_DATA && b->t_max + STORE_OWNER_NS > s->t_max)
			return;
		b->flags &= (uint8_t)~SONDE_STORE_HAS_OPEN;
		s->n_settled++;
	}
}

static int index_block(struct store_segment *s)
{
	const bool is_data = s->role == SONDE_STORE_DATA;
	struct store_block_sum sum;
	int r;

	store_block_sum(s->block, &sum);
	r = store_index_add(&s->index, s->block_off, s->role, &sum, is_data ? &s->facts : NULL);
	if (r >= 0 && is_data)
		r = copy_block(s);
	settle(s);
	return r;
}

void store_segment_owner(struct store_segment *s, uint64_t ts_ns, uint32_t tgid)
{
	for (size_t i = s->index.blocks.len; i-- > s->n_settled;) {
		const struct sonde_store_block *b = &s->index.blocks.items[i];

		if (b->role == SONDE_STORE_DATA && b->t_min <= ts_ns && ts_ns <= b->t_max)
			store_index_add_process(&s->index, i, tgid);
	}
	if (store_block_is_open(s->block) && s->role == SONDE_STORE_DATA)
		store_index_facts_process(&s->facts, tgid);
}

static int end_block(struct store_segment *s)
{
	int r;

	if (!store_block_is_open(s->block))
		return 0;
	r = store_block_chunk(s->block, true, &s->out);
	return r < 0 ? r : index_block(s);
}

int store_segment_role(struct store_segment *s, uint8_t role)
{
	int r = role == s->role ? 0 : end_block(s);

	s->role = role;
	return r;
}

static void note_clock(struct store_segment *s, const struct sonde_rec *r)
{
	struct sonde_clock_rec c;

	if (r->type != SONDE_EV_CLOCK || r->len < sizeof(c))
		return;
	memcpy(&c, r, sizeof(c));
	s->index.offset_min_ns = MIN(s->index.offset_min_ns, c.offset_ns);
	s->index.offset_max_ns = MAX(s->index.offset_max_ns, c.offset_ns);
}

static void note_data(struct store_segment *s, const struct sonde_rec *r)
{
	store_index_facts_add(&s->facts, r);
	s->t_min = s->n ? MIN(s->t_min, r->ts_ns) : r->ts_ns;
	s->t_max = s->n ? MAX(s->t_max, r->ts_ns) : r->ts_ns;
	s->n++;
}

int store_segment_add(struct store_segment *s, const struct sonde_rec *r, bool is_state)
{
	int ret;

	if (!store_block_is_open(s->block))
		begin_block(s);
	ret = store_block_add(s->block, r);
	if (ret < 0)
		return ret;
	if (is_state)
		note_clock(s, r);
	if (s->role == SONDE_STORE_DATA) {
		note_data(s, r);
		if (is_state)
			ret = add_copy(s, r);
	}
	if (ret >= 0 && store_block_is_full(s->block))
		return end_block(s);
	return ret >= 0 && store_block_chunk_is_full(s->block) ? store_block_chunk(s->block, false, &s->out) : ret;
}

static bool has_pending(const struct store_segment *s)
{
	return store_block_is_open(s->block) && store_block_pending(s->block);
}

int store_segment_flush(struct store_segment *s)
{
	return has_pending(s) ? store_block_chunk(s->block, false, &s->out) : 0;
}

int store_segment_end(struct store_segment *s)
{
	struct sonde_store_foot f = {
		.magic = SONDE_STORE_FOOT_MAGIC, .t_min = s->t_min, .t_max = s->t_max, .n = s->n, .lost = s->lost,
	};
	int r = end_block(s);

	if (r >= 0)
		r = end_copy(s);
	f.index_off = position(s);
	if (r >= 0)
		r = store_index_write(&s->index, &s->out);
	f.index_len = (uint32_t)(position(s) - f.index_off);
	f.crc = crc32c(0, &f, offsetof(struct sonde_store_foot, crc));
	return r < 0 ? r : buf_add(&s->out, &f, sizeof(f));
}

/* ---- what the file has ---- */

const struct buf *store_segment_out(const struct store_segment *s)
{
	return &s->out;
}

uint64_t store_segment_offset(const struct store_segment *s)
{
	return s->durable.off;
}

uint64_t store_segment_bytes(const struct store_segment *s)
{
	return position(s);
}

/* Remembers the state that belongs to the end of the file. */
static void mark(struct store_segment *s)
{
	struct durable *d = &s->durable;

	d->n_blocks = s->index.blocks.len;
	d->n_counts = s->index.counts.len;
	d->filter_len = s->index.filters.len;
	d->block = (struct store_block_sum){ 0 };
	d->n = s->n;
	if (!store_block_is_open(s->block))
		return;
	if (s->role == SONDE_STORE_DATA)
		d->n -= store_block_pending(s->block);
	store_block_sum(s->block, &d->block);
	d->block_off = s->block_off;
	d->role = s->role;
}

void store_segment_written(struct store_segment *s)
{
	s->durable.off += s->out.len;
	buf_reset(&s->out);
	mark(s);
}

/* The part of the open block that is in the file stays, with the facts of all of it. */
static void keep_part(struct store_segment *s)
{
	const struct durable *d = &s->durable;
	const bool is_data = d->role == SONDE_STORE_DATA && s->role == SONDE_STORE_DATA &&
			     s->block_off == d->block_off;

	if (d->block.n_chunks)
		store_index_add(&s->index, d->block_off, d->role, &d->block, is_data ? &s->facts : NULL);
}

uint64_t store_segment_cut(struct store_segment *s)
{
	const struct durable *d = &s->durable;
	const uint64_t lost = s->n - d->n;

	s->index.blocks.len = d->n_blocks;
	s->n_settled = MIN(s->n_settled, d->n_blocks);
	s->index.counts.len = d->n_counts;
	s->index.filters.len = d->filter_len;
	keep_part(s);
	store_block_drop(s->block);
	drop_copy(s);
	buf_reset(&s->out);
	s->n = d->n;
	s->lost += lost;
	mark(s);
	if (!s->durable.off)
		buf_add(&s->out, &s->head, sizeof(s->head));
	return lost;
}

void store_segment_count_lost(struct store_segment *s, uint64_t n)
{
	s->lost += n;
}
