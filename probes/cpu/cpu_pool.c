// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * First fit over one byte per unit: there are sixteen thousand at the default budget, and a table is placed a few
 * times a second at most.
 */
#include "probes/cpu/cpu_pool.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/vec.h"
#include "probe/async_map_update.h"
#include "probes/cpu/cpu_unwind_wire.h"

#define UNIT_BYTES sizeof(struct cpu_unwind_unit)
#define SEGMENT_BYTES (UNIT_BYTES * CPU_SEGMENT_UNITS)

struct cpu_pool {
	struct bpf_object *obj;
	struct bpf_map *model;		/* the first segment */
	int outer_fd;
	uint32_t n_segments, max_segments;
	int *segment_fds;		/* [0] is the object's, the others are owned */
	struct async_map_update *puts;	/* the last segment; NULL = it is in place, and its child has ended */
	VEC(struct async_map_update *) ending; /* in place; their children wait for the kernel */
	bool *used;			/* per unit */
	struct read_unit *read;		/* units read lately; NULL = none */
};

#define READ_UNITS 32u	/* a power of two */

struct read_unit {
	uint32_t number;	/* + 1; 0 = none */
	struct cpu_unwind_unit unit;
};

uint32_t cpu_pool_segments(uint64_t budget_bytes)
{
	uint64_t n = budget_bytes / SEGMENT_BYTES;

	return (uint32_t)MIN(MAX(n, 1ull), (uint64_t)UINT16_MAX / 4); /* words are numbered by 32 bits */
}

DEFINE_CLEANUP(struct cpu_pool *, cpu_pool_free)

/* The child waits for a grace period; its parent does not. */
static void let_end(struct cpu_pool *p)
{
	if (p->puts && !async_map_update_ended(p->puts) && vec_grow(&p->ending) >= 0)
		p->ending.items[p->ending.len++] = p->puts;
	else
		async_map_update_free(p->puts);
	p->puts = NULL;
}

static void free_ended(struct cpu_pool *p)
{
	for (size_t i = p->ending.len; i-- > 0;) {
		if (!async_map_update_ended(p->ending.items[i]))
			continue;
		async_map_update_free(p->ending.items[i]);
		p->ending.items[i] = p->ending.items[--p->ending.len];
	}
}

/* Puts segment @at into the pool, after those before it. */
static int put_segment(struct cpu_pool *p, uint32_t at)
{
	int r = async_map_update_finish(p->puts);

	let_end(p);
	if (r == 0)
		r = async_map_update_new(&p->puts);
	if (r == 0)
		r = async_map_update_add(p->puts,
					 &(struct async_map_update_put){ p->outer_fd, at, p->segment_fds[at] });
	return r < 0 ? r : async_map_update_start(p->puts);
}

int cpu_pool_settle(struct cpu_pool *p)
{
	return async_map_update_finish(p->puts);
}

void cpu_pool_poll(struct cpu_pool *p)
{
	free_ended(p);
	if (p->puts && cpu_pool_settle(p) == 0 && async_map_update_ended(p->puts))
		async_map_update_free(TAKE_PTR(p->puts));
}

int cpu_pool_new(struct bpf_object *obj, uint64_t budget_bytes, struct cpu_pool **ret)
{
	_cleanup_(cpu_pool_freep) struct cpu_pool *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	p->obj = obj;
	p->model = bpf_object__find_map_by_name(obj, "cpu_unwind_segment");
	p->outer_fd = bpf_object__find_map_fd_by_name(obj, "cpu_unwind_pool");
	if (!p->model || p->outer_fd < 0)
		return -ENOENT;
	p->max_segments = cpu_pool_segments(budget_bytes);
	p->segment_fds = calloc(p->max_segments, sizeof(p->segment_fds[0]));
	p->used = calloc((size_t)p->max_segments * CPU_SEGMENT_UNITS, sizeof(p->used[0]));
	if (!p->segment_fds || !p->used)
		return -ENOMEM;
	p->segment_fds[0] = bpf_map__fd(p->model);
	p->n_segments = 1;
	r = put_segment(p, 0);
	if (r == 0)
		*ret = TAKE_PTR(p);
	return r;
}

void cpu_pool_free(struct cpu_pool *p)
{
	if (!p)
		return;
	for (uint32_t i = 1; i < p->n_segments; i++)
		close(p->segment_fds[i]);
	async_map_update_free(p->puts);
	for (size_t i = 0; i < p->ending.len; i++)
		async_map_update_free(p->ending.items[i]);
	vec_fini(&p->ending);
	free(p->segment_fds);
	free(p->used);
	free(p->read);
	free(p);
}

