// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reading PERF_RECORD_MMAP2 (layout: perf_event_open(2), include/uapi/linux/perf_event.h). The events count
 * nothing (PERF_COUNT_SW_DUMMY): they only carry the notices that the kernel writes at mmap().
 *
 * A ring that is a quarter full is emptied into a queue, where its records wait for their turn in the stream. The
 * number of mappings per process is limited, so that a loop of mmap() and munmap() takes no room from others.
 */
#include "probes/proc/proc_mmap.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/vec.h"
#include "loop/loop.h"
#include "probes/proc/proc_wire.h"

#define RING_BYTES (2u << 20)	/* about 16,000 mappings between two drains of one CPU */
#define RING_LEAST (128u << 10)
#define RINGS_BYTES (32u << 20)	/* more CPUs get smaller rings */
#define RECORD_BYTES 65536	/* a perf record's size is 16 bits */
#define FORMAT_LOST (1u << 4)	/* PERF_FORMAT_LOST of Linux 6.0; older headers lack it */
#define TRAILER_BYTES 24	/* pid, tid, time, cpu at the end of each (sample_id_all) */

/* Per second: PROC_MMAP_LIMIT of a process, more than a program loads; of all processes together by CPU. */
#define LIMIT_NS NS_PER_S
#define LIMIT_PER_CPU 8192u
#define OVER_MOST 16		/* processes over the limit that are named */

union record {
	struct proc_mmap_rec rec;
	struct sonde_lost_rec lost;
	uint8_t bytes[sizeof(struct proc_mmap_rec) + PROC_PATH_BYTES];
};

struct mmap_ring {
	int fd;
	uint32_t cpu;
	uint64_t lost;		/* reported by PERF_RECORD_LOST so far */
	struct perf_event_mmap_page *page;	/* mapped, followed by the data */
	struct loop_source *io;	/* NULL = no loop waits for it */
	struct buf queue;	/* records that wait for their turn, 8-byte aligned */
	size_t head;		/* offset of the first one */
};

struct over { uint32_t tgid; uint64_t n; };

struct mmap_watch {
	struct mmap_ring *rings;	/* owned */
	size_t n, map_bytes;
	uint32_t ring_bytes;		/* of a ring's data */
	/* lint-ok(tables): of one second, without identity */
	struct map counts;		/* uint32_t tgid -> uint32_t mappings since since_ns */
	uint64_t since_ns;
	uint32_t all, all_most;		/* mappings since since_ns, and the most */
	struct over over[OVER_MOST];	/* left out since the last report; the first: of all other processes */
	uint8_t record[RECORD_BYTES];	/* a record torn at the ring's end */
	union record out;
};

DEFINE_CLEANUP(struct mmap_watch *, proc_mmap_close)

static int open_event(const struct mmap_watch *w, uint32_t cpu, bool build_id, uint64_t read_format)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU, .sample_id_all = 1,
		.mmap = 1, .mmap2 = 1, .build_id = build_id, .use_clockid = 1, .clockid = CLOCK_BOOTTIME,
		.watermark = 1, .wakeup_watermark = w->ring_bytes / 4, .sample_period = 1, .read_format = read_format,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Build ids came with 5.12, the number of lost records with 6.0. */
static int open_event_any(const struct mmap_watch *w, uint32_t cpu)
{
	int fd = open_event(w, cpu, true, FORMAT_LOST);

	if (fd == -EINVAL)
		fd = open_event(w, cpu, true, 0);
	return fd == -EINVAL ? open_event(w, cpu, false, 0) : fd;
}

static int on_quarter_full(void *ctx, _unused_ int fd, _unused_ uint32_t events)
{
	proc_mmap_next(ctx);
	return 0;
}

