// SPDX-License-Identifier: GPL-2.0-or-later
#include "ring/perf_rings.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "ring/cpulist.h"
#include "ring/one_ring.h"

#define CPUS_POSSIBLE "/sys/devices/system/cpu/possible"
#define CPUS_ONLINE "/sys/devices/system/cpu/online"

struct perf_ring {
	int fd;			/* owned */
	struct ring *ring;	/* the reader's */
	bool went;		/* the CPU was offline since: the event is dead */
};

struct perf_rings {
	struct ring_reader *rr;
	struct perf_rings_opts opts;
	int map_fd;		/* owned: the kernel drops the events when the last fd of the map is closed */
	uint32_t map_slots;
	uint32_t *cpus;		/* owned; possible CPUs that have a slot */
	struct perf_ring *rings; /* owned; parallel to cpus, fd -1 = none */
	size_t n_cpus;
	bool paused;
};

/* ---- one event ---- */

static int open_event(const struct perf_rings_opts *o, uint32_t cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_BPF_OUTPUT,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_RAW | (o->with_time ? PERF_SAMPLE_TIME : 0),
		.use_clockid = o->with_time,
		.clockid = o->with_time ? CLOCK_BOOTTIME : 0,
		.write_backward = o->overwritable,
	};
	long fd;

	if (o->watermark_bytes) {
		attr.watermark = 1;
		attr.wakeup_watermark = o->watermark_bytes;
	} else {
		attr.wakeup_events = o->wakeup_events;
	}
	fd = syscall(__NR_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

static int map_event(struct ring *r, const struct perf_rings_opts *o, int fd)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), len = page + o->ring_bytes;
	int prot = PROT_READ | (o->overwritable ? 0 : PROT_WRITE);
	const struct perf_event_mmap_page *meta;
	struct ring_mem m = { .sample_type = PERF_SAMPLE_RAW | (o->with_time ? PERF_SAMPLE_TIME : 0) };
	void *p = mmap(NULL, len, prot, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	r->maps[0].at = m.perf_page = p;
	r->maps[0].len = len;
	madvise(p, len, MADV_DONTFORK);	/* fork() would copy the page tables */
	meta = p;
	if (!meta->data_offset || meta->data_offset + meta->data_size > len)
		return -EIO;
	m.data = (uint8_t *)p + meta->data_offset;
	m.data_bytes = meta->data_size;
	return one_ring_set_memory(r, &m);
}

static int put_slot(int map_fd, uint32_t cpu, int fd)
{
	union bpf_attr attr = {
		.map_fd = (uint32_t)map_fd, .key = (uintptr_t)&cpu, .value = (uintptr_t)&fd, .flags = BPF_ANY,
	};

	return syscall(__NR_bpf, BPF_MAP_UPDATE_ELEM, &attr, sizeof(attr)) < 0 ? -errno : 0;
}

static int pause_event(int fd, bool pause)
{
	return ioctl(fd, PERF_EVENT_IOC_PAUSE_OUTPUT, pause) < 0 ? -errno : 0;
}

DEFINE_CLEANUP(struct ring *, one_ring_free)

/* Opens the ring of cpus[@i]. -ENODEV if the CPU is offline. */
static int open_ring(struct perf_rings *p, size_t i)
{
	const struct ring_opts o = {
		.kind = p->opts.overwritable ? RING_PERF_BACKWARD : RING_PERF,
		.source = p->opts.source, .cpu = p->cpus[i], .time_off = -1,
	};
	_cleanup_(one_ring_freep) struct ring *r = one_ring_new(&o);
	_cleanup_close_ int fd = -1;
	int ret;

	if (!r)
		return -ENOMEM;
	fd = open_event(&p->opts, o.cpu);
	if (fd < 0)
		return fd;
	ret = map_event(r, &p->opts, fd);
	if (ret >= 0 && p->paused)
		ret = pause_event(fd, true);
	if (ret >= 0)
		ret = put_slot(p->map_fd, o.cpu, fd);
	if (ret >= 0)
		ret = ring_reader_adopt(p->rr, r, fd);
	if (ret < 0)
		return ret;
	r->running = !p->paused;
	p->rings[i] = (struct perf_ring){ .fd = TAKE_FD(fd), .ring = TAKE_PTR(r) };
	return 0;
}

static void close_ring(struct perf_rings *p, size_t i)
{
	if (p->rings[i].fd < 0)
		return;
	ring_reader_drop(p->rr, p->rings[i].ring);
	close(p->rings[i].fd);
	p->rings[i] = (struct perf_ring){ .fd = -1 };
}

/* ---- all CPUs ---- */

