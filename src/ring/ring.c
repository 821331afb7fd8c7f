// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The reader: batches over all rings, merged by lowest time. What a ring looks like in memory is the business
 * of ring_bpf.c and ring_perf.c; here is only who goes next.
 */
#include "ring/ring.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "ring/ring_impl.h"

struct ring_reader {
	VEC(struct ring *) rings;
	VEC(struct ring *) heap;	/* rings with a record, lowest time on top */
	int epoll_fd, flush_fd;
	bool no_merge;
	bool in_batch;
	size_t serial_next;		/* merging off: ring that is being drained */
	uint64_t horizon_ns;		/* nothing later is delivered in this batch */
	struct ring_stats stats;
};

/* ---- life ---- */

static void ring_free(struct ring *r)
{
	if (!r)
		return;
	if (r->map_meta)
		munmap(r->map_meta, r->map_meta_bytes);
	if (r->map_data)
		munmap(r->map_data, r->map_data_bytes);
	free(r->scratch);
	free(r->index);
	free(r);
}
DEFINE_CLEANUP(struct ring *, ring_free)

void ring_reader_free(struct ring_reader *rr)
{
	if (!rr)
		return;
	for (size_t i = 0; i < rr->rings.len; i++)
		ring_free(rr->rings.items[i]);
	vec_fini(&rr->rings);
	vec_fini(&rr->heap);
	if (rr->epoll_fd >= 0)
		close(rr->epoll_fd);
	if (rr->flush_fd >= 0)
		close(rr->flush_fd);
	free(rr);
}

struct ring_reader *ring_reader_new(void)
{
	struct ring_reader *rr = calloc(1, sizeof(*rr));
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = UINT64_MAX };

	if (!rr)
		return NULL;
	rr->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	rr->flush_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (rr->epoll_fd < 0 || rr->flush_fd < 0 || epoll_ctl(rr->epoll_fd, EPOLL_CTL_ADD, rr->flush_fd, &ev) < 0) {
		ring_reader_free(rr);
		return NULL;
	}
	return rr;
}

/* Takes @r over in any case. Returns its index. */
static int add_ring(struct ring_reader *rr, struct ring *r)
{
	_cleanup_(ring_freep) struct ring *own = r;

	if (vec_grow(&rr->rings) < 0)
		return -ENOMEM;
	if (vec_grow_raw((void **)&rr->heap.items, &rr->heap.cap, rr->rings.len + 1, sizeof(*rr->heap.items)) < 0)
		return -ENOMEM;
	r->rec.cpu = r->opts.cpu;
	r->rec.source = r->opts.source;
	rr->rings.items[rr->rings.len] = TAKE_PTR(own);
	return (int)rr->rings.len++;
}

static const struct ring_kind_ops *ops_of(enum ring_kind kind)
{
	switch (kind) {
	case RING_BPF:
		return &ring_bpf_ops;
	case RING_PERF:
	case RING_PERF_BACKWARD:
	case RING__MAX:
		break;
	}
	return NULL;
}

int ring_reader_add_mem(struct ring_reader *rr, const struct ring_mem *m, const struct ring_opts *o)
{
	const struct ring_kind_ops *ops = ops_of(o->kind);
	struct ring *r;

	if (!ops || !m->data_bytes || (m->data_bytes & (m->data_bytes - 1)))
		return -EINVAL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	r->ops = ops;
	r->opts = *o;
	r->mem = *m;
	if (o->kind == RING_BPF)
		r->pos = r->released = *m->cons_pos;
	return add_ring(rr, r);
}

/* Size of a ring buffer map, from its fdinfo: the library that made it need not be ours. */
static int map_size(int fd, size_t *ret)
{
	char path[64], line[128];
	_cleanup_fclose_ FILE *f = NULL;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "max_entries: %zu", ret) == 1)
			return *ret && !(*ret & (*ret - 1)) ? 0 : -EINVAL;
	return -EINVAL;
}

/* Consumer page at 0, writable; producer page and the data, mapped twice in a row, behind it, read-only. */
static int map_bpf(struct ring *r, int fd, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	r->map_meta = p;
	r->map_meta_bytes = page;
	p = mmap(NULL, page + 2 * bytes, PROT_READ, MAP_SHARED, fd, (off_t)page);
	if (p == MAP_FAILED)
		return -errno;
	r->map_data = p;
	r->map_data_bytes = page + 2 * bytes;
	r->mem = (struct ring_mem){
		.cons_pos = r->map_meta, .prod_pos = p, .data = (char *)p + page, .data_bytes = bytes,
	};
	r->doubled = true;
	r->pos = r->released = *r->mem.cons_pos;
	return 0;
}

