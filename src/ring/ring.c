// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The reader: batches over all rings, merged by lowest time. What a ring looks like in memory is the business
 * of ring_bpf.c and ring_perf.c; here is only who goes next.
 */
#include "ring/ring.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "ring/ring_impl.h"

#define NS_PER_MS 1000000u
#define CLOCKS_APART_NS 2000u	/* the kernel's fast clock may run so far ahead of ours */
#define NAP_NS (NS_PER_MS / 2)	/* readable but nothing to take: a record is reserved and not committed */

#define STASH_TURN 16u	/* records, for each ring, between two looks at those that must lose nothing */

/* A ring and the time of its next record, so that comparing touches no ring. */
struct slot { uint64_t time_ns; struct ring *r; };

struct ring_reader {
	VEC(struct ring *) rings;	/* owned, in order of addition */
	struct slot *heap;		/* lowest time first; room for all rings */
	size_t n_heap;
	unsigned n_added;
	int epoll_fd, flush_fd;
	bool serial;			/* no merging */
	bool ends_at_now;		/* a batch has nothing that is later than its begin */
	bool flushing;			/* ring_reader_read() has a flush to answer */
	struct ring_stats gone;		/* of rings that were dropped, and what belongs to none */
};

/* ---- life ---- */

void ring_reader_free(struct ring_reader *rr)
{
	if (!rr)
		return;
	for (size_t i = 0; i < rr->rings.len; i++)
		ring_free(rr->rings.items[i]);
	vec_fini(&rr->rings);
	free(rr->heap);
	if (rr->epoll_fd >= 0)
		close(rr->epoll_fd);
	if (rr->flush_fd >= 0)
		close(rr->flush_fd);
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
	rr->flush_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (rr->epoll_fd < 0 || rr->flush_fd < 0 || watch(rr, rr->flush_fd) < 0) {
		ring_reader_free(rr);
		return NULL;
	}
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
		/* Closing is not enough: the map's slot keeps the event, which then says "hung up" for ever. */
		if (r->watched_fd >= 0)
			epoll_ctl(rr->epoll_fd, EPOLL_CTL_DEL, r->watched_fd, NULL);
		ring_free(r);
		return;
	}
}

void ring_reader_set_merge(struct ring_reader *rr, bool on)
{
	rr->serial = !on;
}

void ring_reader_end_at_now(struct ring_reader *rr)
{
	rr->ends_at_now = true;
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
		uint64_t unread = MIN(ring_unread_bytes(r), ring_size(r));

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
		ring_backward_begin(r);
		break;
	case RING__MAX:
		break;
	}
}

/* Later records wait for the next batch. Asked before any ring is. */
static uint64_t batch_end(const struct ring_reader *rr)
{
	return rr->ends_at_now ? clock_boot_ns() - CLOCKS_APART_NS : UINT64_MAX;
}

/* Bulk first: then whatever was written before a bulk record is within reach on the life-cycle rings. */
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
		ring_release(rr->rings.items[i]);
}

static enum ring_state next_record(struct ring *r)
{
	switch (r->kind) {
	case RING_BPF:
		return ring_bpf_next(r);
	case RING_PERF:
		return ring_perf_next(r);
	case RING_PERF_BACKWARD:
		return ring_backward_next(r);
	case RING__MAX:
		break;
	}
	return RING_END;
}

/* Delivers the record at hand and goes to the next, whatever the ring. Returns what @fn does. */
static int step(struct ring *r, ring_fn fn, void *ctx, unsigned *ret_n)
{
	int ret;

	r->stats.records += r->rec.data != NULL;
	r->stats.bytes += r->kind == RING_BPF ? ROUND_UP((uint64_t)r->rec.len, RING_ALIGN) : r->rec.len;
	(*ret_n)++;
	ret = fn(ctx, &r->rec);
	r->done = r->pos;
	if (r->done - r->released >= r->release_step)
		ring_release(r);
	r->state = next_record(r);
	return ret;
}

static int drain_serial(struct ring_reader *rr, unsigned max, ring_fn fn, void *ctx, unsigned *ret_n)
{
	int ret = 0;

	for (size_t i = 0; i < rr->rings.len; i++) {
		struct ring *r = rr->rings.items[i];

		while (ret >= 0 && r->state == RING_HAVE && *ret_n < max)
			ret = ring_can_run(r) ? ring_run(r, UINT64_MAX, max, fn, ctx, ret_n) :
						step(r, fn, ctx, ret_n);
	}
	return ret;
}

