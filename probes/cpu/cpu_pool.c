// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * First fit over one byte per unit: 16,384 units at the default budget, a few tables per second at most.
 *
 * A new segment and the reuse of units both take an RCU grace period, which child processes wait for.
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

enum unit_state {
	UNIT_FREE,
	UNIT_USED,
	UNIT_RETIRED,	/* a program may still read it; no grace period has begun */
	UNIT_DRAINING,	/* the same, until the grace period ends */
	UNIT__MAX
};

/* A child that enters a segment into the pool. */
struct update {
	struct async_map_update *put;
	uint32_t segment;
	bool drains;	/* its end makes UNIT_DRAINING free */
};

struct cpu_pool {
	struct bpf_object *obj;
	struct bpf_map *model;		/* the first segment */
	int outer_fd;
	uint32_t n_segments, max_segments;
	int *segment_fds;		/* [0] is the object's, the others are owned */
	VEC(struct update) updates;	/* whose children have not ended */
	uint8_t *units;			/* enum unit_state of each */
	bool draining;			/* a child waits for UNIT_DRAINING */
	struct read_unit *read;		/* cache of units read back; NULL = none */
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

/* Starts a child that enters segment @at. */
static int put_segment(struct cpu_pool *p, uint32_t at, bool drains)
{
	struct update u = { .segment = at, .drains = drains };
	int r = vec_grow(&p->updates) < 0 ? -ENOMEM : async_map_update_new(&u.put);

	if (r == 0)
		r = async_map_update_add(u.put,
					 &(struct async_map_update_put){ p->outer_fd, at, p->segment_fds[at] });
	if (r == 0)
		r = async_map_update_start(u.put);
	if (r == 0)
		p->updates.items[p->updates.len++] = u;
	else
		async_map_update_free(u.put);
	return r;
}

int cpu_pool_ready(struct cpu_pool *p, uint32_t first, uint32_t n_units)
{
	const uint32_t from = first / CPU_SEGMENT_UNITS, end = (first + n_units - 1) / CPU_SEGMENT_UNITS + 1;
	int r = 0;

	for (size_t i = 0; n_units && r == 0 && i < p->updates.len; i++)
		if (p->updates.items[i].segment >= from && p->updates.items[i].segment < end)
			r = async_map_update_poll(p->updates.items[i].put);
	return r;
}

/* ---- reuse of units ---- */

static bool turn_units(struct cpu_pool *p, enum unit_state from, enum unit_state to)
{
	bool any = false;

	for (size_t i = 0; i < (size_t)p->n_segments * CPU_SEGMENT_UNITS; i++) {
		if (p->units[i] != from)
			continue;
		p->units[i] = (uint8_t)to;
		any = true;
	}
	return any;
}

/* Entering segment 0 once more changes nothing, and takes a grace period. */
static void drain(struct cpu_pool *p)
{
	if (p->draining || !turn_units(p, UNIT_RETIRED, UNIT_DRAINING))
		return;
	p->draining = put_segment(p, 0, true) == 0;
	if (!p->draining)
		turn_units(p, UNIT_DRAINING, UNIT_RETIRED); /* next time */
}

void cpu_pool_retire(struct cpu_pool *p, uint32_t first, uint32_t n_units)
{
	memset(p->units + first, UNIT_RETIRED, n_units);
}

void cpu_pool_poll(struct cpu_pool *p)
{
	for (size_t i = p->updates.len; i-- > 0;) {
		struct update u = p->updates.items[i];

		if (!async_map_update_ended(u.put) || async_map_update_poll(u.put) < 0)
			continue; /* cpu_pool_ready() reports errors */
		if (u.drains) {
			p->draining = false;
			turn_units(p, UNIT_DRAINING, async_map_update_failed(u.put) ? UNIT_RETIRED : UNIT_FREE);
		}
		async_map_update_free(u.put);
		p->updates.items[i] = p->updates.items[--p->updates.len];
	}
	drain(p);
}

/* ---- life ---- */

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
	p->units = calloc((size_t)p->max_segments * CPU_SEGMENT_UNITS, sizeof(p->units[0]));
	if (!p->segment_fds || !p->units)
		return -ENOMEM;
	p->segment_fds[0] = bpf_map__fd(p->model);
	p->n_segments = 1;
	r = put_segment(p, 0, false);
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
	for (size_t i = 0; i < p->updates.len; i++)
		async_map_update_free(p->updates.items[i].put);
	vec_fini(&p->updates);
	free(p->segment_fds);
	free(p->units);
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
	r = put_segment(p, at, false);
	if (r < 0)
		return r;
	TAKE_FD(fd);
	p->n_segments++;
	return 0;
}

/* The first of @n consecutive units that are free, or will be after the grace period (@soon); or -1. */
static int64_t find_free(const struct cpu_pool *p, uint32_t n, bool soon)
{
	uint32_t run = 0, end = p->n_segments * CPU_SEGMENT_UNITS;

	for (uint32_t i = 0; i < end; i++) {
		run = p->units[i] == UNIT_USED || (!soon && p->units[i] != UNIT_FREE) ? 0 : run + 1;
		if (run == n)
			return (int64_t)i + 1 - n;
	}
	return -1;
}

int cpu_pool_take(struct cpu_pool *p, uint32_t n_units, uint32_t *ret_first)
{
	int64_t at = n_units ? find_free(p, n_units, false) : 0;
	int r;

	if (n_units > (uint64_t)p->max_segments * CPU_SEGMENT_UNITS)
		return -EFBIG;
	while (at < 0) {
		if (p->n_segments == p->max_segments)
			return find_free(p, n_units, true) < 0 ? -ENOSPC : -EAGAIN;
		r = add_segment(p);
		if (r < 0)
			return r;
		at = find_free(p, n_units, false);
	}
	memset(p->units + at, UNIT_USED, n_units);
	*ret_first = (uint32_t)at;
	return 0;
}

void cpu_pool_give(struct cpu_pool *p, uint32_t first, uint32_t n_units)
{
	memset(p->units + first, UNIT_FREE, n_units);
}

/* Whole units of one segment. */
static int write_units(const struct cpu_pool *p, uint32_t first, const void *units, uint32_t n)
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
	const uint32_t n = (uint32_t)(len / UNIT_BYTES);
	struct cpu_unwind_unit last = { 0 };
	uint32_t done = 0;
	int r = 0;

	free(TAKE_PTR(p->read));
	while (r == 0 && done < n) {
		uint32_t left = CPU_SEGMENT_UNITS - (first + done) % CPU_SEGMENT_UNITS;
		uint32_t now = MIN(n - done, left);

		r = write_units(p, first + done, (const char *)data + done * UNIT_BYTES, now);
		done += now;
	}
	if (r < 0 || len % UNIT_BYTES == 0)
		return r;
	memcpy(&last, (const char *)data + n * UNIT_BYTES, len % UNIT_BYTES);
	return write_units(p, first + n, &last, 1);
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
