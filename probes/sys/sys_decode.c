// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records of the sys probe to events. Events borrow their body from the record: an event that no output reads costs
 * only a check of its lengths.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "base/map.h"
#include "event/decode.h"
#include "event/event.h"
#include "probes/sys/sys_event.h"

#define ROWS_PER_CPU (SONDE_INSTANCES * SONDE_CLASSES)

/* Last record of one CPU, instance and class. */
struct last { uint64_t ts_ns; uint32_t seq; bool there; };

/* A map, because a recording may contain any CPU number. */
struct sys_decode_state {
	struct map last;
	uint32_t row;		/* of the previous record, usually the same */
	struct last *at;	/* its value in @last; NULL = none */
};

static struct last *last_of(struct sys_decode_state *s, const struct sonde_rec *r)
{
	uint32_t row = (uint32_t)r->cpu * ROWS_PER_CPU + r->instance * SONDE_CLASSES + (r->flags & SONDE_RF_CLASS);

	if (r->instance >= SONDE_INSTANCES)
		return NULL;
	if (s->at && s->row == row)
		return s->at;
	if (!s->last.key_size)
		map_init(&s->last, sizeof(row), sizeof(*s->at));
	s->row = row;
	s->at = map_add(&s->last, &row, NULL);
	return s->at;
}

/* Sequence numbers of a row are contiguous; a gap becomes an event. */
static int report_gap(struct sys_decode_state *s, const struct sonde_rec *r, const struct emitter *em)
{
	struct last *last = last_of(s, r);
	struct sys_gap_body body = { 0 };
	struct event ev;

	if (!last)
		return 0;
	if (last->there && r->seq - last->seq > 1 && r->seq - last->seq < UINT32_MAX / 2) {
		body.missing = r->seq - last->seq - 1;
		body.since_ns = last->ts_ns;
	}
	*last = (struct last){ .ts_ns = r->ts_ns, .seq = r->seq, .there = true };
	if (!body.missing)
		return 0;
	event_decode_from_rec(&ev, &sys_gap_desc, r);
	ev.tgid = ev.tid = 0;
	ev.start_ns = 0;
	ev.body = &body;
	ev.body_len = sizeof(body);
	return em->emit(em->ctx, &ev);
}

/* Chunks must fill the record exactly, so that all later code may walk them without checks. */
static bool chunks_fit(struct cursor c, size_t len)
{
	struct sys_chunk chunk;

	if (cur_left(&c) < len)
		return false;
	c = cur_sub(&c, len);
	while (cur_left(&c) > 0) {
		if (!cur_copy(&c, &chunk, sizeof(chunk)))
			return false;
		cur_skip(&c, ROUND_UP((size_t)chunk.len, 8));
	}
	return cur_ok(&c);
}

/* Copies a record with fewer than six arguments into a full body. NULL if its lengths contradict each other. */
static const struct sys_body *body_whole(const struct cursor *c, const struct emitter *em)
{
	const size_t head = offsetof(struct sys_body, args);
	struct cursor rest = *c;
	struct sys_body *whole;
	struct sys_body b = { 0 };
	const void *chunks;
	size_t args_len;

	if (!cur_copy(&rest, &b, head) || cur_left(&rest) < b.chunks_len)
		return NULL;
	args_len = cur_left(&rest) - b.chunks_len;
	if (args_len % 8 || args_len > sizeof(b.args) || !cur_copy(&rest, b.args, args_len))
		return NULL;
	chunks = cur_bytes(&rest, b.chunks_len);
	whole = chunks ? arena_alloc(em->scratch, sizeof(b) + b.chunks_len) : NULL;
	if (!whole)
		return NULL;
	memcpy(whole, &b, sizeof(b));
	memcpy(whole + 1, chunks, b.chunks_len);
	return whole;
}

static bool is_short(struct cursor c)
{
	struct sys_body b;

	return cur_copy(&c, &b, offsetof(struct sys_body, args)) && b.flags & SYS_F_SHORT;
}

static int decode_call(struct cursor *c, struct event *ev, const struct emitter *em)
{
	const struct sys_body *b;

	if (is_short(*c)) {
		b = body_whole(c, em);
		if (!b)
			return -EBADMSG;
		*c = cur_init(b, sizeof(*b) + b->chunks_len);
	}

	ev->body = c->pos;
	b = cur_bytes(c, sizeof(*b));
	if (!b || b->abi >= SYS_ABI__MAX || b->n_args > 6 || !chunks_fit(*c, b->chunks_len))
		return -EBADMSG;
	ev->body_len = (uint32_t)(sizeof(*b) + b->chunks_len);
	return em->emit(em->ctx, ev);
}

