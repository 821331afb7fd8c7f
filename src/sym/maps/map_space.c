// SPDX-License-Identifier: GPL-2.0-or-later
#include "sym/maps/map_space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

struct map_space *map_space_new(uint32_t cap)
{
	struct map_space *s = calloc(1, sizeof(*s) + cap * sizeof(s->m[0]));

	if (!s)
		return NULL;
	s->refs = 1;
	s->cap = cap;
	return s;
}

size_t map_space_bytes(const struct map_space *s)
{
	return sizeof(*s) + s->cap * sizeof(s->m[0]);
}

/* Index of the first mapping whose end is above @addr. */
static uint32_t first_behind(const struct map_space *s, uint64_t addr)
{
	return (uint32_t)BISECT(i, s->len, s->m[i].end <= addr);
}

const struct mapping *map_space_at(const struct map_space *s, uint64_t addr)
{
	uint32_t i = first_behind(s, addr);

	return i < s->len && s->m[i].start <= addr ? &s->m[i] : NULL;
}

uint32_t map_space_count_since(const struct map_space *s, uint64_t ns)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->len; i++)
		n += s->m[i].since_ns >= ns;
	return n;
}

/* The part [start, end) of @m. */
static struct mapping part(const struct mapping *m, uint64_t start, uint64_t end)
{
	struct mapping p = *m;

	p.off += start - m->start;
	p.start = start;
	p.end = end;
	return p;
}

static int make_room(struct map_space **s, uint32_t more)
{
	struct map_space *old = *s, *grown;
	uint32_t cap = MAX(old->cap, 8u);

	if (old->len + more <= old->cap)
		return 0;
	if (old->len + more > MAP_SPACE_MAX)
		return -ENOSPC;
	while (cap < old->len + more)
		cap *= 2;
	grown = realloc(old, sizeof(*old) + cap * sizeof(old->m[0]));
	if (!grown)
		return -ENOMEM;
	grown->cap = cap;
	*s = grown;
	return 0;
}

/* Replaces @n mappings from @at on by @with. The list has room. */
static void replace(struct map_space *s, uint32_t at, uint32_t n, const struct mapping *with, uint32_t n_with)
{
	memmove(&s->m[at + n_with], &s->m[at + n], (s->len - at - n) * sizeof(s->m[0]));
	memcpy(&s->m[at], with, n_with * sizeof(s->m[0]));
	s->len += n_with - n;
}

/* Inserts [start, end) of @m, which overlaps no remaining mapping, in place of @n mappings from @at on. */
static int put(struct map_space **s, uint32_t at, uint32_t n, const struct mapping *m)
{
	struct mapping with[3];
	uint32_t n_with = 0;
	int r = make_room(s, 2);

	if (r < 0)
		return r;
	if (n && (*s)->m[at].start < m->start)
		with[n_with++] = part(&(*s)->m[at], (*s)->m[at].start, m->start);
	with[n_with++] = *m;
	if (n && (*s)->m[at + n - 1].end > m->end)
		with[n_with++] = part(&(*s)->m[at + n - 1], m->end, (*s)->m[at + n - 1].end);
	replace(*s, at, n, with, n_with);
	return 0;
}

/* True if @m yields to @e: @e is newer, or @m is from a snapshot and only confirms @e. */
static bool yields(const struct mapping *m, const struct mapping *e, bool snapshot)
{
	return e->since_ns > m->since_ns ||
	       (snapshot && e->module == m->module && e->start - m->start == e->off - m->off);
}

static bool same(const struct mapping *a, const struct mapping *b)
{
	return a->start == b->start && a->end == b->end && a->off == b->off && a->module == b->module;
}

/*
 * Walks the mappings that @m overlaps from left to right. Removes older ones; newer ones remain and split @m.
 */
int map_space_add(struct map_space **s, const struct mapping *m, bool snapshot)
{
	uint64_t pos = m->start;
	uint32_t i = first_behind(*s, pos);
	int changed = 0;

	if (!snapshot && i < (*s)->len && same(&(*s)->m[i], m)) {
		(*s)->m[i].since_ns = MAX((*s)->m[i].since_ns, m->since_ns);
		return 0;
	}
	while (pos < m->end) {
		uint64_t end = m->end;
		uint32_t n = 0;
		struct mapping piece;
		int r;

		for (; i < (*s)->len && (*s)->m[i].start <= pos && yields(m, &(*s)->m[i], snapshot); i++) {
			(*s)->m[i].since_ns = MAX((*s)->m[i].since_ns, m->since_ns); /* still mapped */
			pos = (*s)->m[i].end;
		}
		if (pos >= m->end)
			break;
		while (i + n < (*s)->len && (*s)->m[i + n].start < m->end && !yields(m, &(*s)->m[i + n], snapshot))
			n++;
		if (i + n < (*s)->len)
			end = MIN(end, (*s)->m[i + n].start);
		piece = part(m, pos, end);
		r = put(s, i, n, &piece);
		if (r < 0)
			return r;
		changed = 1;
		pos = end;
		i = first_behind(*s, pos);
	}
	return changed;
}
