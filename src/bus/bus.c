// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fan-out. One frame per event is shared by all queues; a queue holds references and marks of loss, in order.
 */
#include "bus/bus.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "event/codec.h"
#include "event/core.h"
#include "event/filter.h"

/* An encoded event. One thread: the count needs no atomics. */
struct frame {
	uint32_t refs;
	uint32_t len;
	const struct names *names;	/* of the event; outlives the bus's queues */
	_Alignas(8) char data[];
};

/* Either a frame, or a place where events are missing. */
struct entry {
	struct frame *frame;	/* NULL: a mark of loss */
	uint64_t lost;		/* events missing here */
	uint64_t ts_ns, seq;	/* of the first of them */
	int64_t clock_offset_ns;
	const struct names *names;
};

struct sub {
	struct bus *bus;
	struct sub *next;
	struct sub_opts o;
	struct sub_stats stats;
	struct entry *ring;	/* owned; cap is a power of two */
	size_t cap, head, len;
	struct frame *peeked;	/* the mark at the head, encoded for sub_peek(); owned */
	unsigned busy;		/* calls of the subscriber that have not returned */
	bool cut;		/* failed: gets nothing more */
	bool gone;		/* unsubscribed while busy: freed when that ends */
};

struct bus {
	const struct registry *reg;
	struct sub *subs;
	uint64_t seq;
	unsigned publishing;	/* depth */
	unsigned gone;		/* subscribers that wait to be freed */
};

static void frame_put(struct frame *f)
{
	if (f && !--f->refs)
		free(f);
}

static struct frame *frame_new(const struct event *ev)
{
	size_t len = event_frame_size(ev);
	struct frame *f;

	if (len > FRAME_MAX_BYTES)
		return NULL;
	f = malloc(sizeof(*f) + len);
	if (!f)
		return NULL;
	*f = (struct frame){ .refs = 1, .len = (uint32_t)len, .names = ev->names };
	event_encode(ev, f->data, len);
	return f;
}

/* ---- the queue ---- */

static struct entry *entry_at(const struct sub *s, size_t i)
{
	return &s->ring[(s->head + i) & (s->cap - 1)];
}