static int add_segment(struct cpu_pool *p)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .btf_fd = (uint32_t)bpf_object__btf_fd(p->obj),
		    .btf_key_type_id = bpf_map__btf_key_type_id(p->model),
		    .btf_value_type_id = bpf_map__btf_value_type_id(p->model));
	uint32_t at = p->n_segments;
	_cleanup_close_ int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "cpu_unwind_seg", sizeof(uint32_t), UNIT_BYTES,
						CPU_SEGMENT_UNITS, &opts);
	int r;

	if (fd < 0)
		return -errno;
	p->segment_fds[at] = fd;
	r = put_segment(p, at);
	if (r < 0)
		return r;
	TAKE_FD(fd);
	p->n_segments++;
	return 0;
}

/* Where @n units in a row are free, or -1. */
static int64_t find_free(const struct cpu_pool *p, uint32_t n)
{
	uint32_t run = 0, end = p->n_segments * CPU_SEGMENT_UNITS;

	for (uint32_t i = 0; i < end; i++) {
		run = p->used[i] ? 0 : run + 1;
		if (run == n)
			return (int64_t)i + 1 - n;
	}
	return -1;
}

int cpu_pool_take(struct cpu_pool *p, uint32_t n_units, uint32_t *ret_first)
{
	int64_t at = n_units ? find_free(p, n_units) : 0;
	int r;

	if (n_units > (uint64_t)p->max_segments * CPU_SEGMENT_UNITS)
		return -EFBIG;
	while (at < 0) {
		if (p->n_segments == p->max_segments)
			return -ENOSPC;
		r = add_segment(p);
		if (r < 0)
			return r;
		at = find_free(p, n_units);
	}
	memset(p->used + at, true, n_units);
	*ret_first = (uint32_t)at;
	return 0;
}

void cpu_pool_give(struct cpu_pool *p, uint32_t first, uint32_t n_units)
{
	memset(p->used + first, false, n_units);
}

/* Whole units of one segment. */
static int write_units(const struct cpu_pool *p, uint32_t first, const struct cpu_unwind_unit *units, uint32_t n)
{
	uint32_t keys[CPU_SEGMENT_UNITS], count = n;

	for (uint32_t i = 0; i < n; i++)
		keys[i] = first % CPU_SEGMENT_UNITS + i;
	if (bpf_map_update_batch(p->segment_fds[first / CPU_SEGMENT_UNITS], keys, units, &count, NULL) < 0)
		return -errno;
	return 0;
}

int cpu_pool_write(struct cpu_pool *p, uint32_t first, const void *data, size_t len)
{
	uint32_t n = (uint32_t)(ROUND_UP(len, UNIT_BYTES) / UNIT_BYTES), done = 0;
	_cleanup_free_ struct cpu_unwind_unit *units = calloc(MAX(n, 1u), UNIT_BYTES);
	int r = 0;

	if (!units)
		return -ENOMEM;
	free(TAKE_PTR(p->read));
	memcpy(units, data, len);
	while (r == 0 && done < n) {
		uint32_t left = CPU_SEGMENT_UNITS - (first + done) % CPU_SEGMENT_UNITS;
		uint32_t now = MIN(n - done, left);

		r = write_units(p, first + done, units + done, now);
		done += now;
	}
	return r;
}

int cpu_pool_word(struct cpu_pool *p, uint32_t word, uint32_t *ret)
{
	const uint32_t number = word / CPU_UNIT_WORDS, at = number % CPU_SEGMENT_UNITS;
	const uint32_t segment = number / CPU_SEGMENT_UNITS;
	struct read_unit *u;

	if (segment >= p->n_segments)
		return -ENOENT;
	if (!p->read)
		p->read = calloc(READ_UNITS, sizeof(p->read[0]));
	if (!p->read)
		return -ENOMEM;
	u = &p->read[number % READ_UNITS];
	if (u->number != number + 1) {
		u->number = 0;
		if (bpf_map_lookup_elem(p->segment_fds[segment], &at, &u->unit) < 0)
			return -errno;
		u->number = number + 1;
	}
	*ret = u->unit.words[word % CPU_UNIT_WORDS];
	return 0;
}

uint64_t cpu_pool_bytes(const struct cpu_pool *p)
{
	return (uint64_t)p->n_segments * SEGMENT_BYTES;
}
