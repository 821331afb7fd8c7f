// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reference-counted chunks of frames, and queues of ranges in them. One thread, no atomics.
 *
 * Chunks of a stable log are separate mappings that are unmapped and never reused, since a pipe or socket may still
 * refer to their pages.
 */
#include "ipc/broadcast.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/macros.h"

#define SHARED_BYTES (64u << 10) /* chunk of a log */
#define OWN_BYTES (4u << 10)	 /* chunk of one subscriber's own frames */
#define MARK_BYTES 64		 /* a loss mark's share of the queue */
#define MARK_MOST 256		 /* its frame */
#define ALIGN_MOST 16

struct chunk {
	struct broadcast *broadcast;
	uint32_t refs, len, cap;
	bool stable; /* data is a separate mapping */
	char *data;
};

struct broadcast {
	const struct broadcast_ops *ops;
	struct broadcast_log *logs;
	uint64_t bytes;
};

struct broadcast_log {
	struct broadcast *broadcast;
	struct broadcast_log *prev, *next;
	struct broadcast_sub *subs;
	struct chunk *chunk;	/* holds a reference; NULL = nothing written yet */
	uint32_t begin;		/* of the frames not queued yet, in the chunk */
	uint32_t frames;	/* their number */
};

/* A range of whole frames, or (chunk NULL) a mark: frames are missing here. */
struct entry {
	struct chunk *chunk;
	uint32_t begin;		/* first frame not sent completely */
	uint32_t off, end;	/* bytes to send */
	uint32_t frames;	/* from begin on */
	bool uncounted;		/* reports a loss: was not offered */
	struct broadcast_lost lost;
};

struct broadcast_sub {
	struct broadcast *broadcast;
	struct broadcast_log *log;	   /* NULL = none */
	struct broadcast_sub *prev, *next; /* of that log */
	size_t queue_bytes, queue_frames;
	void *ctx;
	struct broadcast_stats stats;
	struct chunk *own;	/* of frames for it alone; holds a reference */
	struct entry *ring;	/* owned; cap is a power of two */
	size_t cap, head, len;
};

/* ---- chunks ---- */

static struct chunk *chunk_new(struct broadcast *f, size_t bytes, bool stable)
{
	_cleanup_free_ struct chunk *c = malloc(sizeof(*c));
	char *data = c && !stable ? malloc(bytes) : NULL;

	if (c && stable) {
		data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		data = data == MAP_FAILED ? NULL : data;
	}
	if (!data)
		return NULL;
	*c = (struct chunk){ .broadcast = f, .refs = 1, .cap = (uint32_t)bytes, .stable = stable, .data = data };
	f->bytes += bytes;
	return TAKE_PTR(c);
}

static void chunk_put(struct chunk *c)
{
	if (!c || --c->refs)
		return;
	c->broadcast->bytes -= c->cap;
	if (c->stable)
		munmap(c->data, c->cap);
	else
		free(c->data);
	free(c);
}

static size_t padded(const struct broadcast *b, size_t len)
{
	return (len + b->ops->align - 1) & ~(b->ops->align - 1);
}

static bool has_space(const struct chunk *c, size_t len)
{
	return c && c->cap - c->len >= len;
}

static void put(char *p, const void *data, size_t len)
{
	if (len)
		memcpy(p, data, len);
}

/* Appends two parts and zeros up to @all bytes; @c has room. */
static void append(struct chunk *c, size_t all, const void *head, size_t head_len, const void *data, size_t len)
{
	char *p = c->data + c->len;

	put(p, head, head_len);
	put(p + head_len, data, len);
	memset(p + head_len + len, 0, all - head_len - len);
	c->len += (uint32_t)all;
}

struct broadcast *broadcast_new(const struct broadcast_ops *ops)
{
	struct broadcast *f = calloc(1, sizeof(*f));

	if (f)
		f->ops = ops;
	return f;
}

void broadcast_free(struct broadcast *f)
{
	free(f);
}

uint64_t broadcast_bytes(const struct broadcast *f)
{
	return f->bytes;
}

/* ---- the queue ---- */