int ring_reader_add_bpf(struct ring_reader *rr, int map_fd, const struct ring_opts *o, struct err *err)
{
	_cleanup_(ring_freep) struct ring *r = calloc(1, sizeof(*r));
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = rr->rings.len };
	size_t bytes = 0;
	int ret;

	if (!r)
		return err_errno(err, -ENOMEM, "cannot read a ring");
	r->ops = &ring_bpf_ops;
	r->opts = *o;
	ret = map_size(map_fd, &bytes);
	if (ret >= 0)
		ret = map_bpf(r, map_fd, bytes);
	if (ret < 0)
		return err_errno(err, ret, "cannot map the ring of CPU %u", o->cpu);
	if (epoll_ctl(rr->epoll_fd, EPOLL_CTL_ADD, map_fd, &ev) < 0)
		return err_errno(err, -errno, "cannot wait for the ring of CPU %u", o->cpu);
	return add_ring(rr, TAKE_PTR(r));
}

/* ---- merging: a binary heap of rings by the time of their next record ---- */

static bool before(const struct ring *a, const struct ring *b)
{
	return a->rec.time_ns < b->rec.time_ns;
}

static void sift_down(struct ring_reader *rr)
{
	struct ring **h = rr->heap.items, *top = h[0];
	size_t i = 0, n = rr->heap.len;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child >= n)
			break;
		if (child + 1 < n && before(h[child + 1], h[child]))
			child++;
		if (!before(h[child], top))
			break;
		h[i] = h[child];
		i = child;
	}
	h[i] = top;
}

static void push(struct ring_reader *rr, struct ring *r)
{
	struct ring **h = rr->heap.items;
	size_t i = rr->heap.len++;

	for (; i && before(r, h[(i - 1) / 2]); i = (i - 1) / 2)
		h[i] = h[(i - 1) / 2];
	h[i] = r;
}

static void pop(struct ring_reader *rr)
{
	rr->heap.items[0] = rr->heap.items[--rr->heap.len];
	if (rr->heap.len)
		sift_down(rr);
}

/* The time up to which the other rings may be read while one is about to be looked at again. */
static uint64_t next_best(const struct ring_reader *rr)
{
	struct ring *const *h = rr->heap.items;
	uint64_t t = rr->horizon_ns;

	if (rr->heap.len > 1)
		t = MIN(t, h[1]->rec.time_ns);
	if (rr->heap.len > 2)
		t = MIN(t, h[2]->rec.time_ns);
	return t;
}

/* A record that is not committed yet is later than the last one of its ring: nothing beyond may pass it. */
static void look(struct ring_reader *rr, struct ring *r)
{
	r->state = r->ops->next(r, &rr->stats);
	if (r->state == RING_BUSY)
		rr->horizon_ns = MIN(rr->horizon_ns, r->last_ns);
}

static void begin_batch(struct ring_reader *rr)
{
	rr->in_batch = true;
	rr->serial_next = 0;
	rr->horizon_ns = UINT64_MAX;
	rr->heap.len = 0;
	rr->stats.batches++;
	for (int lifecycle = 0; lifecycle <= 1; lifecycle++)
		for (size_t i = 0; i < rr->rings.len; i++)
			if (rr->rings.items[i]->opts.lifecycle == lifecycle)
				rr->rings.items[i]->ops->begin(rr->rings.items[i], &rr->stats);
	if (rr->no_merge)
		return;
	for (size_t i = 0; i < rr->rings.len; i++) {
		struct ring *r = rr->rings.items[i];

		look(rr, r);
		if (r->state == RING_HAVE)
			push(rr, r);
	}
}

static void end_batch(struct ring_reader *rr)
{
	rr->in_batch = false;
	for (size_t i = 0; i < rr->rings.len; i++)
		rr->rings.items[i]->ops->release(rr->rings.items[i]);
}

static int deliver(struct ring_reader *rr, struct ring *r, ring_fn fn, void *ctx)
{
	int ret;

	rr->stats.records += r->rec.data != NULL;
	rr->stats.bytes += r->rec.len;
	ret = fn(ctx, &r->rec);
	r->last_ns = MAX(r->last_ns, r->rec.time_ns);
	r->ops->advance(r);
	return ret;
}

