// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One ring, whatever its kind: allocation, memory, and the space that goes back to the producer.
 */
#include "ring/one_ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/mman.h>

struct ring *one_ring_new(const struct ring_opts *o)
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

void one_ring_free(struct ring *r)
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

int one_ring_set_memory(struct ring *r, const struct ring_mem *m)
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

const void *one_ring_join(struct ring *r, uint64_t pos, size_t len)
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

int one_ring_add_stash(struct ring *r, const struct ring_opts *o)
{
	struct ring_mem m;
	int ret = o->stash_bytes ? ring_stash_new(r, o->stash_bytes, &r->stash, &m) : 0;

	return ret < 0 || !o->stash_bytes ? ret : one_ring_set_memory(r, &m);
}

void one_ring_release(struct ring *r)
{
	struct perf_event_mmap_page *page = r->perf_page;

	if (r->state != RING_HAVE)	/* include skipped records after the last delivered record */
		r->done = r->pos;
	if (r->done == r->released)
		return;
	r->released = r->done;
	if (r->kind == RING_BPF)
		__atomic_store_n(r->cons_pos, r->done, __ATOMIC_RELEASE);
	else if (r->kind == RING_PERF)
		__atomic_store_n(&page->data_tail, r->done, __ATOMIC_RELEASE);
}

uint64_t one_ring_unread_bytes(const struct ring *r)
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