static struct entry *entry_at(const struct broadcast_sub *s, size_t i)
{
	return &s->ring[(s->head + i) & (s->cap - 1)];
}

static int queue_grow(struct broadcast_sub *s)
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

static int queue_push(struct broadcast_sub *s, const struct entry *e)
{
	int r = queue_grow(s);

	if (r < 0)
		return r;
	s->ring[(s->head + s->len++) & (s->cap - 1)] = *e;
	return 0;
}

static void queue_pop(struct broadcast_sub *s)
{
	chunk_put(entry_at(s, 0)->chunk);
	s->head = (s->head + 1) & (s->cap - 1);
	s->len--;
}

/* Appends the bytes [@begin, @end) of @c: @frames frames. */
static int enqueue(struct broadcast_sub *s, struct chunk *c, uint32_t begin, uint32_t end, uint32_t frames,
		   bool uncounted)
{
	struct entry *last = s->len ? entry_at(s, s->len - 1) : NULL;
	const struct entry e = { .chunk = c, .begin = begin, .off = begin, .end = end, .frames = frames,
				 .uncounted = uncounted };
	int r;

	if (last && last->chunk == c && last->end == begin && last->uncounted == uncounted) {
		last->end = end;
		last->frames += frames;
	} else {
		r = queue_push(s, &e);
		if (r < 0)
			return r;
		c->refs++;
	}
	s->stats.queued_bytes += end - begin;
	s->stats.queued += uncounted ? 0 : frames;
	return 0;
}

/* ---- loss ---- */

/* The mark for @key behind the last frame of the queue, or NULL. */
static struct entry *open_mark(const struct broadcast_sub *s, uint16_t key)
{
	for (size_t i = s->len; i-- > 0 && !entry_at(s, i)->chunk;)
		if (entry_at(s, i)->lost.key == key)
			return entry_at(s, i);
	return NULL;
}

static void mark(struct broadcast_sub *s, uint16_t key, uint64_t ts_ns, uint64_t count)
{
	struct entry *old = open_mark(s, key);
	const struct entry fresh = { .lost = { .count = count, .ts_ns = ts_ns, .key = key } };

	if (old)
		old->lost.count += count;
	else if (queue_push(s, &fresh) == 0) /* without memory only the counters have the loss */
		s->stats.queued_bytes += MARK_BYTES;
}

static void lose(struct broadcast_sub *s, const struct broadcast_frame *f)
{
	s->stats.lost++;
	if (!f->counts)
		return;
	if (s->broadcast->ops->losing)
		s->broadcast->ops->losing(s->ctx, f->key);
	mark(s, f->key, f->ts_ns, 1);
}

/* ---- logs ---- */

struct broadcast_log *broadcast_log_new(struct broadcast *f)
{
	struct broadcast_log *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->broadcast = f;
	l->next = f->logs;
	if (l->next)
		l->next->prev = l;
	f->logs = l;
	return l;
}

void broadcast_log_free(struct broadcast_log *l)
{
	if (!l)
		return;
	if (l->prev)
		l->prev->next = l->next;
	else
		l->broadcast->logs = l->next;
	if (l->next)
		l->next->prev = l->prev;
	chunk_put(l->chunk);
	free(l);
}

static bool fits(const struct broadcast_sub *s, size_t bytes, uint32_t frames, enum broadcast_weight weight)
{
	size_t most = s->queue_bytes, most_frames = s->queue_frames;

	if (weight == BROADCAST_ALWAYS)
		return true;
	if (weight == BROADCAST_DATA) {
		most -= most / 8;
		most_frames -= most_frames / 8;
	}
	return s->stats.queued_bytes + bytes <= most && (!most_frames || s->stats.queued + frames <= most_frames);
}

/* Not all of it fits: frame by frame. */
static void offer_each(struct broadcast_sub *s, struct chunk *c, uint32_t begin, uint32_t end)
{
	while (begin < end) {
		struct broadcast_frame f;

		s->broadcast->ops->look(c->data + begin, &f);
		if (!fits(s, f.len, 1, f.weight) || enqueue(s, c, begin, begin + f.len, 1, false) < 0)
			lose(s, &f);
		begin += f.len;
	}
}

