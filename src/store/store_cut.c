// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/store_cut.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/macros.h"
#include "sonde/store.h"
#include "sonde/symbol_wire.h"
#include "store/store_reader.h"
#include "store/store_scan.h"
#include "store/store_segment.h"

#define WRITE_BYTES (256u << 10)

DEFINE_CLEANUP(struct store_segment *, store_segment_free)
DEFINE_CLEANUP(struct store_reader *, store_reader_free)

struct cut {
	const struct store_query *q;
	struct store_segment *to;
	struct buf names;	/* records, aligned: they follow the stream */
	uint64_t since_ns;	/* boot clock */
	uint8_t role;		/* of the records now */
	int fd;
};

static int write_out(struct cut *c, size_t least)
{
	const struct buf *out = store_segment_out(c->to);
	int r;

	if (out->len < least)
		return 0;
	r = io_write_all(c->fd, out->data, out->len);
	if (r >= 0)
		store_segment_written(c->to);
	return r;
}

static int add(struct cut *c, uint8_t role, const struct sonde_rec *r, bool is_state)
{
	int ret = role == c->role ? 0 : store_segment_role(c->to, role);

	c->role = role;
	if (ret >= 0)
		ret = store_segment_add(c->to, r, is_state);
	return ret < 0 ? ret : write_out(c, WRITE_BYTES);
}

/* State that comes late stays where it is in the stream. */
static int on_record(void *ctx, const struct sonde_rec *r)
{
	struct cut *c = ctx;
	const bool is_state = r->flags & SONDE_RF_SNAPSHOT || c->q->is_state(c->q->ctx, r->type);
	const bool is_before = r->ts_ns < c->since_ns;

	if (r->flags & SONDE_RF_SKIPPED || (is_before && !is_state))
		return 0;
	if (r->type == SONDE_EV_SYMBOLS) {
		buf_add(&c->names, r, r->len);
		return buf_align(&c->names, SONDE_STORE_ALIGN);
	}
	return add(c, is_before && c->role == SONDE_STORE_STATE ? SONDE_STORE_STATE : SONDE_STORE_DATA, r, is_state);
}

static int add_names(struct cut *c)
{
	int r = 0;

	for (size_t at = 0; r >= 0 && at < c->names.len;) {
		const struct sonde_rec *rec = (const void *)(c->names.data + at);

		r = add(c, SONDE_STORE_NAMES, rec, false);
		at += ROUND_UP(rec->len, (uint32_t)SONDE_STORE_ALIGN);
	}
	return r;
}

static int cut_stream(struct cut *c, int fd, const struct sonde_store_head *from)
{
	_cleanup_(store_reader_freep) struct store_reader *reader = NULL;
	struct sonde_store_head head = *from;
	int r = store_reader_new(c->q, &reader);

	head.start_ns = MAX(head.start_ns, c->since_ns);
	if (r >= 0)
		r = store_segment_begin(c->to, &head, false);
	if (r >= 0)
		r = store_segment_role(c->to, SONDE_STORE_STATE);
	if (r >= 0)
		r = store_reader_segment(reader, fd, on_record, c, NULL);
	if (r >= 0)
		r = add_names(c);
	if (r >= 0)
		r = store_segment_end(c->to);
	return r < 0 ? r : write_out(c, 0);
}

int store_cut(int fd, int to_fd, const struct store_query *q)
{
	_cleanup_(store_segment_freep) struct store_segment *to = NULL;
	_cleanup_(store_scan_fini) struct store_scan s = { 0 };
	struct cut c = { .q = q, .fd = to_fd, .role = SONDE_STORE_STATE };
	int r = store_scan_open(fd, &s, NULL);

	if (r >= 0)
		r = store_segment_new(&to);
	if (r >= 0) {
		c.to = to;
		c.since_ns = (uint64_t)MAX(q->since_ns - s.head.clock_offset_ns, (int64_t)0);
		r = cut_stream(&c, fd, &s.head);
	}
	buf_fini(&c.names);
	return r;
}

int store_cut_span(int fd, int64_t *ret_from_ns, int64_t *ret_to_ns)
{
	_cleanup_(store_scan_fini) struct store_scan s = { 0 };
	uint64_t from = 0, to = 0, n = 0;
	int r = store_scan_open(fd, &s, NULL);

	for (size_t i = 0; r >= 0 && i < s.index.blocks.len; i++) {
		const struct sonde_store_block *b = &s.index.blocks.items[i];

		if (b->role != SONDE_STORE_DATA || !b->n)
			continue;
		from = n ? MIN(from, b->t_min) : b->t_min;
		to = MAX(to, b->t_max);
		n += b->n;
	}
	*ret_from_ns = n ? (int64_t)from + s.head.clock_offset_ns : 0;
	*ret_to_ns = n ? (int64_t)to + s.head.clock_offset_ns : 0;
	return r;
}
