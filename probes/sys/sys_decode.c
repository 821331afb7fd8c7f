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
#include "probes/sys/sys_files.h"

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

/* Records that user space makes have no sequence number of a CPU. */
static bool has_number(uint16_t type)
{
	return type != SONDE_EV_TICK && type != SYS_REC_SUM && type != SYS_REC_LOST && type != SYS_REC_SAMPLING &&
	       type != SYS_REC_FILE;
}

/* Sequence numbers of a row are consecutive: reports a gap where it is, whatever its cause. */
static int report_gap(const struct sonde_rec *r, const struct emitter *em)
{
	struct last *last = has_number(r->type) ? last_of(em->state, r) : NULL;
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
	ev.keys = (struct event_keys){ 0 };
	ev.body = &body;
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
	const struct sys_body *b = cur_bytes(&rest, head);
	const void *args, *chunks;
	struct sys_body *whole;
	size_t args_len;

	if (!b || cur_left(&rest) < b->chunks_len)
		return NULL;
	args_len = cur_left(&rest) - b->chunks_len;
	if (args_len % 8 || args_len > sizeof(b->args))
		return NULL;
	args = cur_bytes(&rest, args_len);
	chunks = cur_bytes(&rest, b->chunks_len);
	whole = chunks ? arena_alloc(em->scratch, sizeof(*b) + b->chunks_len) : NULL;
	if (!whole)
		return NULL;
	memcpy(whole, b, head);
	memcpy(whole->args, args, args_len);
	memcpy(whole + 1, chunks, b->chunks_len);
	return whole;
}

static bool is_short(struct cursor c)
{
	const struct sys_body *b = cur_bytes(&c, offsetof(struct sys_body, args));

	return b && b->flags & SYS_F_SHORT;
}

static int decode_file(const struct sonde_rec *r, struct event *ev, const struct emitter *em)
{
	const struct sys_file_rec *rec = (const void *)r;
	const struct sec_file *f;
	uint32_t len;
	int ret = r->len < sizeof(*rec) ? -EBADMSG : sys_files_describe(rec, em->scratch, &f, &len);

	if (ret < 0)
		return ret;
	ev->keys.file = rec->number;
	ev->keys.cookie = rec->sock;
	event_add_section(ev, SEC_FILE, f, len);
	return em->emit(em->ctx, ev);
}

static int decode_call(const struct sonde_rec *r, struct event *ev, const struct emitter *em)
{
	struct cursor c = decode_body(r);
	const struct sys_body *b;

	if (is_short(c)) {
		b = body_whole(&c, em);
		if (!b)
			return -EBADMSG;
		c = cur_init(b, sizeof(*b) + b->chunks_len);
	}

	ev->body = c.pos;
	b = cur_bytes(&c, sizeof(*b));
	if (!b || b->abi >= SYS_ABI__MAX || b->n_args > 6 || !chunks_fit(c, b->chunks_len))
		return -EBADMSG;
	ev->body_len = (uint32_t)(sizeof(*b) + b->chunks_len);
	if (ev->keys.file)
		ev->keys.file_fd = (uint32_t)(sys_body_fd(b) + 1);
	return em->emit(em->ctx, ev);
}

/* Older recordings end with the histogram. */
static int decode_sum(const struct sonde_rec *r, struct event *ev, const struct emitter *em)
{
	struct cursor c = cur_init(r + 1, r->len - sizeof(*r));
	struct sys_stats_body *b = arena_alloc(em->scratch, sizeof(*b));
	size_t len = MIN(cur_left(&c), sizeof(*b));

	if (!b)
		return -ENOMEM;
	if (len < offsetof(struct sys_stats_body, timed) || !cur_copy(&c, b, len) || b->abi >= SYS_ABI__MAX)
		return -EBADMSG;
	ev->body = b;
	return em->emit(em->ctx, ev);
}

/* Older recordings end with the handler: they lack the fault and the child. */
static int decode_signal(const struct sonde_rec *r, struct event *ev, const struct emitter *em)
{
	const size_t handler_end = offsetof(struct sys_signal_rec, addr) - sizeof(*r);
	struct cursor c = cur_init(r + 1, r->len - sizeof(*r));
	const size_t size = ev->desc->body_size;
	void *whole;

	ev->body = cur_left(&c) >= size ? c.pos : NULL;
	if (ev->body)
		return em->emit(em->ctx, ev);
	whole = event_decode_new_body(ev, em);
	if (!whole)
		return -ENOMEM;
	memset(whole, 0, size);
	if (!cur_copy(&c, whole, handler_end))
		return -EBADMSG;
	return em->emit(em->ctx, ev);
}

/* A reader that left records out on purpose says so: no gap. */
static int decode_tick(const struct sonde_rec *r, _unused_ struct event *ev, const struct emitter *em)
{
	struct sys_decode_state *s = em->state;

	if (r->flags & SONDE_RF_SKIPPED && s->last.key_size) {
		map_clear(&s->last);
		s->at = NULL;
	}
	return 0;
}

static const struct decode_row rows[] = {
	{ SYS_REC_EXIT, &sys_exit_desc, decode_call, .ident = true },
	{ SYS_REC_ENTER, &sys_enter_desc, decode_call, .ident = true },
	{ SYS_REC_SUM, &sys_stats_desc, decode_sum },
	{ SYS_REC_SWITCH, &sys_switch_desc },
	{ SYS_REC_SIGNAL, &sys_signal_desc, decode_signal },
	{ SYS_REC_FAULT, &sys_fault_desc },
	{ SYS_REC_URING, &sys_uring_desc },
	{ SYS_REC_PROCEXIT, &sys_procexit_desc },
	{ SYS_REC_LOST, &sys_lost_desc },
	{ SYS_REC_SAMPLING, &sys_sampling_desc },
	{ SYS_REC_FILE, &sys_file_desc, decode_file },
	{ SONDE_EV_TICK, NULL, decode_tick },
	{ 0 },
};

static void sys_fini(void *state)
{
	struct sys_decode_state *s = state;

	map_fini(&s->last);
}

static const struct event_desc *const sys_descs[] = {
	&sys_exit_desc,	 &sys_enter_desc,    &sys_stats_desc, &sys_gap_desc,  &sys_switch_desc,	  &sys_signal_desc,
	&sys_fault_desc, &sys_procexit_desc, &sys_uring_desc, &sys_lost_desc, &sys_sampling_desc,
	&sys_file_desc,	 NULL,
};

const struct decoder_ops sys_decoder = {
	.name = "sys",
	.probe = PROBE_ID,
	.events = sys_descs,
	.state_size = sizeof(struct sys_decode_state),
	.rows = rows,
	.before = report_gap,
	.content = sys_content,
	.redact = sys_redact,
	.fini = sys_fini,
};