void broadcast_log_sync(struct broadcast_log *l)
{
	struct chunk *c = l->chunk;

	if (!l->frames)
		return;
	for (struct broadcast_sub *s = l->subs; s; s = s->next) {
		s->stats.offered += l->frames;
		if (!fits(s, c->len - l->begin, l->frames, BROADCAST_DATA) ||
		    enqueue(s, c, l->begin, c->len, l->frames, false) < 0)
			offer_each(s, c, l->begin, c->len);
	}
	l->begin = c->len;
	l->frames = 0;
}

void broadcast_sync(struct broadcast *f)
{
	for (struct broadcast_log *l = f->logs; l; l = l->next)
		broadcast_log_sync(l);
}

/* No memory for the frame: all subscribers lose it. */
static int lose_unwritten(struct broadcast_log *l, const void *head, size_t head_len, const void *data, size_t len)
{
	_Alignas(ALIGN_MOST) char start[MARK_MOST] = { 0 }; /* enough for look() */
	size_t n = MIN(head_len, sizeof(start));
	struct broadcast_frame f;

	put(start, head, n);
	put(start + n, data, MIN(len, sizeof(start) - n));
	l->broadcast->ops->look(start, &f);
	for (struct broadcast_sub *s = l->subs; s; s = s->next) {
		s->stats.offered++;
		lose(s, &f);
	}
	return -ENOMEM;
}

int broadcast_log_write(struct broadcast_log *l, const void *head, size_t head_len, const void *data, size_t len)
{
	size_t all = padded(l->broadcast, head_len + len);

	if (!has_space(l->chunk, all)) {
		struct chunk *fresh;

		broadcast_log_sync(l);
		fresh = chunk_new(l->broadcast, ROUND_UP(all, (size_t)SHARED_BYTES), l->broadcast->ops->stable);
		if (!fresh)
			return lose_unwritten(l, head, head_len, data, len);
		chunk_put(l->chunk);
		l->chunk = fresh;
		l->begin = 0;
	}
	append(l->chunk, all, head, head_len, data, len);
	l->frames++;
	return 0;
}

/* ---- subscribers ---- */

struct broadcast_sub *broadcast_subscribe(struct broadcast *f, size_t bytes, size_t frames, void *ctx)
{
	struct broadcast_sub *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct broadcast_sub){ .broadcast = f, .queue_bytes = bytes, .queue_frames = frames, .ctx = ctx };
	return s;
}

void broadcast_set_bounds(struct broadcast_sub *s, size_t bytes, size_t frames)
{
	s->queue_bytes = bytes;
	s->queue_frames = frames;
}

void broadcast_join(struct broadcast_sub *s, struct broadcast_log *l)
{
	broadcast_leave(s);
	broadcast_log_sync(l);
	s->log = l;
	s->prev = NULL;
	s->next = l->subs;
	if (s->next)
		s->next->prev = s;
	l->subs = s;
}

void broadcast_leave(struct broadcast_sub *s)
{
	if (!s->log)
		return;
	broadcast_log_sync(s->log);
	if (s->prev)
		s->prev->next = s->next;
	else
		s->log->subs = s->next;
	if (s->next)
		s->next->prev = s->prev;
	s->log = NULL;
}

void broadcast_unsubscribe(struct broadcast_sub *s)
{
	if (!s)
		return;
	broadcast_leave(s);
	while (s->len)
		queue_pop(s);
	chunk_put(s->own);
	free(s->ring);
	free(s);
}

static int own_room(struct broadcast_sub *s, size_t all)
{
	struct chunk *fresh;

	if (has_space(s->own, all))
		return 0;
	fresh = chunk_new(s->broadcast, MAX(all, (size_t)OWN_BYTES), false);
	if (!fresh)
		return -ENOMEM;
	chunk_put(s->own);
	s->own = fresh;
	return 0;
}