static int add_ring(struct mmap_watch *w, uint32_t cpu, struct loop *loop, struct err *err)
{
	struct mmap_ring *ring = &w->rings[w->n];
	void *page;

	ring->fd = open_event_any(w, cpu);
	if (ring->fd == -ENODEV) /* offline */
		return 0;
	if (ring->fd < 0)
		return err_errno(err, ring->fd, "cannot watch executable mappings on CPU %u", cpu);
	page = mmap(NULL, w->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (page == MAP_FAILED) {
		err_errno(err, -errno, "cannot map the ring for executable mappings");
		close(ring->fd);
		return err ? err->code : -ENOMEM;
	}
	ring->page = page;
	ring->cpu = cpu;
	w->n++;
	/*
	 * If it fails, the ring waits for the next record of another kind. Edge-triggered, as EPOLLHUP would repeat.
	 */
	if (loop && loop_add_io(loop, ring->fd, EPOLLIN | EPOLLET, on_quarter_full, w, &ring->io) == 0)
		loop_name(ring->io, "mappings");
	return 0;
}

int proc_mmap_open(unsigned n_cpus, struct loop *loop, struct mmap_watch **ret, struct err *err)
{
	_cleanup_(proc_mmap_closep) struct mmap_watch *w = calloc(1, sizeof(*w));
	int r = 0;

	if (!w)
		return err_errno(err, -ENOMEM, "cannot watch executable mappings");
	map_init(&w->counts, sizeof(uint32_t), sizeof(uint32_t));
	w->all_most = MAX(n_cpus, 2u) * LIMIT_PER_CPU;
	w->ring_bytes = RING_BYTES;
	while ((uint64_t)w->ring_bytes * n_cpus > RINGS_BYTES && w->ring_bytes > RING_LEAST)
		w->ring_bytes /= 2;
	w->map_bytes = (size_t)sysconf(_SC_PAGESIZE) + w->ring_bytes;
	w->rings = calloc(n_cpus, sizeof(*w->rings));
	if (!w->rings)
		return err_errno(err, -ENOMEM, "cannot watch executable mappings");
	for (uint32_t cpu = 0; r >= 0 && cpu < n_cpus; cpu++)
		r = add_ring(w, cpu, loop, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(w);
	return 0;
}

void proc_mmap_close(struct mmap_watch *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->n; i++) {
		loop_remove(w->rings[i].io);
		munmap(w->rings[i].page, w->map_bytes);
		close(w->rings[i].fd);
		buf_fini(&w->rings[i].queue);
	}
	map_fini(&w->counts);
	free(w->rings);
	free(w);
}

/* ---- records ---- */

static void trailer(const uint8_t *data, size_t len, struct sonde_rec *hdr)
{
	struct cursor c = cur_init(data + len - TRAILER_BYTES, TRAILER_BYTES);

	cur_skip(&c, 8);
	hdr->ts_ns = cur_u64(&c);
	hdr->cpu = (uint16_t)cur_u32(&c);
}

static size_t convert_mmap(struct mmap_watch *w, const struct perf_event_header *h, const uint8_t *data, size_t len)
{
	struct cursor c = cur_init(data, len - TRAILER_BYTES), id;
	struct proc_mmap_rec *r = &w->out.rec;
	size_t path;

	*r = (struct proc_mmap_rec){ .hdr.type = PROC_REC_MMAP };
	trailer(data, len, &r->hdr);
	cur_skip(&c, sizeof(*h));
	r->hdr.tgid = cur_u32(&c);
	r->hdr.tid = cur_u32(&c);
	r->addr = cur_u64(&c);
	r->len = cur_u64(&c);
	r->file_off = cur_u64(&c);
	id = cur_sub(&c, 24);
	r->prot = cur_u32(&c);
	r->flags = cur_u32(&c);
	if (h->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		r->build_id_len = MIN(cur_u8(&id), (uint8_t)sizeof(r->build_id));
		cur_skip(&id, 3);
		cur_copy(&id, r->build_id, sizeof(r->build_id));
	} else {
		uint32_t major = cur_u32(&id), minor = cur_u32(&id);

		r->dev = major << 20 | minor;
		r->ino = cur_u64(&id);
		r->ino_generation = (uint32_t)cur_u64(&id);
	}
	if (!cur_ok(&c) || r->hdr.tgid == UINT32_MAX) /* exited, no longer in our pid namespace */
		return 0;
	path = strnlen((const char *)c.pos, cur_left(&c));
	if (path > PROC_PATH_BYTES) {
		path = PROC_PATH_BYTES;
		r->hdr.flags |= SONDE_RF_CUT;
	}
	r->path_len = (uint16_t)path;
	cur_copy(&c, r + 1, path);
	return sizeof(*r) + path;
}

static size_t convert_lost(struct mmap_watch *w, const uint8_t *data, size_t len)
{
	struct cursor c = cur_init(data, len - TRAILER_BYTES);

	w->out.lost = (struct sonde_lost_rec){ .hdr.type = SONDE_EV_LOST, .cause = SONDE_LOST_MAPPING };
	trailer(data, len, &w->out.lost.hdr);
	cur_skip(&c, sizeof(struct perf_event_header) + sizeof(uint64_t));
	w->out.lost.count = cur_u64(&c);
	return cur_ok(&c) ? sizeof(w->out.lost) : 0;
}

static size_t convert(struct mmap_watch *w, const uint8_t *data, size_t len)
{
	struct perf_event_header h;
	struct cursor c = cur_init(data, len);

	if (!cur_copy(&c, &h, sizeof(h)) || len < sizeof(h) + TRAILER_BYTES)
		return 0;
	switch (h.type) {
	case PERF_RECORD_MMAP2: return convert_mmap(w, &h, data, len);
	case PERF_RECORD_LOST: return convert_lost(w, data, len);
	default: return 0;
	}
}

/* The record at position @pos of the ring, in one piece; its length, or 0 when it cannot be one. */
static size_t record_at(struct mmap_watch *w, const uint8_t *data, uint64_t pos, uint64_t left, const uint8_t **ret)
{
	size_t off = pos % w->ring_bytes, first;
	const struct perf_event_header *h = (const void *)(data + off); /* 8-byte aligned, never torn itself */
	size_t len = h->size;

	if (len < sizeof(*h) || len > left)
		return 0;
	first = MIN(len, w->ring_bytes - off);
	*ret = data + off;
	if (first < len) {
		memcpy(w->record, data + off, first);
		memcpy(w->record + first, data, len - first);
		*ret = w->record;
	}
	return len;
}

/* The oldest record in the kernel's ring and its time; false if there is none. Skips records that stay torn. */
static bool oldest(struct mmap_watch *w, struct mmap_ring *ring, const uint8_t **ret, size_t *ret_len,
		   uint64_t *ret_time_ns)
{
	const uint8_t *data = (const uint8_t *)ring->page + (w->map_bytes - w->ring_bytes);
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE), tail = ring->page->data_tail;
	struct sonde_rec hdr = { 0 };

	if (tail >= head)
		return false;
	*ret_len = record_at(w, data, tail, head - tail, ret);
	if (*ret_len < sizeof(struct perf_event_header) + TRAILER_BYTES) {
		__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
		return false;
	}
	trailer(*ret, *ret_len, &hdr);
	*ret_time_ns = hdr.ts_ns;
	return true;
}