/* Opens missing rings of online CPUs. Returns their number. */
static int open_missing(struct perf_rings *p, struct err *err)
{
	int n = 0;

	for (size_t i = 0; i < p->n_cpus; i++) {
		int ret = p->rings[i].fd < 0 ? open_ring(p, i) : -ENODEV;

		if (ret == -EACCES || ret == -EPERM)
			return err_set(err, ret, "not permitted to open perf events: needs CAP_PERFMON, or "
				       "CAP_SYS_ADMIN where kernel.perf_event_paranoid is 3");
		if (ret < 0 && ret != -ENODEV)
			return err_errno(err, ret, "cannot open a perf ring of %zu bytes on CPU %u",
					 p->opts.ring_bytes, p->cpus[i]);
		n += ret >= 0;
	}
	return n;
}

static int check_opts(const struct perf_rings_opts *o, struct err *err)
{
	if (!o->ring_bytes)
		return err_set(err, -EINVAL, "a perf ring needs a size");
	if (o->watermark_bytes && o->wakeup_events)
		return err_set(err, -EINVAL, "a perf ring wakes by watermark or by count, not by both");
	if (o->watermark_bytes >= o->ring_bytes)
		return err_set(err, -EINVAL, "the watermark (%u bytes) must be below the ring's size (%zu bytes)",
			       o->watermark_bytes, o->ring_bytes);
	return 0;
}

static size_t round_ring(size_t bytes)
{
	size_t n = (size_t)sysconf(_SC_PAGESIZE);

	while (n < bytes && n << 1)
		n <<= 1;
	return n;
}

static int check_map(struct perf_rings *p, int map_fd)
{
	struct bpf_map_info info;
	int ret = ring_bpf_map_info(map_fd, &info);

	if (ret < 0)
		return ret;
	if (info.type != BPF_MAP_TYPE_PERF_EVENT_ARRAY)
		return -EINVAL;
	p->map_slots = info.max_entries;
	p->map_fd = fcntl(map_fd, F_DUPFD_CLOEXEC, 0);
	return p->map_fd < 0 ? -errno : 0;
}

/* Lists the possible CPUs that have a slot in the map. */
static int list_cpus(struct perf_rings *p)
{
	int n = cpulist_read(CPUS_POSSIBLE, &p->cpus);

	if (n < 0)
		return n;
	for (int i = 0; i < n; i++)
		if (p->cpus[i] < p->map_slots)
			p->cpus[p->n_cpus++] = p->cpus[i];
	p->rings = calloc(p->n_cpus + 1, sizeof(*p->rings));
	if (!p->rings) {
		p->n_cpus = 0;
		return -ENOMEM;
	}
	for (size_t i = 0; i < p->n_cpus; i++)
		p->rings[i].fd = -1;
	return 0;
}

void perf_rings_close(struct perf_rings *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n_cpus; i++)
		close_ring(p, i);
	cleanup_close(&p->map_fd);
	free(p->cpus);
	free(p->rings);
	free(p);
}
DEFINE_CLEANUP(struct perf_rings *, perf_rings_close)

int perf_rings_open(int array_map_fd, const struct perf_rings_opts *o, struct ring_reader *rr,
		    struct perf_rings **ret, struct err *err)
{
	_cleanup_(perf_rings_closep) struct perf_rings *p = NULL;
	int r = check_opts(o, err);

	if (r < 0)
		return r;
	p = calloc(1, sizeof(*p));
	if (!p)
		return err_errno(err, -ENOMEM, "cannot open perf rings");
	p->map_fd = -1;
	p->rr = rr;
	p->opts = *o;
	p->opts.ring_bytes = round_ring(o->ring_bytes);
	r = check_map(p, array_map_fd);
	if (r < 0)
		return err_errno(err, r, "the map is not a perf event array");
	r = list_cpus(p);
	if (r < 0)
		return err_errno(err, r, "cannot read " CPUS_POSSIBLE);
	r = open_missing(p, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(p);
	return 0;
}

int perf_rings_refresh(struct perf_rings *p, struct err *err)
{
	_cleanup_free_ uint32_t *online = NULL;
	int n = cpulist_read(CPUS_ONLINE, &online);

	if (n < 0)
		return err_errno(err, n, "cannot read " CPUS_ONLINE);
	for (size_t i = 0; i < p->n_cpus; i++) {
		bool on = cpulist_has(online, (size_t)n, p->cpus[i]);

		if (!on)
			p->rings[i].went = p->rings[i].fd >= 0;
		else if (p->rings[i].went)
			close_ring(p, i);
	}
	return open_missing(p, err);
}

int perf_rings_pause(struct perf_rings *p, bool paused)
{
	for (size_t i = 0; i < p->n_cpus; i++) {
		int r = p->rings[i].fd >= 0 ? pause_event(p->rings[i].fd, paused) : 0;

		if (r < 0)
			return r;
		if (p->rings[i].fd >= 0)
			p->rings[i].ring->running = !paused;
	}
	p->paused = paused;
	return 0;
}
