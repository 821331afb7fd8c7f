/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside of the ring reader: one ring, and the step to its next record. Not for other modules.
 *
 * Positions count bytes since the ring's start and become an offset only on access. Everything that a
 * producer wrote is untrusted: a length is believed only within what lies between two positions.
 */
#ifndef RING_RING_IMPL_H
#define RING_RING_IMPL_H

#include <linux/bpf.h>
#include <string.h>

#include "base/macros.h"
#include "base/vec.h"
#include "ring/ring.h"

#define RING_ALIGN 8u		/* records of all kinds start at multiples of this */
#define RING_RELEASE_SHARE 16	/* space goes back in steps of 1/16 of a ring, and after each drain */

enum ring_state {
	RING_END,	/* nothing left of this batch */
	RING_HAVE,	/* rec is the next record */
	RING_BUSY,	/* reserved, not committed */
	RING_STATE__MAX,
};

struct ring_stash;

struct ring {
	struct ring_rec rec;		/* next record if RING_HAVE, else the last one delivered */
	enum ring_state state;
	enum ring_kind kind;
	uint64_t pos;			/* behind rec; a backward ring counts down */
	uint64_t end;			/* as far as this batch goes */
	uint64_t done;			/* everything before it was delivered */
	uint64_t released;		/* what the producer knows of done */
	uint64_t release_step;		/* bytes */
	const uint8_t *data;
	uint64_t mask;			/* size of the data area - 1 */
	bool doubled;			/* data is mapped twice in a row: no record is torn */
	bool lifecycle;
	bool running;			/* RING_PERF_BACKWARD: not paused, so not to be read */
	int time_off;
	unsigned rank;			/* who goes first at equal times: life-cycle rings, then by addition */
	struct ring_stats stats;

	uint64_t *cons_pos;		/* RING_BPF */
	const uint64_t *prod_pos;
	void *perf_page;		/* RING_PERF*: struct perf_event_mmap_page */
	bool perf_time;			/* RING_PERF*: samples carry PERF_SAMPLE_TIME */
	VEC(uint64_t) found;		/* RING_PERF_BACKWARD: positions of unread records, newest first */

	int watched_fd;			/* the caller's, in the reader's epoll; -1 = none */
	void *torn;			/* owned; a record put together */
	size_t torn_cap;
	struct { void *at; size_t len; } maps[2];	/* owned */
	struct ring_stash *stash;	/* owned; NULL = records are read where the kernel wrote them */
};

/* @len bytes at position @pos, copied together because they lie across the end. NULL without memory. */
const void *ring_put_together(struct ring *r, uint64_t pos, size_t len);

static inline uint64_t ring_size(const struct ring *r)
{
	return r->mask + 1;
}

/* @len bytes at position @pos, at most the ring's size. Good until the next call. */
static inline const void *ring_bytes(struct ring *r, uint64_t pos, size_t len)
{
	uint64_t off = pos & r->mask;

	if (likely(r->doubled || off + len <= ring_size(r)))
		return r->data + off;
	return ring_put_together(r, pos, len);
}

static inline uint64_t ring_time_at(const struct ring *r, const void *data, uint32_t len)
{
	uint64_t ns;

	if (r->time_off < 0 || len < sizeof(ns) || (uint32_t)r->time_off > len - sizeof(ns))
		return 0;
	memcpy(&ns, (const uint8_t *)data + r->time_off, sizeof(ns));
	return ns;
}

/* A length that cannot be: nothing behind it can be found again. */
static inline enum ring_state ring_give_up(struct ring *r)
{
	r->stats.bad++;
	r->pos = r->end;
	return RING_END;
}

/*
 * BPF ring buffer (kernel/bpf/ringbuf.c). A record is a u32 length with BPF_RINGBUF_BUSY_BIT and
 * BPF_RINGBUF_DISCARD_BIT, a u32 page offset for the kernel, and the data. The acquire pairs with the
 * exchange of the length at commit.
 */
static inline enum ring_state ring_bpf_next(struct ring *r)
{
	while (r->pos != r->end) {
		uint32_t word = __atomic_load_n((const uint32_t *)(r->data + (r->pos & r->mask)), __ATOMIC_ACQUIRE);
		uint32_t len = word & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
		uint64_t at = r->pos, step = ROUND_UP((uint64_t)len + BPF_RINGBUF_HDR_SZ, RING_ALIGN);

		if (unlikely(word & BPF_RINGBUF_BUSY_BIT))
			return RING_BUSY;
		if (unlikely(step > r->end - at))
			return ring_give_up(r);
		r->pos = at + step;
		if (unlikely(word & BPF_RINGBUF_DISCARD_BIT)) {
			r->stats.discarded++;
			continue;
		}
		/* behind the length even where that is the last word: a plain ring goes on into its slack */
		r->rec.data = likely(r->doubled) ? r->data + (at & r->mask) + BPF_RINGBUF_HDR_SZ :
						   ring_bytes(r, at + BPF_RINGBUF_HDR_SZ, len);
		if (unlikely(!r->rec.data)) {
			r->stats.bad++;
			continue;
		}
		r->rec.len = len;
		r->rec.time_ns = ring_time_at(r, r->rec.data, len);
		return RING_HAVE;
	}
	return RING_END;
}

/* Sample how far the ring is written: sets end. */
void ring_bpf_begin(struct ring *r);
void ring_perf_begin(struct ring *r);
void ring_backward_begin(struct ring *r);

enum ring_state ring_perf_next(struct ring *r);
enum ring_state ring_backward_next(struct ring *r);

/*
 * Runs of rings that can run (mapped BPF rings) and have a record at hand: deliver in order of time, up to
 * @until_ns and until *ret_n reaches @max, which it must be below. At least one record if one is due. Return
 * what @fn returned last.
 */
bool ring_can_run(const struct ring *r);
int ring_run(struct ring *r, uint64_t until_ns, unsigned max, ring_fn fn, void *ctx, unsigned *ret_n);
int ring_run_pair(struct ring *a, struct ring *b, uint64_t until_ns, unsigned max, ring_fn fn, void *ctx,
		  unsigned *ret_n);

/*
 * Memory of @bytes (a power of two, of pages, more than the ring has) behind a mapped BPF ring: from now on the merge
 * reads there what ring_stash_take() moved. -EINVAL when it makes none.
 */
int ring_stash_new(struct ring *r, size_t bytes);
void ring_stash_take(struct ring *r);	/* before a batch */
void ring_stash_more(struct ring *r);	/* while one is being read, which does not get longer by it */
uint64_t ring_stash_unread(const struct ring *r);
void ring_stash_free(struct ring_stash *s);	/* NULL is fine */

/* Tells the producer what may be overwritten. */
void ring_release(struct ring *r);
uint64_t ring_unread_bytes(const struct ring *r);

struct ring *ring_new(const struct ring_opts *o);
void ring_free(struct ring *r);		/* NULL is fine */

/* Points @r at memory, from where its positions stand now. -EINVAL when that makes no ring. */
int ring_set_memory(struct ring *r, const struct ring_mem *m);

/* What the kernel says of a BPF map. */
int ring_map_info(int fd, struct bpf_map_info *ret);

/* Takes @r over; @fd is what epoll watches, -1 = nothing. Returns the ring's index, or -errno (@r stays). */
int ring_reader_adopt(struct ring_reader *rr, struct ring *r, int fd);
/* From now on batches end at the time when they begin. */
void ring_reader_end_at_now(struct ring_reader *rr);
/* Forgets and frees @r; its counts stay in the reader's. The caller closes the fd, afterwards. */
void ring_reader_drop(struct ring_reader *rr, struct ring *r);

#endif
