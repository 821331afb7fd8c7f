// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * Messages of HTTP/1 (RFC 9112) in the bytes of an operation, on connections whose requests follow each other: heads
 * are kept, content is passed over. A line may begin in one buffer or operation and end in another. Whether a
 * response has content depends on its request, which is not known here: it has none where the next one follows its
 * head. A mistake costs records, not truth: the parsers know the length of each hole.
 */
#include "bpf/kernel.h"
#include "probes/call/bpf/call_state.bpf.h"
#include "probes/call/bpf/call_unit.bpf.h"
#include "probes/call/bpf/call_walk.bpf.h"
#include "probes/call/call_wire.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define SCANNED 256		/* bytes of a head at once */
#define CONTENT_SHORT 256	/* content that costs less than another record */
#define STEPS_MAX 4096		/* parts of messages and buffers of an operation */

enum head_field { FIELD_NONE, FIELD_OTHER, FIELD_LENGTH, FIELD_ENCODING };

/* Hash of a word, letters in either case. */
#define HASH_STEP(hash, b) ((hash) * 31 + ((b) | 0x20))
#define HASH_LENGTH 0xbc7b26ba	/* content-length */
#define HASH_ENCODING 0x4bf6b0f5 /* transfer-encoding */
#define HASH_CHUNKED 0x2d2547cc

/* The line's end. True if something else than a line follows. */
static __always_inline bool line_end(struct call_head *h)
{
	bool filled = h->filled;

	if (h->field == FIELD_ENCODING)
		h->chunked = h->word == HASH_CHUNKED;
	h->filled = h->field = h->word = 0;
	if (h->phase == PHASE_CHUNK) {
		if (filled)	/* else behind the chunk before it */
			h->phase = h->left ? PHASE_CONTENT : PHASE_TRAILER;
		return h->phase == PHASE_CONTENT;
	}
	if (filled)
		return false;
	if (h->phase == PHASE_TRAILER || (!h->chunked && !h->left))
		call_head_begin(h);
	else
		h->phase = h->answers ? PHASE_CONTENT_MAYBE : h->chunked ? PHASE_CHUNK : PHASE_CONTENT;
	if (h->phase == PHASE_CHUNK)
		h->left = 0;
	return true;
}

static __always_inline void chunk_digit(struct call_head *h, __u8 b)
{
	if (b == ';')
		h->field = FIELD_OTHER;
	else if (h->field == FIELD_NONE && b > ' ')
		h->left = h->left << 4 | ((b & 0xf) + (b > '9' ? 9 : 0));
}

struct heads_scan {
	const __u8 *bytes;	/* of the room */
	struct call_head *h;
	__u32 from, done;
};

static long heads_byte(__u32 i, struct heads_scan *s)
{
	__u8 b = s->bytes[(s->from + i) & (2 * CALL_HEAD_MAX - 1)];
	struct call_head *h = s->h;

	s->done = i + 1;
	if (b == '\n')
		return line_end(h);
	if (b == '\r')
		return 0;
	h->filled = 1;
	if (h->phase == PHASE_CHUNK) {
		chunk_digit(h, b);
	} else if (b == ':' && h->field == FIELD_NONE) {
		h->field = h->word == HASH_LENGTH     ? FIELD_LENGTH
			   : h->word == HASH_ENCODING ? FIELD_ENCODING
						      : FIELD_OTHER;
		h->word = 0;
		if (h->field == FIELD_LENGTH)
			h->left = 0;
	} else if (b == ' ' || b == ',') {
		h->word = 0;
	} else {
		h->word = HASH_STEP(h->word, b);
		if (h->field == FIELD_LENGTH)
			h->left = h->left * 10 + (b & 0xf);
	}
	return 0;
}

/* Lines, up to the next content or head. Returns how many bytes they are, 0 if they cannot be read. */
static __noinline int heads_scan(struct call_room *room, struct call_head *h, __u32 n)
{
	struct heads_scan s = { .bytes = room->bytes, .h = h };
	struct call_walk *w = &room->walk;
	__u32 kept;

	if (w->at != w->from + w->kept || w->kept > CALL_HEAD_MAX - SCANNED)
		call_walk_record(room);
	kept = w->kept;
	if (n > SCANNED)
		n = SCANNED;
	barrier_var(n);		/* the verifier (6.1) must see the bound beside its use */
	if (kept > CALL_HEAD_MAX - SCANNED || n > SCANNED ||
	    bpf_probe_read_user(room->bytes + kept, n, (void *)w->addr))
		return 0;
	s.from = kept;
	bpf_loop(n, heads_byte, &s, 0);
	w->kept = kept + s.done;
	return s.done;
}

