// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The latest frames of each socket and direction, and the latest streams. Sequence numbers wrap: they are compared by
 * their distance.
 */
#include "state/state_range.h"

#include <errno.h>
#include <stdlib.h>

#include "base/macros.h"
#include "state/state_tables.h"

#define SOCKETS_MAX 1024
#define SPANS_MAX 256	/* of a direction; a power of two, as the next three */
#define SPANS_FIRST 16
#define STREAMS_MAX 256	/* of a connection; they have one parity */
#define STREAMS_FIRST 4

struct span {
	uint32_t seq, len, stream;
};

struct spans {
	struct span *items;	/* owned; a ring */
	uint32_t n;		/* added so far; the latest `room` are kept */
	uint32_t room;
};

struct stream_call {
	uint64_t call;
	uint32_t stream, pad;
};

struct range_sock {
	struct list age;
	uint64_t cookie;
	struct spans dirs[2];	/* received, sent */
	struct stream_call *calls; /* owned; by the stream's low bits */
	uint32_t n_calls;	/* room */
	uint32_t newest;	/* stream of a known call */
};

static struct range_sock *find(const struct state_ranges *t, uint64_t cookie)
{
	return map_find_ptr(&t->by_cookie, &cookie);
}

static void forget(struct state_ranges *t, struct range_sock *k)
{
	list_remove(&k->age);
	map_remove(&t->by_cookie, &k->cookie);
	free(k->dirs[0].items);
	free(k->dirs[1].items);
	free(k->calls);
	free(k);
}

static struct range_sock *oldest(struct state_ranges *t)
{
	struct list *a = list_first(&t->socks);

	return a ? container_of(a, struct range_sock, age) : NULL;
}

static struct range_sock *get(struct state_ranges *t, uint64_t cookie)
{
	struct range_sock *k = find(t, cookie);

	if (k) {
		list_remove(&k->age);
		list_add(&t->socks, &k->age);
		return k;
	}
	if (t->by_cookie.len >= SOCKETS_MAX)
		forget(t, oldest(t));
	k = map_add_new(&t->by_cookie, &cookie, sizeof(*k));
	if (!k)
		return NULL;
	k->cookie = cookie;
	list_add(&t->socks, &k->age);
	return k;
}

/* The ring keeps its order when it grows, since it grows before it first wraps. */
static int make_room(struct spans *d)
{
	uint32_t room = d->room ? 2 * d->room : SPANS_FIRST;
	struct span *items;

	if (d->n < d->room || d->room == SPANS_MAX)
		return 0;
	items = realloc(d->items, room * sizeof(*items));
	if (!items)
		return -ENOMEM;
	d->items = items;
	d->room = room;
	return 0;
}

int state_range_add(struct state *s, const struct state_range *r, uint32_t stream)
{
	struct range_sock *k = get(&s->ranges, r->cookie);
	struct spans *d = k ? &k->dirs[r->sent] : NULL;
	struct span *last;

	if (!d || make_room(d) < 0)
		return -ENOMEM;
	last = d->n ? &d->items[(d->n - 1) & (d->room - 1)] : NULL;
	if (last && last->stream == stream && last->seq + last->len == r->seq && last->len + r->len > last->len)
		last->len += r->len;
	else
		d->items[d->n++ & (d->room - 1)] = (struct span){ .seq = r->seq, .len = r->len, .stream = stream };
	return 0;
}

/* A stream of 0 is an empty slot. */
static struct stream_call *call_at(const struct range_sock *k, uint32_t stream)
{
	return k->n_calls ? &k->calls[stream / 2 & (k->n_calls - 1)] : NULL;
}

/* Two streams of one slot are of different slots in a table of twice the size, sooner or later. */
static int grow_calls(struct range_sock *k)
{
	const struct range_sock old = *k;
	const uint32_t room = old.n_calls ? 2 * old.n_calls : STREAMS_FIRST;
	struct stream_call *calls = calloc(room, sizeof(*calls));

	if (!calls)
		return -ENOMEM;
	k->calls = calls;
	k->n_calls = room;
	for (uint32_t i = 0; i < old.n_calls; i++)
		if (old.calls[i].stream)
			*call_at(k, old.calls[i].stream) = old.calls[i];
	free(old.calls);
	return 0;
}

int state_range_set_call(struct state *s, uint64_t cookie, uint32_t stream, uint64_t call)
{
	struct range_sock *k = get(&s->ranges, cookie);
	struct stream_call *c = k ? call_at(k, stream) : NULL;

	while (k && (!c || (c->stream && c->stream != stream)) && k->n_calls < STREAMS_MAX) {
		if (grow_calls(k) < 0)
			return -ENOMEM;
		c = call_at(k, stream);
	}
	if (!c)
		return -ENOMEM;
	*c = (struct stream_call){ .stream = stream, .call = call };
	k->newest = MAX(k->newest, stream);
	return 0;
}

/* Bytes that both have. */
static uint32_t overlap(const struct span *a, const struct state_range *r)
{
	uint32_t from_a = r->seq - a->seq, from_r = a->seq - r->seq;

	if (from_a < a->len)
		return MIN(a->len - from_a, r->len);
	return from_r < r->len ? MIN(r->len - from_r, a->len) : 0;
}

static void take_stream(struct range_sock *k, uint32_t stream, struct state_range_answer *ret)
{
	const struct stream_call *c = call_at(k, stream);

	if (!stream)
		return;
	if (!c || c->stream != stream) {
		ret->whole &= stream <= k->newest;
		return;
	}
	ret->several |= ret->call && ret->call != c->call;
	ret->call = c->call;
}

bool state_range_has(const struct state *s, uint64_t cookie)
{
	const struct range_sock *k = find(&s->ranges, cookie);

	return k && (k->dirs[0].n || k->dirs[1].n);
}

/* Bytes of @r in front of the first frame, if that is in @r too: a preface. */
static uint32_t before_first(const struct spans *d, const struct state_range *r)
{
	uint32_t bytes = d->n <= d->room ? d->items[0].seq - r->seq : 0;

	return bytes < r->len ? bytes : 0;
}

int state_range_find(struct state *s, const struct state_range *r, struct state_range_answer *ret)
{
	struct range_sock *k = find(&s->ranges, r->cookie);
	const struct spans *d = k ? &k->dirs[r->sent] : NULL;
	uint32_t known = d && d->n ? before_first(d, r) : 0;

	if (!d || (!d->n && !k->dirs[!r->sent].n))
		return -ENOENT;
	*ret = (struct state_range_answer){ .whole = true };
	for (uint32_t i = 0; i < MIN(d->n, d->room) && known < r->len; i++) {
		const struct span *at = &d->items[(d->n - 1 - i) & (d->room - 1)];
		uint32_t bytes = overlap(at, r);

		known += bytes;
		if (bytes)
			take_stream(k, at->stream, ret);
	}
	ret->whole &= known >= r->len;
	if (ret->several)
		ret->call = 0;
	return 0;
}

void state_range_init(struct state *s)
{
	map_init(&s->ranges.by_cookie, sizeof(uint64_t), sizeof(struct range_sock *));
	list_init(&s->ranges.socks);
}

void state_range_fini(struct state *s)
{
	struct range_sock *k;

	while ((k = oldest(&s->ranges)))
		forget(&s->ranges, k);
	map_fini(&s->ranges.by_cookie);
}