/* ---- merging ---- */

static bool slot_before(const struct slot *a, const struct slot *b)
{
	return a->time_ns < b->time_ns || (a->time_ns == b->time_ns && a->r->rank < b->r->rank);
}

/* Puts @s where it belongs, from slot @i downwards. */
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
 * What a busy record holds: its time is not known, but not before its ring's last one, so nothing later than
 * that may pass. A ring without times cannot hold others.
 */
static uint64_t horizon_of(const struct ring *r)
{
	return r->state == RING_BUSY && r->time_off >= 0 ? r->rec.time_ns : UINT64_MAX;
}

/* Returns the horizon. */
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

/* The ring in slot @i, 0 or a child of it, went on: puts it where it belongs now. Returns what it holds back. */
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

/* The lower of two slots, one of which may not be there. */
static size_t lower(const struct ring_reader *rr, size_t a, size_t b)
{
	return b < rr->n_heap && slot_before(&rr->heap[b], &rr->heap[a]) ? b : a;
}

/* What the ring on top can give, and the next one with it, before a third ring or the horizon is due. */
static int run_top(struct ring_reader *rr, uint64_t until_ns, unsigned max, ring_fn fn, void *ctx, unsigned *ret_n)
{
	size_t second = lower(rr, 1, 2), third = 3 - second, child = 2 * second + 1;
	struct ring *r = rr->heap[0].r;
	int ret;

	if (!ring_can_run(r))
		return step(r, fn, ctx, ret_n);
	if (rr->n_heap == 1)
		return ring_run(r, until_ns, max, fn, ctx, ret_n);
	if (rr->n_heap > 2) {
		if (child < rr->n_heap)
			third = lower(rr, third, lower(rr, child, child + 1));
		/* Before the third's time: at that time only the heap knows who is first. */
		if (rr->heap[third].time_ns <= rr->heap[0].time_ns)
			return step(r, fn, ctx, ret_n);
		until_ns = MIN(until_ns, rr->heap[third].time_ns - 1);
	}
	if (!ring_can_run(rr->heap[second].r))
		return step(r, fn, ctx, ret_n);
	ret = ring_run_pair(r, rr->heap[second].r, until_ns, max, fn, ctx, ret_n);
	return ret;
}

/* What must not be lost does not wait in the kernel for the end of a long batch. */
static void take_stashes(struct ring_reader *rr)
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
			take_stashes(rr);
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

/* ---- waiting ---- */

int ring_reader_flush(struct ring_reader *rr)
{
	const uint64_t one = 1;

	return write(rr->flush_fd, &one, sizeof(one)) < 0 && errno != EAGAIN ? -errno : 0;
}

static int ms_until(uint64_t deadline_ns, uint64_t now_ns)
{
	uint64_t ms;

	if (!deadline_ns)
		return -1;
	if (deadline_ns <= now_ns)
		return 0;
	ms = (deadline_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS;
	return ms < INT_MAX ? (int)ms : INT_MAX;
}

/* What was taken out of a ring wakes nobody any more. */
static int wait_ms(const struct ring_reader *rr, uint64_t deadline_ns, uint64_t now_ns)
{
	int ms = ms_until(deadline_ns, now_ns);

	for (size_t i = 0; i < rr->rings.len; i++)
		if (rr->rings.items[i]->stash && ring_unread_bytes(rr->rings.items[i]))
			return ms < 0 || ms > 1 ? 1 : ms;
	return ms;
}

static void take_flush(struct ring_reader *rr)
{
	uint64_t count;

	if (read(rr->flush_fd, &count, sizeof(count)) == sizeof(count))
		rr->flushing = true;
}

int ring_reader_read(struct ring_reader *rr, uint64_t deadline_ns, unsigned budget, ring_fn fn, void *ctx)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	struct epoll_event ev;

	for (;;) {
		uint64_t now_ns = clock_boot_ns();
		int ready = epoll_wait(rr->epoll_fd, &ev, 1, rr->flushing ? 0 : wait_ms(rr, deadline_ns, now_ns));
		int n;

		if (ready < 0)
			return -errno;
		rr->gone.wakeups += (unsigned)ready;
		take_flush(rr);
		n = ring_reader_drain(rr, budget, fn, ctx);
		if (n)
			return n;
		if (rr->flushing || (deadline_ns && clock_boot_ns() >= deadline_ns)) {
			rr->flushing = false;
			return 0;
		}
		if (ready)
			nanosleep(&nap, NULL);
	}
}
