// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Perf event rings in memory (include/uapi/linux/perf_event.h): records of struct perf_event_header and a body,
 * forward or backward. The data area is mapped once: ring_bytes() joins records that cross its end.
 */
#include <linux/perf_event.h>

#include "base/cursor.h"
#include "ring/one_ring.h"

/* Body of PERF_RECORD_SAMPLE with PERF_SAMPLE_RAW: [u64 time] u32 n, n bytes (the producer's padding included). */
static enum ring_state take_sample(struct ring *r, struct cursor *c)
{
	uint64_t time_ns = r->perf_time ? cur_u64(c) : 0;
	uint32_t len = cur_u32(c);
	const void *data = cur_bytes(c, len);

	if (!data) {
		r->stats.bad++;
		return RING_END;
	}
	r->rec.data = data;
	r->rec.len = len;
	r->rec.time_ns = r->time_off >= 0 ? ring_time_at(r, data, len) : time_ns;
	r->rec.lost = 0;
	return RING_HAVE;
}

/* PERF_RECORD_LOST: u64 id, u64 count. It takes the time of the record before it, to be delivered right after it. */
static enum ring_state take_lost(struct ring *r, struct cursor *c)
{
	uint64_t lost;

	cur_skip(c, sizeof(uint64_t));
	lost = cur_u64(c);
	if (!cur_ok(c)) {
		r->stats.bad++;
		return RING_END;
	}
	r->stats.lost += lost;
	r->rec.data = NULL;
	r->rec.len = 0;
	r->rec.lost = lost;
	return RING_HAVE;
}

/* Size of the record at @pos, or 0 if it is invalid or exceeds @left bytes. A header never crosses the end. */
static uint32_t size_at(const struct ring *r, uint64_t pos, uint64_t left)
{
	struct perf_event_header h;

	memcpy(&h, r->data + (pos & r->mask), sizeof(h));
	return h.size < sizeof(h) || h.size % RING_ALIGN || h.size > left ? 0 : h.size;
}

/* RING_END = the record has nothing to deliver. */
static enum ring_state take_record(struct ring *r, uint64_t pos, uint32_t size)
{
	const struct perf_event_header *h = ring_bytes(r, pos, size);
	struct cursor c;

	if (!h) {
		r->stats.bad++;
		return RING_END;
	}
	c = cur_init(h + 1, size - sizeof(*h));
	switch (h->type) {
	case PERF_RECORD_SAMPLE:
		return take_sample(r, &c);
	case PERF_RECORD_LOST:
		return take_lost(r, &c);
	default: /* PERF_RECORD_* of the kernel, an open set */
		r->stats.unknown++;
		return RING_END;
	}
}

static uint64_t load_head(const struct ring *r)
{
	const struct perf_event_mmap_page *page = r->perf_page;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);

	return head - head % RING_ALIGN;
}

/* ---- forward ---- */

enum ring_state ring_perf_next(struct ring *r)
{
	while (r->pos != r->end) {
		uint64_t at = r->pos;
		uint32_t size = size_at(r, at, r->end - at);

		if (!size)
			return ring_give_up(r);
		r->pos = at + size;
		if (take_record(r, at, size) == RING_HAVE)
			return RING_HAVE;
	}
	return RING_END;
}

void ring_perf_begin(struct ring *r)
{
	r->end = load_head(r);
	if (r->end - r->pos > ring_size(r)) {
		ring_give_up(r);
		r->state = RING_END;
	}
	if (r->state != RING_HAVE)
		r->state = ring_perf_next(r);
}

/* ---- backward: the newest record is at the head, which counts down from 0 ---- */

/* Lists the records between the head and the last position read. The oldest may be overwritten in part. */
static void find_records(struct ring *r)
{
	uint64_t at = r->end, left = MIN(r->done - at, ring_size(r));
	bool overwritten = r->done - at > ring_size(r);

	r->found.len = 0;
	while (left) {
		struct perf_event_header h;
		uint32_t size = size_at(r, at, left);

		if (!size || vec_push(&r->found, at) < 0) {
			memcpy(&h, r->data + (at & r->mask), sizeof(h));
			r->stats.bad += !(overwritten && h.size > left);
			return;
		}
		at += size;
		left -= size;
	}
}

enum ring_state ring_perf_backward_next(struct ring *r)
{
	while (r->found.len) {
		uint64_t at = r->found.items[--r->found.len];
		uint32_t size = size_at(r, at, ring_size(r));

		r->pos = at;
		if (size && take_record(r, at, size) == RING_HAVE)
			return RING_HAVE;
	}
	r->pos = r->end;
	return RING_END;
}

void ring_perf_backward_begin(struct ring *r)
{
	uint64_t head = load_head(r);

	if (r->running) {
		r->found.len = 0;
		r->state = RING_END;
		r->pos = r->end = r->done;
		return;
	}
	if (head != r->end) {	/* new records: those listed before may be overwritten */
		r->end = head;
		r->state = RING_END;
		find_records(r);
	}
	if (r->state != RING_HAVE)
		r->state = ring_perf_backward_next(r);
}