static int queue_grow(struct sub *s)
{
	size_t cap = s->cap ? s->cap * 2 : 64;
	struct entry *ring;

	if (s->len < s->cap)
		return 0;
	ring = malloc(cap * sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	for (size_t i = 0; i < s->len; i++)
		ring[i] = *entry_at(s, i);
	free(s->ring);
	s->ring = ring;
	s->cap = cap;
	s->head = 0;
	return 0;
}

static int queue_push(struct sub *s, struct entry e)
{
	if (queue_grow(s) < 0)
		return -ENOMEM;
	s->ring[(s->head + s->len++) & (s->cap - 1)] = e;
	return 0;
}

static void queue_pop(struct sub *s)
{
	struct entry *e = entry_at(s, 0);

	if (e->frame) {
		s->stats.queued--;
		s->stats.queued_bytes -= e->frame->len;
		frame_put(e->frame);
	}
	frame_put(s->peeked);
	s->peeked = NULL;
	s->head = (s->head + 1) & (s->cap - 1);
	s->len--;
}

/* Counts what is left as lost and gives the memory back. */
static void queue_drop_all(struct sub *s)
{
	while (s->len) {
		if (entry_at(s, 0)->frame)
			s->stats.lost++;
		queue_pop(s);
	}
	free(s->ring);
	s->ring = NULL;
	s->cap = s->head = 0;
}

static bool queue_has_room(const struct sub *s, const struct frame *f)
{
	return f->len <= s->o.queue_bytes - MIN(s->stats.queued_bytes, s->o.queue_bytes) &&
	       (!s->o.queue_events || s->stats.queued < s->o.queue_events);
}

/*
 * One more event is missing at the end of the queue. A mark that is being handed out keeps its number. Without
 * memory for a mark the loss shows in the counters alone.
 */
static void queue_lose(struct sub *s, const struct event *ev)
{
	struct entry *last = s->len ? entry_at(s, s->len - 1) : NULL;

	s->stats.lost++;
	if (last && !last->frame && !(s->len == 1 && s->peeked))
		last->lost++;
	else
		queue_push(s, (struct entry){ .lost = 1, .ts_ns = ev->ts_ns, .seq = ev->seq, .names = ev->names,
					      .clock_offset_ns = ev->clock_offset_ns });
}

static void lost_event(const struct entry *e, struct core_lost *body, struct event *ret)
{
	*body = (struct core_lost){ .count = e->lost, .cause = SONDE_LOST_QUEUE };
	*ret = (struct event){ .desc = &core_lost_desc, .ts_ns = e->ts_ns, .seq = e->seq, .body = body,
			       .body_len = sizeof(*body), .names = e->names, .clock_offset_ns = e->clock_offset_ns };
}

/* ---- subscribers ---- */

struct bus *bus_new(const struct registry *reg)
{
	struct bus *b = calloc(1, sizeof(*b));

	if (b)
		b->reg = reg;
	return b;
}

static void sub_free(struct sub *s)
{
	queue_drop_all(s);
	free(s);
}

void bus_free(struct bus *b)
{
	if (!b)
		return;
	while (b->subs) {
		struct sub *s = b->subs;

		b->subs = s->next;
		sub_free(s);
	}
	free(b);
}

struct sub *bus_subscribe(struct bus *b, const struct sub_opts *o)
{
	struct sub *s = calloc(1, sizeof(*s)), **end = &b->subs;

	if (!s)
		return NULL;
	s->bus = b;
	s->o = *o;
	while (*end)
		end = &(*end)->next;
	*end = s;
	return s;
}

/* Frees those that left while they or the publisher were busy. */
static void sweep(struct bus *b)
{
	struct sub **link = &b->subs;

	if (b->publishing)
		return;
	while (b->gone && *link) {
		struct sub *s = *link;

		if (!s->gone || s->busy) {
			link = &s->next;
			continue;
		}
		*link = s->next;
		b->gone--;
		sub_free(s);
	}
}

void bus_unsubscribe(struct sub *s)
{
	if (!s || s->gone)
		return;
	s->gone = true;
	s->bus->gone++;
	sweep(s->bus);
}

static void sub_cut(struct sub *s, int reason)
{
	s->cut = true;
	queue_drop_all(s);
	if (s->o.closed && !s->gone) {
		s->busy++;
		s->o.closed(s->o.ctx, reason);
		s->busy--;
	}
}

/* Calls the subscriber; @counts: an event that was published, not a mark of loss. The sum closes meanwhile too. */
static bool sub_call(struct sub *s, const struct event *ev, bool counts)
{
	int r;

	s->stats.sent += counts;
	s->busy++;
	r = s->o.event(s->o.ctx, ev);
	s->busy--;
	if (r >= 0)
		return true;
	s->stats.sent -= counts;
	s->stats.lost += counts;
	sub_cut(s, r);
	return false;
}

/* ---- publishing ---- */

/* The event's frame, made when the first queue asks for it. */
static int offer_queued(struct sub *s, const struct event *ev, struct frame **frame, bool *tried)
{
	if (!*tried) {
		*frame = frame_new(ev);
		*tried = true;
	}
	if (!*frame || !queue_has_room(s, *frame) || queue_push(s, (struct entry){ .frame = *frame }) < 0) {
		queue_lose(s, ev);
		return *frame ? 0 : -ENOMEM;
	}
	(*frame)->refs++;
	s->stats.queued++;
	s->stats.queued_bytes += (*frame)->len;
	return 0;
}

int bus_publish(struct bus *b, struct event *ev)
{
	struct frame *frame = NULL;
	bool tried = false;
	int ret = 0;

	ev->seq = ++b->seq;
	b->publishing++;
	for (struct sub *s = b->subs; s; s = s->next) {
		if (s->gone)
			continue;
		s->stats.published++;
		if (!filter_match(s->o.filter, ev)) {
			s->stats.filtered++;
		} else if (s->cut) {
			s->stats.lost++;
		} else if (!s->o.queue_bytes) {
			sub_call(s, ev, true);
		} else {
			int r = offer_queued(s, ev, &frame, &tried);

			ret = r < 0 ? r : ret;
		}
	}
	frame_put(frame);
	b->publishing--;
	sweep(b);
	return ret;
}

/* ---- draining ---- */

/* Hands the head of the queue to the subscriber. True if it took it. */
static bool drain_one(struct sub *s)
{
	struct entry e = *entry_at(s, 0);
	struct core_lost body;
	struct event ev;
	bool taken;

	if (!e.frame) {
		lost_event(&e, &body, &ev);
		queue_pop(s);
		return sub_call(s, &ev, false);
	}
	/* Held here: the subscriber may be cut or publish, and both change the queue. */
	e.frame->refs++;
	queue_pop(s);
	if (event_decode(s->bus->reg, e.frame->data, e.frame->len, &ev) < 0) {
		s->stats.lost++; /* a type that the registry lacks: published by mistake */
		taken = false;
	} else {
		ev.names = e.frame->names;
		taken = sub_call(s, &ev, true);
	}
	frame_put(e.frame);
	return taken;
}

int sub_drain(struct sub *s, unsigned budget)
{
	struct bus *b = s->bus;
	unsigned n = 0;

	s->busy++;
	while (s->len && !s->gone && (!budget || n < budget))
		n += drain_one(s);
	s->busy--;
	sweep(b);
	return (int)n;
}

const void *sub_peek(struct sub *s, size_t *ret_len)
{
	struct frame *f;

	if (!s->len)
		return NULL;
	f = entry_at(s, 0)->frame;
	if (!f && !s->peeked) {
		struct core_lost body;
		struct event ev;

		lost_event(entry_at(s, 0), &body, &ev);
		s->peeked = frame_new(&ev);
	}
	f = f ? f : s->peeked;
	if (!f)
		return NULL;
	*ret_len = f->len;
	return f->data;
}

void sub_consume(struct sub *s)
{
	if (!s->len)
		return;
	if (entry_at(s, 0)->frame)
		s->stats.sent++;
	queue_pop(s);
}

void sub_stats(const struct sub *s, struct sub_stats *ret)
{
	*ret = s->stats;
}
