// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Chunks of copies of events (event/copy.h), the size in front of each.
 */
#include "view/view_kept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "base/vec.h"
#include "event/copy.h"
#include "event/event.h"

#define CHUNK_BYTES (1u << 20)

struct entry {
	size_t size;		/* of the whole entry */
	uint64_t copy[];
};

struct chunk {
	char *data;		/* owned */
	size_t len, cap;
	uint64_t events;
	uint64_t first_ns, last_ns, last_seq;	/* least and greatest; times of the wall clock */
};

struct view_kept {
	VEC(struct chunk) chunks;
	size_t max_bytes, bytes;
	uint64_t n, gone, first;	/* first: number of chunks that went */
	struct arena *scratch;		/* owned; values that the event read last was asked for */
};

size_t view_kept_size(const struct event *ev)
{
	return sizeof(struct entry) + event_copy_size(ev);
}

static void drop_oldest(struct view_kept *k)
{
	struct chunk *c = &k->chunks.items[0];

	k->bytes -= c->cap;
	k->n -= c->events;
	k->gone += c->events;
	k->first++;
	free(c->data);
	k->chunks.len--;
	memmove(c, c + 1, k->chunks.len * sizeof(*c));
}

static struct chunk *room_for(struct view_kept *k, size_t size)
{
	struct chunk *last = k->chunks.len ? &k->chunks.items[k->chunks.len - 1] : NULL;
	struct chunk c = { .cap = MAX(size, (size_t)CHUNK_BYTES) };

	if (last && last->cap - last->len >= size)
		return last;
	while (k->chunks.len && k->bytes + c.cap > k->max_bytes)
		drop_oldest(k);
	if (vec_grow(&k->chunks) < 0)
		return NULL;
	c.data = malloc(c.cap);
	if (!c.data)
		return NULL;
	k->bytes += c.cap;
	k->chunks.items[k->chunks.len] = c;
	return &k->chunks.items[k->chunks.len++];
}

int view_kept_add(struct view_kept *k, const struct event *ev)
{
	size_t size = view_kept_size(ev);
	struct chunk *c = room_for(k, size);
	struct entry *e;

	if (!c)
		return -ENOMEM;
	e = (struct entry *)(void *)(c->data + c->len);
	e->size = size;
	event_copy_put(ev, e->copy);
	c->len += size;
	c->first_ns = c->events ? MIN(c->first_ns, event_wall_ns(ev)) : event_wall_ns(ev);
	c->last_ns = MAX(c->last_ns, event_wall_ns(ev));
	c->last_seq = MAX(c->last_seq, ev->seq);
	c->events++;
	k->n++;
	return 0;
}

bool view_kept_next(const struct view_kept *k, struct view_kept_at *at, struct event *ret)
{
	const struct entry *e;

	if (at->chunk < k->first)
		*at = (struct view_kept_at){ .chunk = k->first };
	/* the last chunk may grow: stay in it */
	while (at->chunk + 1 < k->first + k->chunks.len && at->offset >= k->chunks.items[at->chunk - k->first].len)
		*at = (struct view_kept_at){ .chunk = at->chunk + 1 };
	if (at->chunk >= k->first + k->chunks.len || at->offset >= k->chunks.items[at->chunk - k->first].len)
		return false;
	e = (const struct entry *)(const void *)(k->chunks.items[at->chunk - k->first].data + at->offset);
	arena_reset(k->scratch);
	event_copy_get(e->copy, k->scratch, ret);
	at->offset += e->size;
	return true;
}

/* Moves @at behind chunks without an event of the part. */
static void skip_chunks(const struct view_kept *k, const struct view_kept_part *part, struct view_kept_at *at)
{
	if (at->chunk < k->first)
		*at = (struct view_kept_at){ .chunk = k->first };
	while (at->chunk + 1 < k->first + k->chunks.len) {
		const struct chunk *c = &k->chunks.items[at->chunk - k->first];

		if (c->last_ns >= part->from_ns && c->first_ns < part->to_ns && c->last_seq >= part->first_seq)
			break;
		*at = (struct view_kept_at){ .chunk = at->chunk + 1 };
	}
}

