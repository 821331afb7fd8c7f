// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/memory_plan.h"

#include <bpf/libbpf.h>
#include <stdio.h>
#include <unistd.h>

#include "base/macros.h"
#include "host/resources.h"

#define RING_BYTES_MOST (4u << 20)	/* default per CPU if all rings together take at most the next */
#define RING_BYTES_ALL (256u << 20)
#define RING_BYTES_LEAST (512u << 10)
#define RING_BYTES_SCARCE (64u << 10)	/* if memory is limited */
#define RING_SHARE_OF_ROOM 32			/* bulk rings of all CPUs take 1/32 of the memory left at most */
#define LIFE_RING_LEAST (256u << 10)
#define LIFE_RING_MOST (2u << 20)
#define LIFE_RING_SHARE 2			/* 1/2 of a bulk ring: an exec with its environment takes 10 KiB */

#define TABLES_ROOM (256ull << 20)	/* below this LRU tables halve whenever the memory left halves */
#define LRU_SHIFT_MOST 6
#define LRU_ENTRIES_LEAST 1024u
#define SCARCE_ROOM (64ull << 20)
#define SPARSE_SHIFT 4				/* tables without preallocation still allocate their buckets */
#define SPARSE_ENTRIES_LEAST 8192u

/* Default of a bulk ring. More CPUs get smaller rings, not more memory in total. */
static size_t default_bulk(unsigned n_cpus, const struct memory_room *room)
{
	size_t bytes = RING_BYTES_MOST;

	while (bytes > RING_BYTES_LEAST && bytes * n_cpus > RING_BYTES_ALL)
		bytes /= 2;
	while (bytes > RING_BYTES_SCARCE && bytes * n_cpus > room->bytes / RING_SHARE_OF_ROOM)
		bytes /= 2;
	return bytes;
}

/* Grows with the bulk ring: a life-cycle record waits until the bulk records before it are read. */
static size_t default_life(size_t bulk_bytes)
{
	return MAX(LIFE_RING_LEAST, MIN(bulk_bytes / LIFE_RING_SHARE, LIFE_RING_MOST));
}

static size_t round_ring(size_t bytes)
{
	size_t n = (size_t)sysconf(_SC_PAGESIZE);

	while (n < bytes)
		n *= 2;
	return n;
}

/* @rings_bytes: reduced size of a bulk ring, 0 = not reduced. */
static void write_note(struct memory_plan *p, const struct memory_room *room, size_t rings_bytes)
{
	const char *limit = room->by_cgroup ? "limit of the cgroup" : "free memory";
	char rings[64] = "";

	if (rings_bytes)
		snprintf(rings, sizeof(rings), "rings of %zu KiB per CPU", rings_bytes >> 10);
	snprintf(p->note, sizeof(p->note), "%llu MiB of memory are left (%s): %s%s%s",
		 (unsigned long long)(room->bytes >> 20), limit, rings,
		 rings_bytes && p->scarce_bytes ? ", " : "", p->scarce_bytes ? "small tables" : "");
}

void memory_plan_init(struct memory_plan *p, unsigned n_cpus, size_t bulk_bytes, size_t life_bytes)
{
	const struct memory_room room = resources_memory();
	size_t plenty = default_bulk(n_cpus, &(struct memory_room){ .bytes = UINT64_MAX });
	size_t bulk = default_bulk(n_cpus, &room);
	uint64_t bytes = room.bytes;

	*p = (struct memory_plan){ .scarce_bytes = bytes < SCARCE_ROOM ? MAX(bytes, (uint64_t)1) : 0 };
	for (; p->lru_shift < LRU_SHIFT_MOST && bytes < TABLES_ROOM; bytes *= 2)
		p->lru_shift++;
	if (!bulk_bytes && bulk < plenty)
		write_note(p, &room, bulk);
	else if (p->scarce_bytes)
		write_note(p, &room, 0);
	p->bulk_bytes = round_ring(bulk_bytes ? bulk_bytes : bulk);
	p->life_bytes = round_ring(life_bytes ? life_bytes : default_life(p->bulk_bytes));
}

void memory_plan_shrink(const struct memory_plan *p, struct bpf_object *obj)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, obj) {
		uint32_t n = bpf_map__max_entries(map);

		if (bpf_map__type(map) == BPF_MAP_TYPE_LRU_HASH && p->lru_shift)
			bpf_map__set_max_entries(map, MAX(n >> p->lru_shift, MIN(n, LRU_ENTRIES_LEAST)));
		else if (bpf_map__type(map) == BPF_MAP_TYPE_HASH && p->scarce_bytes &&
			 bpf_map__map_flags(map) & BPF_F_NO_PREALLOC)
			bpf_map__set_max_entries(map, MAX(n >> SPARSE_SHIFT, MIN(n, SPARSE_ENTRIES_LEAST)));
	}
}