/* ---- limit ---- */

static void leave_out(struct mmap_watch *w, uint32_t tgid)
{
	struct over *o = w->over;

	for (unsigned i = 1; i < OVER_MOST && tgid; i++)
		if (!w->over[i].n || w->over[i].tgid == tgid) {
			o = &w->over[i];
			o->tgid = tgid;
			break;
		}
	o->n++;
}

/* Is the mapping @data over the limit of its process, or of all? */
static bool is_over(struct mmap_watch *w, const uint8_t *data, size_t len, uint64_t time_ns)
{
	struct cursor c = cur_init(data, len);
	struct perf_event_header h;
	uint32_t tgid, *n;

	cur_copy(&c, &h, sizeof(h));
	tgid = cur_u32(&c);
	if (h.type != PERF_RECORD_MMAP2 || !cur_ok(&c))
		return false;
	if (time_ns >= w->since_ns + LIMIT_NS) {
		map_clear(&w->counts);
		w->since_ns = time_ns;
		w->all = 0;
	}
	n = map_add(&w->counts, &tgid, NULL);
	if (n && *n < PROC_MMAP_LIMIT && w->all < w->all_most) {
		(*n)++;
		w->all++;
		return false;
	}
	leave_out(w, n && *n >= PROC_MMAP_LIMIT ? tgid : 0);
	return true;
}

/* ---- queues ---- */

static void take_record(struct mmap_watch *w, struct mmap_ring *ring, const uint8_t *data, size_t len)
{
	size_t out = convert(w, data, len);

	if (!out)
		return;
	if (w->out.rec.hdr.type == SONDE_EV_LOST)
		ring->lost += w->out.lost.count;
	w->out.rec.hdr.len = (uint32_t)out;
	if (buf_reserve(&ring->queue, ROUND_UP(out, 8))) {
		buf_add(&ring->queue, &w->out, out);
		buf_align(&ring->queue, 8);
		return;
	}
	ring->queue.error = 0;
	leave_out(w, 0);
}