/* Stays on a ring for as long as it has the lowest time: runs are the rule, not the exception. */
static int drain_merged(struct ring_reader *rr, unsigned budget, ring_fn fn, void *ctx)
{
	unsigned n = 0;

	while (rr->heap.len && rr->heap.items[0]->rec.time_ns <= rr->horizon_ns) {
		struct ring *r = rr->heap.items[0];
		uint64_t until = next_best(rr);

		do {
			int ret;

			if (budget && n == budget)
				return (int)n;
			ret = deliver(rr, r, fn, ctx);
			n++;
			look(rr, r);
			if (ret < 0) {
				if (r->state != RING_HAVE)
					pop(rr);
				else
					sift_down(rr);
				return ret;
			}
		} while (r->state == RING_HAVE && r->rec.time_ns <= until);
		if (r->state == RING_HAVE)
			sift_down(rr);
		else
			pop(rr);
	}
	end_batch(rr);
	return (int)n;
}

static int drain_serial(struct ring_reader *rr, unsigned budget, ring_fn fn, void *ctx)
{
	unsigned n = 0;

	for (; rr->serial_next < rr->rings.len; rr->serial_next++) {
		struct ring *r = rr->rings.items[rr->serial_next];

		while ((r->state = r->ops->next(r, &rr->stats)) == RING_HAVE) {
			int ret;

			if (budget && n == budget)
				return (int)n;
			ret = deliver(rr, r, fn, ctx);
			n++;
			if (ret < 0)
				return ret;
		}
	}
	end_batch(rr);
	return (int)n;
}

int ring_reader_drain(struct ring_reader *rr, unsigned budget, ring_fn fn, void *ctx)
{
	if (!rr->in_batch)
		begin_batch(rr);
	return rr->no_merge ? drain_serial(rr, budget, fn, ctx) : drain_merged(rr, budget, fn, ctx);
}

void ring_reader_set_merge(struct ring_reader *rr, bool on)
{
	rr->no_merge = !on;
	rr->in_batch = false;
}

int ring_reader_fd(const struct ring_reader *rr)
{
	return rr->epoll_fd;
}

void ring_reader_stats(const struct ring_reader *rr, struct ring_stats *ret)
{
	*ret = rr->stats;
}

unsigned ring_reader_fill_pct(const struct ring_reader *rr)
{
	unsigned most = 0;

	for (size_t i = 0; i < rr->rings.len; i++) {
		const struct ring *r = rr->rings.items[i];

		most = MAX(most, (unsigned)(r->ops->unread(r) * 100 / r->mem.data_bytes));
	}
	return MIN(most, 100u);
}

/* ---- waiting ---- */

int ring_reader_flush(struct ring_reader *rr)
{
	const uint64_t one = 1;

	return write(rr->flush_fd, &one, sizeof(one)) < 0 ? -errno : 0;
}

int ring_reader_read(struct ring_reader *rr, uint64_t deadline_ns, unsigned budget, ring_fn fn, void *ctx)
{
	for (;;) {
		uint64_t now = clock_boot_ns(), flushed;
		struct epoll_event ev;
		int ms = -1, n, got;

		if (deadline_ns)
			ms = deadline_ns > now ? (int)MIN((deadline_ns - now) / 1000000 + 1, (uint64_t)INT32_MAX) : 0;
		got = epoll_wait(rr->epoll_fd, &ev, 1, ms);
		if (got < 0 && errno != EINTR)
			return -errno;
		rr->stats.wakeups += got > 0;
		n = ring_reader_drain(rr, budget, fn, ctx);
		if (n || read(rr->flush_fd, &flushed, sizeof(flushed)) > 0)
			return n;
		if (deadline_ns && clock_boot_ns() >= deadline_ns)
			return 0;
	}
}

const void *ring_piece(struct ring *r, uint64_t off, size_t len)
{
	size_t at = off & (r->mem.data_bytes - 1), first = MIN(len, r->mem.data_bytes - at);

	if (first == len)
		return (const char *)r->mem.data + at;
	if (r->scratch_bytes < len) {
		char *p = realloc(r->scratch, len);

		if (!p)
			return NULL;
		r->scratch = p;
		r->scratch_bytes = len;
	}
	memcpy(r->scratch, (const char *)r->mem.data + at, first);
	memcpy(r->scratch + first, r->mem.data, len - first);
	return r->scratch;
}
