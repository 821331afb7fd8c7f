// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The reader: batches over all rings, merged by lowest time. The layouts of rings are in ring_bpf.c, ring_mmap.c and
 * ring_perf.c; this file chooses the ring to take the next record from.
 */
#include "ring/ring.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "ring/one_ring.h"

#define CLOCKS_APART_NS 2000u	/* most that the kernel's fast clock runs ahead of clock_gettime() */
#define STASH_TURN 16u		/* records per ring between two moves of committed records into stashes */

DEFINE_CLEANUP(struct ring *, one_ring_free)

/* A ring and the time of its next record: comparing slots does not touch the rings. */
struct slot { uint64_t time_ns; struct ring *r; };

struct ring_reader {
	VEC(struct ring *) rings;	/* owned, in order of addition */
	struct slot *heap;		/* lowest time first; room for all rings */
	size_t n_heap;
	unsigned n_added;
	int epoll_fd;
	bool serial;			/* no merging */
	bool ends_at_now;		/* leave records later than the start of a batch to the next batch */
	struct ring_stats gone;		/* sums of dropped rings, and the number of batches */
};

/* ---- life ---- */

void ring_reader_free(struct ring_reader *rr)
{
	if (!rr)
		return;
	for (size_t i = 0; i < rr->rings.len; i++)
		one_ring_free(rr->rings.items[i]);
	vec_fini(&rr->rings);
	free(rr->heap);
	cleanup_close(&rr->epoll_fd);
	free(rr);
}

