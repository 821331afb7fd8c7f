/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Headers that a server or a client of net/http or x/net sends: a Go map from names to lists of values, walked where
 * it lies. Of interest are the trailers of gRPC, what says something of a request, and what was asked for by name; of
 * a list the first value.
 *
 * Maps: runtime/map.go up to Go 1.23, internal/runtime/maps since. Only their own head is taken for granted, how the
 * groups are made is the layout's. What is found becomes the headers of the frame (gohttp2_fields.bpf.h), which
 * believe a name when they have compared it.
 */
#ifndef GOHTTP2_MAP_BPF_H
#define GOHTTP2_MAP_BPF_H

#include "probes/gohttp2/bpf/gohttp2_state.bpf.h"

#define MAP_GROUPS 16		/* that are looked at: up to 128 entries */
#define MAP_SLOTS 8
#define BUCKET_BYTES 336	/* eight marks, keys (strings) and values (slices), a pointer to the next one */
#define PAGE_LEAST 4096		/* bytes of a page; larger ones are multiples */
#define BUCKET_NEXT 328		/* of later ones this is the size */
#define TABLE_GROUPS 16		/* in a table: its groups, and their number less one */
#define LENGTH_OF(name) (1ull << (sizeof(name) - 1))
#define OLDEST_MARK 5		/* of a bucket's slot that is in use: runtime/map.go, minTopHash */

/* The head of both kinds. */
struct go_map {
	__u64 count;
	__u64 bits;		/* up to Go 1.23 flags, then the logarithm of the number of buckets */
	__u64 entries;
	__u64 more;		/* the buckets of a map that grows are there until they are moved; else tables */
};

/* The map at @addr: where its groups are. */
static __always_inline bool find_groups(const struct gohttp2_layout *l, __u64 addr, struct gohttp2_groups *ret)
{
	struct go_map m;
	__u64 table = 0;

	if (read_user(&m, sizeof(m), addr))
		return false;
	ret->old = 0;
	if (l->map_kind == GOHTTP2_MAP_BUCKETS) {
		ret->left = (1ull << (m.bits >> 8 & 31)) - 1;
		ret->old = m.more;
	} else if (m.more) { /* one table, as long as it has room */
		if (read_user(&table, sizeof(table), m.entries) ||
		    read_user(&m.entries, 2 * sizeof(__u64), table + TABLE_GROUPS))
			return false;
		ret->left = m.more;
	} else {
		ret->left = 0;
	}
	ret->at = ret->row = m.entries;
	ret->half = ret->left / 2;
	return true;
}

static __always_inline bool in_use(const struct gohttp2_layout *l, __u8 mark)
{
	return l->map_kind == GOHTTP2_MAP_BUCKETS ? mark >= OLDEST_MARK : !(mark & 0x80);
}

/* One more header of the frame: the name, and the first of the values that are listed there. */
static __noinline int add_entry(struct gohttp2_scratch *s, const struct gohttp2_string *key,
				const struct gohttp2_string *list)
{
	struct gohttp2_hf *hf = &s->hf[s->fields.len & (HF_MAX - 1)];

	if (!list->len || s->fields.len >= HF_MAX)
		return 0;
	hf->name = *key;
	if (read_user(&hf->value, sizeof(hf->value), list->ptr))
		TELL(map_value);
	else
		s->fields.len++;
	return 0;
}

/* The group is in s->group. */
static __always_inline void take_group(struct gohttp2_scratch *s, const struct gohttp2_layout *l)
{
	bool pairs = l->map_kind == GOHTTP2_MAP_PAIRS;

	/* as a loop it would begin in its middle, which verifiers before 6.2 refuse: a back-edge that is no jump */
#pragma unroll
	for (__u32 i = 0; i < MAP_SLOTS; i++) {
		const struct gohttp2_string *key = (void *)&s->group[8 + i * (pairs ? 40 : 16)];
		const struct gohttp2_string *list = (void *)&s->group[pairs ? 24 + i * 40 : 136 + i * 24];

		if (in_use(l, s->group[i]) && key->len <= GOHTTP2_NAME_BYTES && s->lengths >> key->len & 1)
			add_entry(s, key, list);
	}
}

/*
 * The group at @addr. The program may never have touched the page that its last slots are in: what is not written to
 * is zero, and the kernel has no memory there yet. Marks of zero are no entries in a bucket, elsewhere they are
 * written.
 */
static __always_inline bool read_group(struct gohttp2_scratch *s, __u64 addr, bool buckets)
{
	__u32 here = PAGE_LEAST - (addr & (PAGE_LEAST - 1));

	if (!read_user(s->group, BUCKET_NEXT, addr))
		return true;
	__builtin_memset(s->group, 0, BUCKET_NEXT);
	barrier_var(here);
	if ((here < BUCKET_NEXT && !read_user(s->group, here, addr)) || buckets)
		return true;
	TELL(map_group);
	return false;
}

/* Reads the group that s->groups stands at, and goes on to the next. False behind the last. */
static __noinline int next_group(struct gohttp2_scratch *s, const struct gohttp2_layout *l)
{
	struct gohttp2_groups *g = &s->groups;
	bool buckets = l->map_kind == GOHTTP2_MAP_BUCKETS;
	__u64 next = 0;

	if (!g->at || !read_group(s, g->at, buckets))
		return 0;
	if (buckets)
		next = word_at(g->at, BUCKET_NEXT);
	if (!next && g->left) {
		g->left--;
		next = g->row += buckets ? BUCKET_BYTES : BUCKET_NEXT;
	} else if (!next && g->old) {
		next = g->row = g->old;
		g->left = g->half;
		g->old = 0;
	}
	g->at = next;
	return 1;
}

/* A turn of bpf_loop(). */
static long walk_group(__u32 i, struct walk *w)
{
	if (!next_group(w->s, w->l))
		return 1;
	take_group(w->s, w->l);
	return 0;
}

/* What is looked at of a response with the status @code; trailers have none, and at the end gRPC's is in the map. */
static __always_inline __u64 lengths_of_response(const struct gohttp2_scratch *s, __u32 code)
{
	__u64 lengths = code >= 200 ? gohttp2_lengths : 0;

	if (!code || s->rec.flags & GOHTTP2_F_END_STREAM)
		lengths |= LENGTH_OF("grpc-status") | LENGTH_OF("grpc-message");
	return lengths;
}

/* Of a request. What frames have and the map does not begins with a colon. */
static __always_inline __u64 lengths_of_request(void)
{
	return gohttp2_lengths | LENGTH_OF("traceparent") | LENGTH_OF("user-agent") | LENGTH_OF("content-type") |
	       LENGTH_OF("grpc-timeout");
}

/* Of the headers in the map those whose names have a length in s->lengths. */
static __always_inline void take_map(struct gohttp2_scratch *s, struct gohttp2_layout *l, __u64 map)
{
	struct walk w = { s, l };

	if (!l->map_kind || !s->lengths)
		return;
	s->fields.ptr = 0;
	if (!find_groups(l, map, &s->groups)) {
		TELL(map);
		return;
	}
	if (loops_there())
		bpf_loop(MAP_GROUPS, walk_group, &w, 0);
}

#endif