bool view_kept_next_of(const struct view_kept *k, const struct view_kept_part *part, struct view_kept_at *at,
		       struct event *ret)
{
	uint64_t chunk = UINT64_MAX;

	for (;;) {
		if (at->chunk != chunk)
			skip_chunks(k, part, at);
		chunk = at->chunk;
		if (!view_kept_next(k, at, ret))
			return false;
		if (event_wall_ns(ret) >= part->from_ns && event_wall_ns(ret) < part->to_ns &&
		    ret->seq >= part->first_seq)
			return true;
	}
}

bool view_kept_span(const struct view_kept *k, uint64_t *ret_first_ns, uint64_t *ret_last_ns)
{
	uint64_t first_ns = UINT64_MAX, last_ns = 0;

	for (size_t i = 0; i < k->chunks.len; i++) {
		first_ns = MIN(first_ns, k->chunks.items[i].first_ns);
		last_ns = MAX(last_ns, k->chunks.items[i].last_ns);
	}
	if (!k->n)
		return false;
	*ret_first_ns = first_ns;
	*ret_last_ns = last_ns;
	return true;
}

/* ---- order ---- */

struct place {
	uint64_t ns;
	uint32_t chunk;
	uint32_t offset;	/* in units of 8 bytes */
};

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return COMPARE(x->ns, y->ns) ?: COMPARE(x->chunk, y->chunk) ?: COMPARE(x->offset, y->offset);
}

static struct place *list_places(const struct view_kept *k)
{
	struct place *places = calloc(k->n + 1, sizeof(*places));
	struct view_kept_at at = { .chunk = k->first };
	struct event ev;

	for (size_t i = 0; places && view_kept_next(k, &at, &ev); i++)
		places[i] = (struct place){
			.ns = event_wall_ns(&ev),
			.chunk = (uint32_t)(at.chunk - k->first),
			.offset = (uint32_t)((at.offset - view_kept_size(&ev)) / sizeof(uint64_t)),
		};
	if (places)
		qsort(places, k->n, sizeof(*places), compare_places);
	return places;
}

/* Copies the events to new chunks; an old one goes with its last event. */
int view_kept_sort(struct view_kept *k)
{
	struct view_kept old = *k;
	struct place *places = list_places(&old);
	int r = places ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	*k = (struct view_kept){ .max_bytes = SIZE_MAX, .gone = old.gone, .scratch = old.scratch };
	for (uint64_t i = 0; r >= 0 && i < old.n; i++) {
		struct chunk *c = &old.chunks.items[places[i].chunk];
		const struct entry *e =
			(const struct entry *)(const void *)(c->data + places[i].offset * sizeof(uint64_t));
		struct event ev;

		event_copy_get(e->copy, k->scratch, &ev);
		ev.seq = i + 1;
		r = view_kept_add(k, &ev);
		if (!--c->events) {
			free(TAKE_PTR(c->data));
		}
	}
	k->max_bytes = old.max_bytes;
	for (size_t i = 0; i < old.chunks.len; i++)
		free(old.chunks.items[i].data);
	vec_fini(&old.chunks);
	free(places);
	return r;
}

uint64_t view_kept_n(const struct view_kept *k)
{
	return k->n;
}

uint64_t view_kept_gone(const struct view_kept *k)
{
	return k->gone;
}

int view_kept_new(size_t max_bytes, struct view_kept **ret)
{
	_cleanup_free_ struct view_kept *k = calloc(1, sizeof(*k));

	if (!k)
		return -ENOMEM;
	k->max_bytes = max_bytes;
	k->scratch = calloc(1, sizeof(*k->scratch));
	if (!k->scratch)
		return -ENOMEM;
	*ret = TAKE_PTR(k);
	return 0;
}

void view_kept_free(struct view_kept *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < k->chunks.len; i++)
		free(k->chunks.items[i].data);
	vec_fini(&k->chunks);
	arena_fini(k->scratch);
	free(k->scratch);
	free(k);
}