/* Older recordings end with the histogram. */
static int decode_sum(struct cursor *c, struct event *ev, const struct emitter *em)
{
	struct sys_stats_body *b = arena_alloc(em->scratch, sizeof(*b));
	size_t len = MIN(cur_left(c), sizeof(*b));

	if (!b)
		return -ENOMEM;
	if (len < offsetof(struct sys_stats_body, timed) || !cur_copy(c, b, len) || b->abi >= SYS_ABI__MAX)
		return -EBADMSG;
	ev->body = b;
	return em->emit(em->ctx, ev);
}

/* Records of fixed size. */
static int decode_plain(struct cursor *c, struct event *ev, const struct emitter *em)
{
	ev->body = c->pos;
	ev->body_len = ev->desc->body_size;
	if (!cur_bytes(c, ev->body_len))
		return -EBADMSG;
	return em->emit(em->ctx, ev);
}

/* Older recordings end with the handler. */
static int decode_signal(struct cursor *c, struct event *ev, const struct emitter *em)
{
	const size_t before = offsetof(struct sys_signal_rec, addr) - sizeof(struct sonde_rec);
	size_t size = ev->desc->body_size;
	void *whole;

	if (cur_left(c) >= size)
		return decode_plain(c, ev, em);
	whole = arena_alloc(em->scratch, size);
	if (!whole)
		return -ENOMEM;
	memset(whole, 0, size);
	if (!cur_copy(c, whole, before))
		return -EBADMSG;
	ev->body = whole;
	ev->body_len = (uint32_t)size;
	return em->emit(em->ctx, ev);
}

static const struct {
	const struct event_desc *desc;
	int (*decode)(struct cursor *c, struct event *ev, const struct emitter *em);
} kinds[] = {
	[SYS_REC_EXIT & 0xff] = { &sys_exit_desc, decode_call },
	[SYS_REC_ENTER & 0xff] = { &sys_enter_desc, decode_call },
	[SYS_REC_SUM & 0xff] = { &sys_stats_desc, decode_sum },
	[SYS_REC_SWITCH & 0xff] = { &sys_switch_desc, decode_plain },
	[SYS_REC_SIGNAL & 0xff] = { &sys_signal_desc, decode_signal },
	[SYS_REC_FAULT & 0xff] = { &sys_fault_desc, decode_plain },
	[SYS_REC_URING & 0xff] = { &sys_uring_desc, decode_plain },
	[SYS_REC_PROCEXIT & 0xff] = { &sys_procexit_desc, decode_plain },
	[SYS_REC_LOST & 0xff] = { &sys_lost_desc, decode_plain },
	[SYS_REC_SAMPLING & 0xff] = { &sys_sampling_desc, decode_plain },
};

/* Records made in user space carry no sequence numbers. */
static bool has_numbers(uint16_t type)
{
	return type != SYS_REC_SUM && type != SYS_REC_LOST && type != SYS_REC_SAMPLING;
}

static int sys_decode(void *state, const struct sonde_rec *r, const struct emitter *em)
{
	struct cursor c = cur_init(r, r->len);
	size_t kind = r->type & 0xff;
	struct event ev;
	int e;

	if (r->type >> 8 != PROBE_ID || kind >= ARRAY_SIZE(kinds) || !kinds[kind].decode)
		return -ENOSYS;
	if (has_numbers(r->type)) {
		e = report_gap(state, r, em);
		if (e < 0)
			return e;
	}
	event_decode_from_rec(&ev, kinds[kind].desc, r);
	cur_skip(&c, sizeof(*r));
	return kinds[kind].decode(&c, &ev, em);
}

static void sys_fini(void *state)
{
	struct sys_decode_state *s = state;

	map_fini(&s->last);
}

static const struct event_desc *const sys_descs[] = {
	&sys_exit_desc,	 &sys_enter_desc,    &sys_stats_desc, &sys_gap_desc,  &sys_switch_desc,	  &sys_signal_desc,
	&sys_fault_desc, &sys_procexit_desc, &sys_uring_desc, &sys_lost_desc, &sys_sampling_desc, NULL,
};

const struct decoder_ops sys_decoder = {
	.name = "sys",
	.probe = PROBE_ID,
	.events = sys_descs,
	.state_size = sizeof(struct sys_decode_state),
	.decode = sys_decode,
	.content = sys_content,
	.fini = sys_fini,
};
