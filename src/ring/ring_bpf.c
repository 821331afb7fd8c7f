// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One ring: its memory, its positions, and the mapping of a BPF ring buffer. The layout is the documented
 * one (kernel/bpf/ringbuf.c): consumer page read-write at offset 0, producer page and the doubled data
 * read-only behind it.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "ring/ring_impl.h"

struct ring *ring_new(const struct ring_opts *o)
{
	struct ring *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->kind = o->kind;
	r->rec.cpu = o->cpu;
	r->rec.source = o->source;
	r->lifecycle = o->lifecycle;
	r->time_off = o->time_off;
	r->watched_fd = -1;
	return r;
}

void ring_free(struct ring *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(r->maps); i++)
		if (r->maps[i].at)
			munmap(r->maps[i].at, r->maps[i].len);
	vec_fini(&r->found);
	ring_stash_free(r->stash);
	free(r->torn);
	free(r);
}
DEFINE_CLEANUP(struct ring *, ring_free)

int ring_set_memory(struct ring *r, const struct ring_mem *m)
{
	const struct perf_event_mmap_page *page = m->perf_page;

	if (m->data_bytes < RING_ALIGN || (m->data_bytes & (m->data_bytes - 1)) || !m->data)
		return -EINVAL;
	r->data = m->data;
	r->mask = m->data_bytes - 1;
	r->doubled = m->doubled;
	r->release_step = m->data_bytes / RING_RELEASE_SHARE;
	if (r->kind == RING_BPF) {
		if (!m->cons_pos || !m->prod_pos)
			return -EINVAL;
		r->cons_pos = m->cons_pos;
		r->prod_pos = m->prod_pos;
		r->pos = *m->cons_pos;
	} else {
		if (!page || (m->sample_type & ~(uint64_t)PERF_SAMPLE_TIME) != PERF_SAMPLE_RAW)
			return -EINVAL;
		r->perf_page = m->perf_page;
		r->perf_time = m->sample_type & PERF_SAMPLE_TIME;
		r->pos = r->kind == RING_PERF ? page->data_tail : 0;
	}
	if (r->pos % RING_ALIGN)
		return -EINVAL;
	r->end = r->done = r->released = r->pos;
	return 0;
}

const void *ring_put_together(struct ring *r, uint64_t pos, size_t len)
{
	uint64_t off = pos & r->mask;
	size_t first = ring_size(r) - off;

	if (len > r->torn_cap) {
		void *p = realloc(r->torn, len);

		if (!p)
			return NULL;
		r->torn = p;
		r->torn_cap = len;
	}
	memcpy(r->torn, r->data + off, first);
	memcpy((uint8_t *)r->torn + first, r->data, len - first);
	return r->torn;
}

void ring_bpf_begin(struct ring *r)
{
	uint64_t prod;

	if (r->stash)
		ring_stash_take(r);
	prod = __atomic_load_n(r->prod_pos, __ATOMIC_ACQUIRE);
	r->end = prod - prod % RING_ALIGN;
	if (unlikely(r->end - r->pos > ring_size(r))) {
		ring_give_up(r);
		r->state = RING_END;
	}
	if (r->state != RING_HAVE)
		r->state = ring_bpf_next(r);
}

void ring_release(struct ring *r)
{
	struct perf_event_mmap_page *page = r->perf_page;

	if (r->state != RING_HAVE)	/* what was skipped behind the last record goes too */
		r->done = r->pos;
	if (r->done == r->released)
		return;
	r->released = r->done;
	if (r->kind == RING_BPF)
		__atomic_store_n(r->cons_pos, r->done, __ATOMIC_RELEASE);
	else if (r->kind == RING_PERF)
		__atomic_store_n(&page->data_tail, r->done, __ATOMIC_RELEASE);
}

uint64_t ring_unread_bytes(const struct ring *r)
{
	const struct perf_event_mmap_page *page = r->perf_page;

	switch (r->kind) {
	case RING_BPF:
		if (r->stash)
			return ring_stash_unread(r);
		return __atomic_load_n(r->prod_pos, __ATOMIC_ACQUIRE) - r->done;
	case RING_PERF:
		return __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE) - r->done;
	case RING_PERF_BACKWARD:
	case RING__MAX:
		break;
	}
	return 0;
}

/* ---- ring buffer maps ---- */

int ring_map_info(int fd, struct bpf_map_info *ret)
{
	union bpf_attr attr = {
		.info = { .bpf_fd = (uint32_t)fd, .info_len = sizeof(*ret), .info = (uintptr_t)ret },
	};

	memset(ret, 0, sizeof(*ret));
	return syscall(__NR_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) < 0 ? -errno : 0;
}

static int map_memory(struct ring *r, int fd, size_t data_bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct ring_mem m = { .data_bytes = data_bytes, .doubled = true };
	void *p;

	p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	r->maps[0].at = m.cons_pos = p;
	r->maps[0].len = page;
	p = mmap(NULL, page + 2 * data_bytes, PROT_READ, MAP_SHARED, fd, (off_t)page);
	if (p == MAP_FAILED)
		return -errno;
	r->maps[1].at = p;
	r->maps[1].len = page + 2 * data_bytes;
	madvise(p, r->maps[1].len, MADV_DONTFORK);	/* a fork would copy its page tables */
	m.prod_pos = p;
	m.data = (uint8_t *)p + page;
	return ring_set_memory(r, &m);
}

int ring_reader_add_bpf(struct ring_reader *rr, int map_fd, const struct ring_opts *o, struct err *err)
{
	_cleanup_(ring_freep) struct ring *r = ring_new(o);
	struct bpf_map_info info;
	int ret;

	if (!r)
		return err_errno(err, -ENOMEM, "cannot read a ring buffer");
	ret = ring_map_info(map_fd, &info);
	if (ret < 0)
		return err_errno(err, ret, "cannot ask for the size of a ring buffer");
	if (o->kind != RING_BPF || info.type != BPF_MAP_TYPE_RINGBUF)
		return err_set(err, -EINVAL, "map '%s' is not a ring buffer", info.name);
	ret = map_memory(r, map_fd, info.max_entries);
	if (ret < 0)
		return err_errno(err, ret, "cannot map ring buffer '%s' of %u bytes", info.name, info.max_entries);
	ret = o->stash_bytes ? ring_stash_new(r, o->stash_bytes) : 0;
	if (ret < 0)
		return err_errno(err, ret, "cannot get memory behind ring buffer '%s'", info.name);
	ret = ring_reader_adopt(rr, r, map_fd);
	if (ret < 0)
		return err_errno(err, ret, "cannot wait for ring buffer '%s'", info.name);
	TAKE_PTR(r);
	return ret;
}

int ring_reader_add_mem(struct ring_reader *rr, const struct ring_mem *m, const struct ring_opts *o)
{
	_cleanup_(ring_freep) struct ring *r = NULL;
	int ret;

	if ((unsigned)o->kind >= RING__MAX)
		return -EINVAL;
	r = ring_new(o);
	if (!r)
		return -ENOMEM;
	ret = ring_set_memory(r, m);
	if (ret >= 0 && o->stash_bytes)
		ret = ring_stash_new(r, o->stash_bytes);
	if (ret >= 0)
		ret = ring_reader_adopt(rr, r, -1);
	if (ret >= 0)
		TAKE_PTR(r);
	return ret;
}
