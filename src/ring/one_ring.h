/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One ring: its memory, its positions, and the step to its next record. Private to src/ring.
 *
 * A position counts bytes since the ring was created; masking it gives an offset into the data. The producer's
 * writes are untrusted: a record must end within the range between two positions.
 */
#ifndef RING_ONE_RING_H
#define RING_ONE_RING_H

#include <linux/bpf.h>
#include <string.h>

#include "base/macros.h"
#include "base/vec.h"
#include "ring/ring.h"

#define RING_ALIGN 8u		/* records of all kinds start at multiples of this */
#define RING_RELEASE_SHARE 16	/* release space after each drain and after every 1/16 of the ring */

enum ring_state {
	RING_END,	/* the batch has no further record */
	RING_HAVE,	/* rec is the next record */
	RING_BUSY,	/* the next record is reserved but not committed */
	RING_STATE__MAX,
};

struct ring {
	struct ring_rec rec;		/* next record if RING_HAVE, else the last delivered record */
	enum ring_state state;
	enum ring_kind kind;
	uint64_t pos;			/* end of rec; a backward ring counts down */
	uint64_t end;			/* end of this batch */
	uint64_t done;			/* end of the delivered records */
	uint64_t released;		/* last value of `done` written to the consumer position */
	uint64_t release_step;		/* bytes */
	const uint8_t *data;
	uint64_t mask;			/* size of the data area - 1 */
	bool doubled;			/* the data area is mapped twice in a row: records are contiguous */
	bool lifecycle;
	bool running;			/* RING_PERF_BACKWARD: not paused, hence unreadable */
	int time_off;
	unsigned rank;			/* breaks ties of time: life-cycle rings first, then order of addition */
	struct ring_stats stats;

	uint64_t *cons_pos;		/* RING_BPF */
	const uint64_t *prod_pos;
	void *perf_page;		/* RING_PERF*: struct perf_event_mmap_page */
	bool perf_time;			/* RING_PERF*: samples carry PERF_SAMPLE_TIME */
	VEC(uint64_t) found;		/* RING_PERF_BACKWARD: positions of unread records, newest first */

	int watched_fd;			/* the caller's, in the reader's epoll set; -1 = none */
	void *torn;			/* owned; copy of a record that crosses the end of the data */
	size_t torn_cap;
	struct { void *at; size_t len; } maps[2];	/* owned */
	struct ring_stash *stash;	/* owned; NULL = records are read from the kernel's memory */
};

/* Copies @len bytes at @pos that cross the end of the data. Valid until the next call; NULL without memory. */
const void *one_ring_join(struct ring *r, uint64_t pos, size_t len);

static inline uint64_t ring_size(const struct ring *r)
{
	return r->mask + 1;
}

/* @len bytes at position @pos; @len is at most the ring's size. Valid until the next call; NULL without memory. */
static inline const void *ring_bytes(struct ring *r, uint64_t pos, size_t len)
{
	uint64_t off = pos & r->mask;

	if (likely(r->doubled || off + len <= ring_size(r)))
		return r->data + off;
	return one_ring_join(r, pos, len);
}

static inline uint64_t ring_time_at(const struct ring *r, const void *data, uint32_t len)
{
	uint64_t ns;

	if (r->time_off < 0 || len < sizeof(ns) || (uint32_t)r->time_off > len - sizeof(ns))
		return 0;
	memcpy(&ns, (const uint8_t *)data + r->time_off, sizeof(ns));
	return ns;
}

/* Skips to the end of the batch: after an impossible length no record boundary is known. */
static inline enum ring_state ring_give_up(struct ring *r)
{
	r->stats.bad++;
	r->pos = r->end;
	return RING_END;
}

/*
 * BPF ring buffer (kernel/bpf/ringbuf.c). A record is a u32 length with BPF_RINGBUF_BUSY_BIT and
 * BPF_RINGBUF_DISCARD_BIT, a u32 page offset that only the kernel uses, and the data. The acquire pairs with the
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
		/* mask @at, not the data's position: the body of an mmap ring's last record lies in the slack */
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

/* Samples the producer's position into `end` and takes the first record. */
void ring_bpf_begin(struct ring *r);
void ring_perf_begin(struct ring *r);
void ring_perf_backward_begin(struct ring *r);

enum ring_state ring_perf_next(struct ring *r);
enum ring_state ring_perf_backward_next(struct ring *r);

/*
 * Fast drain of rings that ring_fast_can_run() accepts (mapped BPF rings) and whose state is RING_HAVE: delivers in
 * order of time up to @until_ns, until *ret_n reaches @max; *ret_n must be below @max on entry. Delivers at least one
 * record if one is due. Returns the last return value of @fn.
 */
bool ring_fast_can_run(const struct ring *r);
int ring_fast_run(struct ring *r, uint64_t until_ns, unsigned max, ring_fn fn, void *ctx, unsigned *ret_n);
int ring_fast_run_pair(struct ring *a, struct ring *b, uint64_t until_ns, unsigned max, ring_fn fn, void *ctx,
		       unsigned *ret_n);

/*
 * Allocates a stash of @bytes (a power of two, of pages, larger than the ring) behind the mapped BPF ring @r, and
 * describes it in *ret_mem: the ring that the merge reads from then on. -EINVAL for an impossible size.
 */
int ring_stash_new(const struct ring *r, size_t bytes, struct ring_stash **ret, struct ring_mem *ret_mem);
void ring_stash_take(struct ring *r);	/* before a batch */
void ring_stash_more(struct ring *r);	/* during a batch; does not extend it */
uint64_t ring_stash_unread(const struct ring *r);
void ring_stash_free(struct ring_stash *s);	/* NULL is fine */

/* Writes the consumer position: the producer may overwrite the delivered records. */
void one_ring_release(struct ring *r);
uint64_t one_ring_unread_bytes(const struct ring *r);

struct ring *one_ring_new(const struct ring_opts *o);
void one_ring_free(struct ring *r);		/* NULL is fine */

/* Points @r at memory and starts at the current consumer position. -EINVAL if @m does not describe a ring. */
int one_ring_set_memory(struct ring *r, const struct ring_mem *m);

/* Adds the stash that o->stash_bytes asks for; 0 bytes = no stash. */
int one_ring_add_stash(struct ring *r, const struct ring_opts *o);

/* Maps a ring; arguments and errors of ring_reader_add_bpf() and ring_reader_add_mmap(). */
int ring_bpf_open(int map_fd, const struct ring_opts *o, struct ring **ret, struct err *err);
int ring_mmap_open(int map_fd, size_t off, size_t data_bytes, const struct ring_opts *o, struct ring **ret,
		   struct err *err);

int ring_bpf_map_info(int fd, struct bpf_map_info *ret);

/* Takes ownership of @r; epoll watches @fd (-1 = nothing). Returns the ring's index, or -errno; @r stays then. */
int ring_reader_adopt(struct ring_reader *rr, struct ring *r, int fd);
/* Removes and frees @r; the reader keeps its counts. The caller closes the fd afterwards. */
void ring_reader_drop(struct ring_reader *rr, struct ring *r);

#endif
