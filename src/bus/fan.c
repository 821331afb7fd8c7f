// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Chunks of frames, counted by who refers to them, and queues of ranges in chunks. One thread: no atomics.
 */
#include "bus/fan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

#define SHARED_BYTES (64u << 10)	/* of a chunk that many refer to */
#define OWN_BYTES (4u << 10)		/* of one subscriber's copies */
#define MARK_BYTES 64			/* what a mark of loss counts in the budget */
#define MARK_MOST 256			/* of its frame */

struct fan_chunk {
	struct fan *fan;
	uint32_t refs, len, cap;
	_Alignas(FAN_ALIGN) char data[];
};

struct fan {
	struct fan_chunk *logs[FAN_LOGS];	/* each holds a reference; NULL = nothing written yet */
	uint64_t bytes;
};

/* A range of whole frames, or (chunk NULL) a place where frames are missing. */
struct entry {
	struct fan_chunk *chunk;
	uint32_t begin;		/* of the first frame that is not sent whole */
	uint32_t off, end;	/* what is left of the range */
	uint32_t frames;	/* from begin on */
	bool uncounted;		/* tells of a loss: no frame that was offered */
	struct fan_lost lost;
};

struct fan_sub {
	struct fan *fan;
	struct fan_sub_opts o;
	struct fan_stats stats;
	struct fan_chunk *own;	/* copies go here; holds a reference */
	struct entry *ring;	/* owned; cap is a power of two */
	size_t cap, head, len;
};

/* ---- chunks ---- */

static struct fan_chunk *chunk_new(struct fan *f, size_t bytes)
{
	struct fan_chunk *c = malloc(sizeof(*c) + bytes);

	if (!c)
		return NULL;
	*c = (struct fan_chunk){ .fan = f, .refs = 1, .cap = (uint32_t)bytes };
	f->bytes += bytes;
	return c;
}

static void chunk_put(struct fan_chunk *c)
{
	if (!c || --c->refs)
		return;
	c->fan->bytes -= c->cap;
	free(c);
}

/* Room for @len bytes at the end of *@at, which becomes a fresh chunk when it is full. */
static char *chunk_room(struct fan *f, struct fan_chunk **at, size_t len, size_t usual)
{
	if (!*at || (*at)->cap - (*at)->len < len) {
		struct fan_chunk *fresh = chunk_new(f, MAX(len, usual));

		if (!fresh)
			return NULL;
		chunk_put(*at);
		*at = fresh;
	}
	(*at)->len += (uint32_t)len;
	return (*at)->data + (*at)->len - len;
}

struct fan *fan_new(void)
{
	return calloc(1, sizeof(struct fan));
}

void fan_free(struct fan *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < FAN_LOGS; i++)
		chunk_put(f->logs[i]);
	free(f);
}

uint64_t fan_bytes(const struct fan *f)
{
	return f->bytes;
}

static void put(char *p, const void *data, size_t len)
{
	if (len)
		memcpy(p, data, len);
}

int fan_write(struct fan *f, unsigned log, const void *head, size_t head_len, const void *data, size_t len,
	      struct fan_span *ret)
{
	size_t all = ROUND_UP(head_len + len, (size_t)FAN_ALIGN);
	char *p = log < FAN_LOGS && all <= UINT32_MAX / 2 ? chunk_room(f, &f->logs[log], all, SHARED_BYTES) : NULL;

	if (!p)
		return -ENOMEM;
	put(p, head, head_len);
	put(p + head_len, data, len);
	memset(p + head_len + len, 0, all - head_len - len);
	*ret = (struct fan_span){ .chunk = f->logs[log], .off = (uint32_t)(p - f->logs[log]->data),
				  .len = (uint32_t)all };
	return 0;
}

/* ---- the queue ---- */

static struct entry *entry_at(const struct fan_sub *s, size_t i)
{
	return &s->ring[(s->head + i) & (s->cap - 1)];
}

