// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reading PERF_RECORD_MMAP2 (layout: perf_event_open(2), include/uapi/linux/perf_event.h). The events count
 * nothing (PERF_COUNT_SW_DUMMY): they only carry the notices that the kernel writes at mmap().
 */
#include "probes/proc/proc_mmap.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/macros.h"
#include "probes/proc/proc_wire.h"

#define RING_BYTES (256u << 10)	/* about 2,000 mappings between two drains of one CPU */
#define RECORD_BYTES 65536	/* a perf record's size is 16 bits */
#define FORMAT_LOST (1u << 4)	/* PERF_FORMAT_LOST of Linux 6.0; older headers lack it */
#define TRAILER_BYTES 24	/* pid, tid, time, cpu at the end of each (sample_id_all) */

struct mmap_ring {
	int fd;
	uint32_t cpu;
	uint64_t lost;		/* reported by PERF_RECORD_LOST so far */
	struct perf_event_mmap_page *page;	/* mapped, followed by the data */
};

struct mmap_watch {
	struct mmap_ring *rings;	/* owned */
	size_t n, map_bytes;
	uint8_t record[RECORD_BYTES];	/* a record torn at the ring's end */
	union {
		struct proc_mmap_rec rec;
		struct sonde_lost_rec lost;
		uint8_t bytes[sizeof(struct proc_mmap_rec) + PROC_PATH_BYTES];
	} out;
};

DEFINE_CLEANUP(struct mmap_watch *, proc_mmap_close)

static int open_event(uint32_t cpu, bool build_id, uint64_t read_format)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU, .sample_id_all = 1,
		.mmap = 1, .mmap2 = 1, .build_id = build_id, .use_clockid = 1, .clockid = CLOCK_BOOTTIME,
		.watermark = 1, .wakeup_watermark = RING_BYTES / 2, .sample_period = 1, .read_format = read_format,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Build ids came with 5.12, the number of lost records with 6.0. */
static int open_event_any(uint32_t cpu)
{
	int fd = open_event(cpu, true, FORMAT_LOST);

	if (fd == -EINVAL)
		fd = open_event(cpu, true, 0);
	return fd == -EINVAL ? open_event(cpu, false, 0) : fd;
}

static int add_ring(struct mmap_watch *w, uint32_t cpu, struct err *err)
{
	struct mmap_ring *ring = &w->rings[w->n];
	void *page;

	ring->fd = open_event_any(cpu);
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
	return 0;
}

int proc_mmap_open(unsigned n_cpus, struct mmap_watch **ret, struct err *err)
{
	_cleanup_(proc_mmap_closep) struct mmap_watch *w = calloc(1, sizeof(*w));
	int r = 0;

	if (!w)
		return err_errno(err, -ENOMEM, "cannot watch executable mappings");
	w->map_bytes = (size_t)sysconf(_SC_PAGESIZE) + RING_BYTES;
	w->rings = calloc(n_cpus, sizeof(*w->rings));
	if (!w->rings)
		return err_errno(err, -ENOMEM, "cannot watch executable mappings");
	for (uint32_t cpu = 0; r >= 0 && cpu < n_cpus; cpu++)
		r = add_ring(w, cpu, err);
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
		munmap(w->rings[i].page, w->map_bytes);
		close(w->rings[i].fd);
	}
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
	size_t off = pos % RING_BYTES, first;
	const struct perf_event_header *h = (const void *)(data + off); /* 8-byte aligned, never torn itself */
	size_t len = h->size;

	if (len < sizeof(*h) || len > left)
		return 0;
	first = MIN(len, RING_BYTES - off);
	*ret = data + off;
	if (first < len) {
		memcpy(w->record, data + off, first);
		memcpy(w->record + first, data, len - first);
		*ret = w->record;
	}
	return len;
}

/* The oldest record of @ring and its time; false if there is none. Skips records that stay torn. */
static bool oldest(struct mmap_watch *w, struct mmap_ring *ring, const uint8_t **ret, size_t *ret_len,
		   uint64_t *ret_time_ns)
{
	const uint8_t *data = (const uint8_t *)ring->page + (w->map_bytes - RING_BYTES);
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

uint64_t proc_mmap_next(struct mmap_watch *w)
{
	uint64_t next = UINT64_MAX, time_ns;
	const uint8_t *rec;
	size_t len;

	for (size_t i = 0; i < w->n; i++)
		if (oldest(w, &w->rings[i], &rec, &len, &time_ns))
			next = MIN(next, time_ns);
	return next;
}

static int drain_ring(struct mmap_watch *w, struct mmap_ring *ring, uint64_t until_ns, mmap_watch_fn fn, void *ctx)
{
	uint64_t time_ns;
	const uint8_t *rec;
	size_t len, out;
	int r = 0, n = 0;

	while (r >= 0 && oldest(w, ring, &rec, &len, &time_ns) && time_ns <= until_ns) {
		out = convert(w, rec, len);
		if (out && w->out.rec.hdr.type == SONDE_EV_LOST)
			ring->lost += w->out.lost.count;
		if (out) {
			r = fn(ctx, &w->out.rec.hdr, out);
			n++;
		}
		__atomic_store_n(&ring->page->data_tail, ring->page->data_tail + len, __ATOMIC_RELEASE);
	}
	return r < 0 ? r : n;
}

int proc_mmap_drain(struct mmap_watch *w, uint64_t until_ns, mmap_watch_fn fn, void *ctx)
{
	int n = 0;

	for (size_t i = 0; i < w->n; i++) {
		int r = drain_ring(w, &w->rings[i], until_ns, fn, ctx);

		if (r < 0)
			return r;
		n += r;
	}
	return n;
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
	int ret = proc_mmap_drain(w, UINT64_MAX, fn, ctx);

	for (size_t i = 0; ret >= 0 && i < w->n; i++) {
		struct mmap_ring *ring = &w->rings[i];
		uint64_t lost;
		int r;

		if (!read_lost(ring, &lost) || lost <= ring->lost)
			continue;
		w->out.lost = (struct sonde_lost_rec){
			.hdr = { .type = SONDE_EV_LOST, .cpu = (uint16_t)ring->cpu },
			.cause = SONDE_LOST_MAPPING, .count = lost - ring->lost,
		};
		ring->lost = lost;
		r = fn(ctx, &w->out.rec.hdr, sizeof(w->out.lost));
		ret = r < 0 ? r : ret + 1;
	}
	return ret;
}
