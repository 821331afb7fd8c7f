// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fast drain of mapped BPF ring buffers, a single ring or two merged, as long as records are committed and valid. Any
 * other record becomes the ring's current record, for the reader's general step.
 *
 * A record's position follows from the length of the record before: a chain of dependent loads. So positions stay in
 * registers; a store and reload in the chain doubles the cost of a record. A merged pair has a copy of the loop per
 * ring, so that switching rings is one jump. (A branchless selection made the chain span both rings and was slower,
 * unless the rings alternate at random, record by record.)
 */
#include "ring/one_ring.h"

#define always_inline inline __attribute__((always_inline))

/* A ring during a run. The current record is kept apart: its address escapes, so it cannot stay in registers. */
struct track {
	struct ring *r;
	const uint8_t *data;
	uint64_t mask;
	uint64_t pos;		/* end of the current record */
	uint64_t stop;		/* next position to release space at; at most the end of the batch */
	uint32_t time_end;	/* least length of a record with a time */
	bool empty;		/* no current record: it was delivered, and the next needs the general step */
};

struct run {
	ring_fn fn;
	void *ctx;
	unsigned left;		/* records that may still be delivered, > 0 */
	int ret;		/* last return value of fn */
};

static always_inline uint64_t size_of(uint32_t len)
{
	return ROUND_UP((uint64_t)len + BPF_RINGBUF_HDR_SZ, RING_ALIGN);
}

static always_inline uint64_t next_stop(const struct ring *r, uint64_t pos)
{
	return r->end - pos > r->release_step ? pos + r->release_step : r->end;
}

static always_inline struct track track_begin(struct ring *r)
{
	return (struct track){
		.r = r, .data = r->data, .mask = r->mask, .pos = r->pos, .stop = next_stop(r, r->pos),
		.time_end = r->time_off < 0 ? UINT32_MAX : (uint32_t)r->time_off + (uint32_t)sizeof(uint64_t),
	};
}

/* Returns the bytes of ring space that were delivered. */
static always_inline uint64_t track_end(const struct track *t, const struct ring_rec *rec)
{
	struct ring *r = t->r;
	uint64_t bytes, first = r->pos - size_of(r->rec.len);

	if (t->pos == r->pos && !t->empty)
		return 0;
	r->pos = t->pos;
	r->done = t->empty ? t->pos : t->pos - size_of(rec->len);
	r->rec.time_ns = rec->time_ns;
	r->rec.data = rec->data;
	r->rec.len = rec->len;
	bytes = r->done - first;
	if (t->empty)
		r->state = ring_bpf_next(r);
	return bytes;
}

/* Updates the statistics once a run. A pair counts on its first ring: only sums over rings are visible. */
static unsigned count(struct ring *r, unsigned n, uint64_t bytes)
{
	r->stats.records += n;
	r->stats.bytes += bytes - (uint64_t)n * BPF_RINGBUF_HDR_SZ;
	return n;
}

/* Releases the space before @pos. Returns the next stop. */
static __attribute__((noinline)) uint64_t release_to(struct ring *r, uint64_t pos)
{
	r->done = pos;
	one_ring_release(r);
	return next_stop(r, pos);
}

/*
 * Delivers records up to @until_ns. True if the next record is later; false if the track is empty or the run is over.
 * With a flag bit set a length exceeds any ring below 1 GiB, so one comparison catches the flags, the stop, the end
 * of the batch and impossible lengths. At the end of the batch it compares a stale length, and every length exceeds
 * the 0 bytes left.
 */
static always_inline bool ride(struct track *t, struct ring_rec *rec, uint64_t until_ns, struct run *run)
{
	while (rec->time_ns <= until_ns) {
		const uint8_t *hdr = t->data + (t->pos & t->mask);
		uint64_t size, time_ns = 0;
		uint32_t len;

		run->ret = run->fn(run->ctx, rec);
		run->left--;
		len = __atomic_load_n((const uint32_t *)hdr, __ATOMIC_ACQUIRE);
		size = size_of(len);
		if (unlikely(size > t->stop - t->pos)) {
			t->stop = release_to(t->r, t->pos);
			t->empty = size > t->stop - t->pos;
			if (t->empty)
				return false;
		}
		if (likely(len >= t->time_end))
			memcpy(&time_ns, hdr + BPF_RINGBUF_HDR_SZ + t->time_end - sizeof(time_ns), sizeof(time_ns));
		rec->time_ns = time_ns;
		rec->data = hdr + BPF_RINGBUF_HDR_SZ;
		rec->len = len;
		t->pos += size;
		if (unlikely(!run->left) || unlikely(run->ret < 0))
			return false;
	}
	return true;
}

bool ring_fast_can_run(const struct ring *r)
{
	return r->kind == RING_BPF && r->doubled && ring_size(r) < BPF_RINGBUF_DISCARD_BIT;
}

int ring_fast_run(struct ring *r, uint64_t until_ns, unsigned max, ring_fn fn, void *ctx, unsigned *ret_n)
{
	struct run run = { .fn = fn, .ctx = ctx, .left = max - *ret_n };
	struct ring_rec rec = r->rec;
	struct track t = track_begin(r);

	if (until_ns == UINT64_MAX)	/* a constant: the compiler drops the comparison */
		ride(&t, &rec, UINT64_MAX, &run);
	else
		ride(&t, &rec, until_ns, &run);
	*ret_n += count(r, max - *ret_n - run.left, track_end(&t, &rec));
	return run.ret;
}

int ring_fast_run_pair(struct ring *a, struct ring *b, uint64_t until_ns, unsigned max, ring_fn fn, void *ctx,
		  unsigned *ret_n)
{
	struct run run = { .fn = fn, .ctx = ctx, .left = max - *ret_n };
	struct ring *first = a->rank < b->rank ? a : b, *second = first == a ? b : a;
	struct ring_rec rec1 = first->rec, rec2 = second->rec;
	struct track t1 = track_begin(first), t2 = track_begin(second);
	uint64_t bytes;

	/* Ties go to the first ring; the second only runs while the first's next time is above 0. */
	while (ride(&t1, &rec1, MIN(until_ns, rec2.time_ns), &run) && rec2.time_ns <= until_ns &&
	       ride(&t2, &rec2, MIN(until_ns, rec1.time_ns - 1), &run) && rec1.time_ns <= until_ns)
		;
	bytes = track_end(&t1, &rec1);
	bytes += track_end(&t2, &rec2);
	*ret_n += count(first, max - *ret_n - run.left, bytes);
	return run.ret;
}