static int queue_grow(struct fan_sub *s)
{
	size_t cap = s->cap ? s->cap * 2 : 16;
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

static int queue_push(struct fan_sub *s, const struct entry *e)
{
	int r = queue_grow(s);

	if (r < 0)
		return r;
	s->ring[(s->head + s->len++) & (s->cap - 1)] = *e;
	return 0;
}

static void queue_pop(struct fan_sub *s)
{
	chunk_put(entry_at(s, 0)->chunk);
	s->head = (s->head + 1) & (s->cap - 1);
	s->len--;
}

struct fan_sub *fan_subscribe(struct fan *f, const struct fan_sub_opts *o)
{
	struct fan_sub *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->fan = f;
	s->o = *o;
	return s;
}

void fan_unsubscribe(struct fan_sub *s)
{
	if (!s)
		return;
	while (s->len)
		queue_pop(s);
	chunk_put(s->own);
	free(s->ring);
	free(s);
}

/* ---- in ---- */

static bool has_room(const struct fan_sub *s, uint32_t len, enum fan_weight weight)
{
	size_t bytes = s->o.queue_bytes, frames = s->o.queue_frames;

	if (weight == FAN_ALWAYS)
		return true;
	if (weight == FAN_DATA) {
		bytes -= bytes / 8;
		frames -= frames / 8;
	}
	return s->stats.queued_bytes + len <= bytes && (!s->o.queue_frames || s->stats.queued < frames);
}

/* The mark at the end of the queue that counts for @key: only marks may stand behind it. */
static struct entry *open_mark(const struct fan_sub *s, uint16_t key)
{
	for (size_t i = s->len; i-- > 0 && !entry_at(s, i)->chunk;)
		if (entry_at(s, i)->lost.key == key)
			return entry_at(s, i);
	return NULL;
}

static void lose(struct fan_sub *s, uint16_t key, uint64_t ts_ns, uint64_t count)
{
	struct entry *mark = open_mark(s, key);
	const struct entry fresh = { .lost = { .count = count, .ts_ns = ts_ns, .key = key } };

	s->stats.lost += count;
	if (mark)
		mark->lost.count += count;
	else if (queue_push(s, &fresh) == 0)	/* without memory the loss shows in the counters alone */
		s->stats.queued_bytes += MARK_BYTES;
}

/* Copies a frame to where nobody else's frames are kept alive by it. */
static int copy_own(struct fan_sub *s, struct fan_span *span)
{
	char *p = chunk_room(s->fan, &s->own, span->len, OWN_BYTES);

	if (!p)
		return -ENOMEM;
	memcpy(p, span->chunk->data + span->off, span->len);
	*span = (struct fan_span){ .chunk = s->own, .off = (uint32_t)(p - s->own->data), .len = span->len };
	return 0;
}

static int enqueue(struct fan_sub *s, const struct fan_span *span, bool uncounted)
{
	struct entry *last = s->len ? entry_at(s, s->len - 1) : NULL;
	struct entry e = { .chunk = span->chunk, .begin = span->off, .off = span->off, .end = span->off + span->len,
			   .frames = 1, .uncounted = uncounted };
	int r;

	if (last && last->chunk == span->chunk && last->end == span->off && last->uncounted == uncounted) {
		last->end += span->len;
		last->frames++;
	} else {
		r = queue_push(s, &e);
		if (r < 0)
			return r;
		span->chunk->refs++;
	}
	s->stats.queued_bytes += span->len;
	s->stats.queued += !uncounted;
	return 0;
}

bool fan_offer(struct fan_sub *s, const struct fan_span *span, uint16_t key, uint64_t ts_ns, enum fan_weight weight)
{
	struct fan_span mine = *span;

	s->stats.offered++;
	if (has_room(s, span->len, weight) && (!s->o.sparse || copy_own(s, &mine) == 0) &&
	    enqueue(s, &mine, false) == 0)
		return true;
	lose(s, key, ts_ns, 1);
	return false;
}

/* ---- out ---- */

/* Turns the mark at @i into the frame that tells of it. */
static bool write_mark(struct fan_sub *s, struct entry *e)
{
	_Alignas(FAN_ALIGN) char frame[MARK_MOST];
	size_t len = s->o.lost(s->o.ctx, &e->lost, frame, sizeof(frame));
	char *p = chunk_room(s->fan, &s->own, len, OWN_BYTES);

	if (!p)
		return false;
	memcpy(p, frame, len);
	s->own->refs++;
	*e = (struct entry){ .chunk = s->own, .begin = (uint32_t)(p - s->own->data), .uncounted = true,
			     .off = (uint32_t)(p - s->own->data), .frames = 1 };
	e->end = e->off + (uint32_t)len;
	s->stats.queued_bytes += len;
	s->stats.queued_bytes -= MARK_BYTES;
	return true;
}

int fan_peek(struct fan_sub *s, struct iovec *ret, int cap)
{
	int n = 0;

	for (size_t i = 0; i < s->len && n < cap; i++) {
		struct entry *e = entry_at(s, i);

		if (!e->chunk && !write_mark(s, e))
			break;
		ret[n++] = (struct iovec){ .iov_base = e->chunk->data + e->off, .iov_len = e->end - e->off };
	}
	return n;
}

static void count_sent(struct fan_sub *s, struct entry *e, uint32_t frames)
{
	e->frames -= frames;
	if (e->uncounted)
		return;
	s->stats.sent += frames;
	s->stats.queued -= frames;
}

/* Moves the beginning to the frame that is sent in part. */
static void count_whole(struct fan_sub *s, struct entry *e)
{
	size_t len;

	while (e->begin < e->off && (len = s->o.frame_len(e->chunk->data + e->begin)) <= e->off - e->begin) {
		e->begin += (uint32_t)len;
		count_sent(s, e, 1);
	}
}

void fan_consume(struct fan_sub *s, size_t bytes)
{
	s->stats.sent_bytes += bytes;
	s->stats.queued_bytes -= bytes;
	while (bytes && s->len) {
		struct entry *e = entry_at(s, 0);
		size_t n = MIN(bytes, (size_t)(e->end - e->off));

		e->off += (uint32_t)n;
		bytes -= n;
		if (e->off < e->end) {
			count_whole(s, e);
			break;
		}
		count_sent(s, e, e->frames);
		queue_pop(s);
	}
}

/* Everything from the end down to @keep entries goes; returns the frames that were in it. */
static uint64_t drop_tail(struct fan_sub *s, size_t keep)
{
	uint64_t frames = 0;

	while (s->len > keep) {
		struct entry *e = entry_at(s, s->len - 1);

		frames += e->chunk && !e->uncounted ? e->frames : 0;
		s->stats.queued_bytes -= e->chunk ? e->end - e->off : MARK_BYTES;
		chunk_put(e->chunk);
		s->len--;
	}
	return frames;
}

void fan_give_up(struct fan_sub *s, uint64_t ts_ns)
{
	struct entry *head = s->len ? entry_at(s, 0) : NULL;
	bool half = head && head->chunk && head->off > head->begin;
	uint64_t dropped = drop_tail(s, half);

	if (half) {
		uint32_t end = head->begin + (uint32_t)s->o.frame_len(head->chunk->data + head->begin);

		s->stats.queued_bytes -= head->end - end;
		dropped += head->uncounted ? 0 : head->frames - 1;
		head->end = end;
		head->frames = 1;
	}
	s->stats.queued -= dropped;
	if (dropped)
		lose(s, 0, ts_ns, dropped);
}

bool fan_empty(const struct fan_sub *s)
{
	return !s->len;
}

void fan_stats(const struct fan_sub *s, struct fan_stats *ret)
{
	*ret = s->stats;
}