static int watch(const struct ring_reader *rr, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(rr->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0 ? -errno : 0;
}

struct ring_reader *ring_reader_new(void)
{
	struct ring_reader *rr = calloc(1, sizeof(*rr));

	if (!rr)
		return NULL;
	rr->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (rr->epoll_fd < 0)
		ring_reader_free(TAKE_PTR(rr));
	return rr;
}

int ring_reader_adopt(struct ring_reader *rr, struct ring *r, int fd)
{
	struct slot *heap;
	int ret;

	if (vec_grow(&rr->rings) < 0)
		return -ENOMEM;
	heap = realloc(rr->heap, (rr->rings.len + 1) * sizeof(*heap));
	if (!heap)
		return -ENOMEM;
	rr->heap = heap;
	ret = fd >= 0 ? watch(rr, fd) : 0;
	if (ret < 0)
		return ret;
	r->watched_fd = fd;
	r->rank = rr->n_added++ | (r->lifecycle ? 0 : 1u << 31);
	rr->rings.items[rr->rings.len] = r;
	return (int)rr->rings.len++;
}

/* Takes *@r over as ring_reader_adopt() does; reports a failure in @err. */
static int adopt(struct ring_reader *rr, struct ring **r, int fd, struct err *err)
{
	int ret = ring_reader_adopt(rr, *r, fd);

	if (ret < 0)
		return err_errno(err, ret, "cannot add a ring of CPU %u to the reader", (*r)->rec.cpu);
	*r = NULL;
	return ret;
}

int ring_reader_add_bpf(struct ring_reader *rr, int map_fd, const struct ring_opts *o, struct err *err)
{
	_cleanup_(one_ring_freep) struct ring *r = NULL;
	int ret = ring_bpf_open(map_fd, o, &r, err);

	return ret < 0 ? ret : adopt(rr, &r, map_fd, err);
}

int ring_reader_add_mmap(struct ring_reader *rr, int map_fd, size_t off, size_t data_bytes,
			 const struct ring_opts *o, struct err *err)
{
	_cleanup_(one_ring_freep) struct ring *r = NULL;
	int ret = ring_mmap_open(map_fd, off, data_bytes, o, &r, err);

	if (ret >= 0)
		ret = adopt(rr, &r, -1, err);
	if (ret >= 0)
		rr->ends_at_now = true;
	return ret;
}

int ring_reader_add_mem(struct ring_reader *rr, const struct ring_mem *m, const struct ring_opts *o)
{
	_cleanup_(one_ring_freep) struct ring *r = NULL;
	int ret;

	if ((unsigned)o->kind >= RING__MAX)
		return -EINVAL;
	r = one_ring_new(o);
	if (!r)
		return -ENOMEM;
	ret = one_ring_set_memory(r, m);
	if (ret >= 0)
		ret = one_ring_add_stash(r, o);
	return ret < 0 ? ret : adopt(rr, &r, -1, NULL);
}

static void add_stats(struct ring_stats *sum, const struct ring_stats *s)
{
	sum->records += s->records;
	sum->bytes += s->bytes;
	sum->discarded += s->discarded;
	sum->lost += s->lost;
	sum->unknown += s->unknown;
	sum->bad += s->bad;
}

void ring_reader_drop(struct ring_reader *rr, struct ring *r)
{
	for (size_t i = 0; i < rr->rings.len; i++) {
		if (rr->rings.items[i] != r)
			continue;
		memmove(&rr->rings.items[i], &rr->rings.items[i + 1], (rr->rings.len - i - 1) * sizeof(r));
		rr->rings.len--;
		add_stats(&rr->gone, &r->stats);
		/* The map's slot keeps the event alive after close(): epoll would report EPOLLHUP for ever. */
		if (r->watched_fd >= 0)
			epoll_ctl(rr->epoll_fd, EPOLL_CTL_DEL, r->watched_fd, NULL);
		one_ring_free(r);
		return;
	}
}

void ring_reader_set_merge(struct ring_reader *rr, bool on)
{
	rr->serial = !on;
}

int ring_reader_fd(const struct ring_reader *rr)
{
	return rr->epoll_fd;
}

void ring_reader_stats(const struct ring_reader *rr, struct ring_stats *ret)
{
	*ret = rr->gone;
	for (size_t i = 0; i < rr->rings.len; i++)
		add_stats(ret, &rr->rings.items[i]->stats);
}

unsigned ring_reader_fill_pct(const struct ring_reader *rr)
{
	uint64_t pct = 0;

	for (size_t i = 0; i < rr->rings.len; i++) {
		const struct ring *r = rr->rings.items[i];
		uint64_t unread = MIN(one_ring_unread_bytes(r), ring_size(r));

		pct = MAX(pct, unread * 100 / ring_size(r));
	}
	return (unsigned)pct;
}

/* ---- batches ---- */

static void begin_ring(struct ring *r)
{
	switch (r->kind) {
	case RING_BPF:
		ring_bpf_begin(r);
		break;
	case RING_PERF:
		ring_perf_begin(r);
		break;
	case RING_PERF_BACKWARD:
		ring_perf_backward_begin(r);
		break;
	case RING__MAX:
		break;
	}
}

/* Time after which records wait for the next batch. Call before the rings are sampled. */
static uint64_t batch_end(const struct ring_reader *rr)
{
	return rr->ends_at_now ? clock_boot_ns() - CLOCKS_APART_NS : UINT64_MAX;
}

/* Samples bulk rings first: a life-cycle record written before a sampled bulk record is in the same batch. */
static void begin_batch(struct ring_reader *rr)
{
	rr->gone.batches++;
	for (size_t i = 0; i < rr->rings.len; i++)
		if (!rr->rings.items[i]->lifecycle)
			begin_ring(rr->rings.items[i]);
	for (size_t i = 0; i < rr->rings.len; i++)
		if (rr->rings.items[i]->lifecycle)
			begin_ring(rr->rings.items[i]);
}

static void end_batch(struct ring_reader *rr)
{
	for (size_t i = 0; i < rr->rings.len; i++)
		one_ring_release(rr->rings.items[i]);
}

static enum ring_state next_record(struct ring *r)
{
	switch (r->kind) {
	case RING_BPF:
		return ring_bpf_next(r);
	case RING_PERF:
		return ring_perf_next(r);
	case RING_PERF_BACKWARD:
		return ring_perf_backward_next(r);
	case RING__MAX:
		break;
	}
	return RING_END;
}

/* Delivers the current record of a ring of any kind and advances. Returns the return value of @fn. */
static int step(struct ring *r, ring_fn fn, void *ctx, unsigned *ret_n)
{
	int ret;

	r->stats.records += r->rec.data != NULL;
	r->stats.bytes += r->kind == RING_BPF ? ROUND_UP((uint64_t)r->rec.len, RING_ALIGN) : r->rec.len;
	(*ret_n)++;
	ret = fn(ctx, &r->rec);
	r->done = r->pos;
	if (r->done - r->released >= r->release_step)
		one_ring_release(r);
	r->state = next_record(r);
	return ret;
}

static int drain_serial(struct ring_reader *rr, unsigned max, ring_fn fn, void *ctx, unsigned *ret_n)
{
	int ret = 0;

	for (size_t i = 0; i < rr->rings.len; i++) {
		struct ring *r = rr->rings.items[i];

		while (ret >= 0 && r->state == RING_HAVE && *ret_n < max)
			ret = ring_fast_can_run(r) ? ring_fast_run(r, UINT64_MAX, max, fn, ctx, ret_n) :
						step(r, fn, ctx, ret_n);
	}
	return ret;
}

/* ---- merging ---- */

static bool slot_before(const struct slot *a, const struct slot *b)
{
	return a->time_ns < b->time_ns || (a->time_ns == b->time_ns && a->r->rank < b->r->rank);
}

/* Places @s into the heap, from slot @i downwards. */
static void sift_down(struct ring_reader *rr, size_t i, struct slot s)
{
	for (;;) {
		size_t child = 2 * i + 1;

		if (child + 1 < rr->n_heap && slot_before(&rr->heap[child + 1], &rr->heap[child]))
			child++;
		if (child >= rr->n_heap || !slot_before(&rr->heap[child], &s))
			break;
		rr->heap[i] = rr->heap[child];
		i = child;
	}
	rr->heap[i] = s;
}

/*
 * Latest time that may be delivered while @r has a busy record: the busy record's time is unknown but not below that
 * of the record before it. A ring without times does not hold back others.
 */
static uint64_t horizon_of(const struct ring *r)
{
	return r->state == RING_BUSY && r->time_off >= 0 ? r->rec.time_ns : UINT64_MAX;
}

/* Returns the lowest horizon of all rings. */
static uint64_t build_heap(struct ring_reader *rr)
{
	uint64_t horizon_ns = UINT64_MAX;

	rr->n_heap = 0;
	for (size_t i = 0; i < rr->rings.len; i++) {
		struct ring *r = rr->rings.items[i];

		horizon_ns = MIN(horizon_ns, horizon_of(r));
		if (r->state == RING_HAVE)
			rr->heap[rr->n_heap++] = (struct slot){ r->rec.time_ns, r };
	}
	for (size_t i = rr->n_heap / 2; i-- > 0;)
		sift_down(rr, i, rr->heap[i]);
	return horizon_ns;
}

/* Restores the heap after the ring in slot @i (0 or a child of 0) advanced. Returns the ring's horizon. */
static uint64_t settle(struct ring_reader *rr, size_t i)
{
	struct ring *r = rr->heap[i].r;

	if (r->state == RING_HAVE) {
		sift_down(rr, i, (struct slot){ r->rec.time_ns, r });
		return UINT64_MAX;
	}
	rr->n_heap--;
	if (i < rr->n_heap)
		sift_down(rr, i, rr->heap[rr->n_heap]);
	return horizon_of(r);
}

/* The lower of slots @a and @b; @b may be beyond the end. */
static size_t lower(const struct ring_reader *rr, size_t a, size_t b)
{
	return b < rr->n_heap && slot_before(&rr->heap[b], &rr->heap[a]) ? b : a;
}

/* Delivers from the lowest ring, and from the second lowest with it, until a third ring or the horizon is due. */
static int run_top(struct ring_reader *rr, uint64_t until_ns, unsigned max, ring_fn fn, void *ctx, unsigned *ret_n)
{
	size_t second = lower(rr, 1, 2), third = 3 - second, child = 2 * second + 1;
	struct ring *r = rr->heap[0].r;
	int ret;

	if (!ring_fast_can_run(r))
		return step(r, fn, ctx, ret_n);
	if (rr->n_heap == 1)
		return ring_fast_run(r, until_ns, max, fn, ctx, ret_n);
	if (rr->n_heap > 2) {
		if (child < rr->n_heap)
			third = lower(rr, third, lower(rr, child, child + 1));
		/* stop before the third ring's time: ties are resolved by the heap */
		if (rr->heap[third].time_ns <= rr->heap[0].time_ns)
			return step(r, fn, ctx, ret_n);
		until_ns = MIN(until_ns, rr->heap[third].time_ns - 1);
	}
	if (!ring_fast_can_run(rr->heap[second].r))
		return step(r, fn, ctx, ret_n);
	ret = ring_fast_run_pair(r, rr->heap[second].r, until_ns, max, fn, ctx, ret_n);
	return ret;
}

void ring_reader_stash(struct ring_reader *rr)
{
	for (size_t i = 0; i < rr->rings.len; i++)
		if (rr->rings.items[i]->stash)
			ring_stash_more(rr->rings.items[i]);
}

static int drain_merged(struct ring_reader *rr, uint64_t end_ns, unsigned max, ring_fn fn, void *ctx,
			unsigned *ret_n)
{
	uint64_t horizon_ns = MIN(end_ns, build_heap(rr));
	unsigned every = STASH_TURN * (unsigned)rr->rings.len, turn = every;
	int ret = 0;

	while (rr->n_heap && rr->heap[0].time_ns <= horizon_ns && *ret_n < max && ret >= 0) {
		if (*ret_n >= turn) {
			ring_reader_stash(rr);
			turn = *ret_n + every;
		}
		ret = run_top(rr, horizon_ns, MIN(max, turn), fn, ctx, ret_n);
		if (rr->n_heap > 1)
			horizon_ns = MIN(horizon_ns, settle(rr, lower(rr, 1, 2)));
		horizon_ns = MIN(horizon_ns, settle(rr, 0));
	}
	return ret;
}

int ring_reader_drain(struct ring_reader *rr, unsigned budget, ring_fn fn, void *ctx)
{
	unsigned max = budget && budget < INT_MAX ? budget : INT_MAX, n = 0;
	uint64_t end_ns = batch_end(rr);
	int ret;

	begin_batch(rr);
	ret = rr->serial ? drain_serial(rr, max, fn, ctx, &n) : drain_merged(rr, end_ns, max, fn, ctx, &n);
	end_batch(rr);
	return ret < 0 ? ret : (int)n;
}