int broadcast_send(struct broadcast_sub *s, const void *head, size_t head_len, const void *data, size_t len)
{
	size_t all = padded(s->broadcast, head_len + len);
	uint32_t frames = 0;

	if (s->log)
		broadcast_log_sync(s->log);
	if (all > UINT32_MAX / 2 || own_room(s, all) < 0)
		return -ENOMEM;
	append(s->own, all, head, head_len, data, len);
	for (uint32_t at = s->own->len - (uint32_t)all; at < s->own->len; frames++) {
		struct broadcast_frame f;

		s->broadcast->ops->look(s->own->data + at, &f);
		at += f.len;
	}
	s->stats.offered += frames;
	if (enqueue(s, s->own, s->own->len - (uint32_t)all, s->own->len, frames, false) == 0)
		return 0;
	s->stats.lost += frames;
	return -ENOMEM;
}

/* ---- out ---- */

/* Replaces a mark by its frame. False without memory: the next peek tries again. */
static bool write_mark(struct broadcast_sub *s, struct entry *e)
{
	_Alignas(ALIGN_MOST) char frame[MARK_MOST];
	size_t len = s->broadcast->ops->lost(&e->lost, frame, sizeof(frame));

	if (!len || own_room(s, len) < 0)
		return false;
	append(s->own, len, frame, len, NULL, 0);
	s->own->refs++;
	*e = (struct entry){ .chunk = s->own, .begin = s->own->len - (uint32_t)len, .uncounted = true,
			     .off = s->own->len - (uint32_t)len, .end = s->own->len, .frames = 1 };
	s->stats.queued_bytes += len;
	s->stats.queued_bytes -= MARK_BYTES;
	return true;
}

int broadcast_peek(struct broadcast_sub *s, struct iovec *ret, int cap, bool *ret_stable)
{
	int n = 0;

	for (size_t i = 0; i < s->len && n < cap; i++) {
		struct entry *e = entry_at(s, i);

		if (!e->chunk && !write_mark(s, e))
			break;
		if (n && e->chunk->stable != *ret_stable)
			break;
		*ret_stable = e->chunk->stable;
		ret[n++] = (struct iovec){ .iov_base = e->chunk->data + e->off, .iov_len = e->end - e->off };
	}
	return n;
}

static void count_sent(struct broadcast_sub *s, struct entry *e, uint32_t frames)
{
	e->frames -= frames;
	if (e->uncounted)
		return;
	s->stats.sent += frames;
	s->stats.queued -= frames;
}

static uint32_t frame_len(const struct broadcast_sub *s, const struct entry *e, uint32_t at)
{
	struct broadcast_frame f;

	s->broadcast->ops->look(e->chunk->data + at, &f);
	return f.len;
}

/* Counts completely sent frames, up to a partly sent frame. */
static void count_whole(struct broadcast_sub *s, struct entry *e)
{
	uint32_t len;

	while (e->begin < e->off && (len = frame_len(s, e, e->begin)) <= e->off - e->begin) {
		e->begin += len;
		count_sent(s, e, 1);
	}
}

void broadcast_consume(struct broadcast_sub *s, size_t bytes)
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

/* Drops all entries but the first @keep; returns the number of their frames. */
static uint64_t drop_tail(struct broadcast_sub *s, size_t keep)
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

void broadcast_give_up(struct broadcast_sub *s, uint64_t ts_ns)
{
	struct entry *head;
	uint64_t dropped;
	bool half;

	broadcast_leave(s);
	head = s->len ? entry_at(s, 0) : NULL;
	half = head && head->chunk && head->off > head->begin;
	dropped = drop_tail(s, half);
	if (half) {
		uint32_t end = head->begin + frame_len(s, head, head->begin);

		s->stats.queued_bytes -= head->end - end;
		dropped += head->uncounted ? 0 : head->frames - 1;
		head->end = end;
		head->frames = 1;
	}
	s->stats.queued -= dropped;
	s->stats.lost += dropped;
	if (dropped)
		mark(s, 0, ts_ns, dropped);
}

bool broadcast_empty(const struct broadcast_sub *s)
{
	return !s->len;
}

void broadcast_stats(const struct broadcast_sub *s, struct broadcast_stats *ret)
{
	*ret = s->stats;
}