#define HEAD_BYTES 6	/* that tell a response from content */

/* Are these @n bytes the first ones of a response? */
static __always_inline bool is_answer(const __u8 *b, __u32 n)
{
	return b[0] == 'H' && (n < 2 || b[1] == 'T') && (n < 3 || b[2] == 'T') && (n < 4 || b[3] == 'P') &&
	       (n < 5 || b[4] == '/') && (n < HEAD_BYTES || b[5] == '1');
}

static __always_inline bool is_head(const __u8 *b, bool answers)
{
	if (answers)
		return is_answer(b, HEAD_BYTES);
	return b[0] >= 'A' && b[0] <= 'Z' && b[1] >= 'A' && b[1] <= 'Z' && b[2] >= 'A' && b[2] <= 'Z';
}

/* Behind the head of a response: content or the next head? */
static __always_inline void content_begin(const struct call_walk *w, struct call_head *h)
{
	__u32 n = call_walk_bytes(w);
	__u8 b[HEAD_BYTES] = { 0 };

	if (n > HEAD_BYTES)
		n = HEAD_BYTES;
	barrier_var(n);
	if (n <= HEAD_BYTES && !bpf_probe_read_user(b, n, (void *)w->addr) && is_answer(b, n)) {
		call_head_begin(h);
		return;
	}
	h->phase = h->chunked ? PHASE_CHUNK : PHASE_CONTENT;
	h->left = h->chunked ? 0 : h->left;
}

struct heads_step {
	struct call_room *room;
	struct call_head *h;
};

/* A part of a message, or a buffer. */
static long heads_step(__u32 i, struct heads_step *s)
{
	struct call_walk *w = &s->room->walk;
	struct call_head *h = s->h;
	__u32 n = call_walk_bytes(w);

	if (!n)
		return !call_walk_next(w);
	if (h->phase == PHASE_CONTENT_MAYBE)
		content_begin(w, h);
	if (h->phase == PHASE_CONTENT) {
		if (n > h->left)
			n = h->left;
		if (h->left <= CONTENT_SHORT)
			n = call_walk_keep(s->room, n);
		call_head_pass(h, n);
	} else {
		n = heads_scan(s->room, h, n);
	}
	return !call_walk_pass(w, n);
}

/* Where the place in the messages is unknown: does the operation begin with one? */
static __always_inline bool heads_resume(const struct call_walk *w, struct call_head *h)
{
	__u8 b[HEAD_BYTES];

	if (call_walk_bytes(w) < sizeof(b) || bpf_probe_read_user(b, sizeof(b), (void *)w->addr))
		return false;
	h->answers = is_head(b, true);
	if (!is_head(b, h->answers))
		return false;
	h->filled = h->field = h->word = 0;
	call_head_begin(h);
	return true;
}

int call_heads_send(struct call_room *room, struct call_heads *heads, const struct call_user_bytes *b, bool turn)
{
	struct heads_step step = { .room = room };
	struct call_walk *w;
	struct call_head *h;

	if (!room || !heads || !b || !call_can_walk())
		return 0;
	w = &room->walk;
	h = step.h = &heads->dir[w->dir & 1];
	call_walk_begin(w, b);
	if (h->phase == PHASE_UNKNOWN && !(turn && b->base && heads_resume(w, h)))
		return 0;
	if (b->base)
		bpf_loop(STEPS_MAX, heads_step, &step, 0);
	if (b->base ? w->at < w->size : !call_head_pass(h, w->size))
		h->phase = PHASE_UNKNOWN;
	w->at = w->size;
	call_walk_record(room);
	return 1;
}

bool call_heads_may_follow(struct call_room *room, __u32 kept, __u32 size)
{
	struct call_head h = { .phase = PHASE_HEAD };
	struct heads_scan s;

	if (!room || room->bytes[0] != 'P')	/* POST, PUT, PATCH */
		return false;
	s = (struct heads_scan){ .bytes = room->bytes, .h = &h };
	bpf_loop(kept < CALL_HEAD_MAX ? kept : CALL_HEAD_MAX, heads_byte, &s, 0);
	if (h.phase != PHASE_CONTENT)
		return h.phase == PHASE_CHUNK;
	return s.done + h.left < size || s.done + h.left > CALL_HEAD_BYTES;
}