/* Empties the kernel's ring. */
static void take(struct mmap_watch *w, struct mmap_ring *ring)
{
	uint64_t time_ns;
	const uint8_t *rec;
	size_t len;

	buf_consume(&ring->queue, ring->head);
	ring->head = 0;
	while (oldest(w, ring, &rec, &len, &time_ns)) {
		if (!is_over(w, rec, len, time_ns))
			take_record(w, ring, rec, len);
		__atomic_store_n(&ring->page->data_tail, ring->page->data_tail + len, __ATOMIC_RELEASE);
	}
}

static const struct sonde_rec *first(const struct mmap_ring *ring)
{
	return ring->head < ring->queue.len ? (const void *)(ring->queue.data + ring->head) : NULL;
}

uint64_t proc_mmap_next(struct mmap_watch *w)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < w->n; i++) {
		const struct sonde_rec *r;

		take(w, &w->rings[i]);
		r = first(&w->rings[i]);
		next = r ? MIN(next, r->ts_ns) : next;
	}
	return next;
}

static int drain_ring(struct mmap_ring *ring, uint64_t until_ns, mmap_watch_fn fn, void *ctx)
{
	const struct sonde_rec *next;
	union record one;
	int r = 0, n = 0;

	while (r >= 0 && (next = first(ring)) && next->ts_ns <= until_ns) {
		size_t len = next->len;

		memcpy(&one, next, len); /* more may be taken in the meantime */
		ring->head += ROUND_UP(len, 8);
		r = fn(ctx, &one.rec.hdr, len);
		n++;
	}
	return r < 0 ? r : n;
}

int proc_mmap_drain(struct mmap_watch *w, uint64_t until_ns, mmap_watch_fn fn, void *ctx)
{
	int n = 0;

	for (size_t i = 0; i < w->n; i++) {
		int r;

		take(w, &w->rings[i]);
		r = drain_ring(&w->rings[i], until_ns, fn, ctx);
		if (r < 0)
			return r;
		n += r;
	}
	return n;
}

/* ---- losses ---- */

static int report(uint32_t cpu, uint32_t cause, uint64_t count, uint32_t tgid, mmap_watch_fn fn, void *ctx)
{
	struct sonde_lost_rec l = {
		.hdr = { .type = SONDE_EV_LOST, .cpu = (uint16_t)cpu, .tgid = tgid }, .cause = cause, .count = count,
	};

	return fn(ctx, &l.hdr, sizeof(l));
}

int proc_mmap_report(struct mmap_watch *w, mmap_watch_fn fn, void *ctx)
{
	int r = 0, n = 0;

	for (unsigned i = 0; r >= 0 && i < OVER_MOST; i++) {
		const struct over o = w->over[i];

		if (!o.n)
			continue;
		w->over[i] = (struct over){ 0 };
		r = report(0, SONDE_LOST_MAPPING_LIMIT, o.n, o.tgid, fn, ctx);
		n++;
	}
	return r < 0 ? r : n;
}

/* Records lost since the start; kernels before 6.0 answer with the event's value alone. */
static bool read_lost(const struct mmap_ring *ring, uint64_t *ret)
{
	struct { uint64_t value, lost; } now;

	if (read(ring->fd, &now, sizeof(now)) != sizeof(now))
		return false;
	*ret = now.lost;
	return true;
}

int proc_mmap_finish(struct mmap_watch *w, mmap_watch_fn fn, void *ctx)
{
	int ret = proc_mmap_drain(w, UINT64_MAX, fn, ctx), r;

	for (size_t i = 0; ret >= 0 && i < w->n; i++) {
		struct mmap_ring *ring = &w->rings[i];
		uint64_t lost, more;

		if (!read_lost(ring, &lost) || lost <= ring->lost)
			continue;
		more = lost - ring->lost;
		ring->lost = lost;
		r = report(ring->cpu, SONDE_LOST_MAPPING, more, 0, fn, ctx);
		ret = r < 0 ? r : ret + 1;
	}
	r = ret < 0 ? ret : proc_mmap_report(w, fn, ctx);
	return r < 0 ? r : ret + r;
}
