// SPDX-License-Identifier: GPL-2.0-or-later
#include "call/call_queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

#define HELD_MAX 16384u	/* of all connections: some 6 MiB */

void call_queue_unit(struct call_io *io)
{
	io->unit = io->c.pos;
}

static uint64_t offset_of(const struct call_io *io, const uint8_t *at)
{
	return io->offset + (uint64_t)(at - io->start);
}

static void begin(struct call_span *s, const struct call_io *io)
{
	bool waited = io->unit == io->start;

	if (s->begun)
		return;
	s->begun = true;
	s->first_ns = waited ? io->start_ns : io->now_ns;
	s->tag = waited ? io->start_tag : io->tag;
	s->at = offset_of(io, io->unit);
}

static void finish(struct call_span *s, const struct call_io *io)
{
	s->done = true;
	s->last_ns = io->now_ns;
	if (!io->queue->protocol->multiplexed && s->begun)
		s->bytes = offset_of(io, io->c.pos) - s->at;
}

static struct call *remove_at(struct call_queue *q, uint32_t at)
{
	struct call *c = q->calls[at];

	memmove(q->calls + at, q->calls + at + 1, (q->n - at - 1) * sizeof(c));
	q->n--;
	return c;
}

static void show(struct call_queue *q, struct call *c)
{
	q->pool->ops->ended(q->pool->ctx, q->conn, c);
	call_pool_put(q->pool, c);
}

/*
 * A call that ended before a response was parsed: messages without answers come first on some connections. It is
 * shown with the first call of both sides.
 */
static void hold(struct call_queue *q, struct call *c)
{
	if (q->n_held == CALL_QUEUE_MAX || q->pool->n_held == HELD_MAX) {
		q->surplus++;
		call_pool_put(q->pool, c);
		return;
	}
	q->n_held++;
	q->pool->n_held++;
	c->next = NULL;
	*(q->held ? q->held_end : &q->held) = c;
	q->held_end = &c->next;
}

static struct call *take_held(struct call_queue *q)
{
	struct call *c = q->held;

	if (!c)
		return NULL;
	q->held = c->next;
	q->n_held--;
	q->pool->n_held--;
	return c;
}

static void confirm(struct call_queue *q)
{
	struct call *c;

	if (q->confirmed)
		return;
	q->confirmed = true;
	while ((c = take_held(q)))
		show(q, c);
	q->pool->missed[CALL_MISS_MEMORY] += q->surplus;
	q->surplus = 0;
}

void call_queue_leave_protocol(struct call_queue *q)
{
	struct call *c;

	while ((c = take_held(q))) {
		q->pool->missed[c->end == CALL_END_EVICTED ? CALL_MISS_MEMORY : CALL_MISS_UNCONFIRMED]++;
		call_pool_put(q->pool, c);
	}
	q->pool->missed[CALL_MISS_UNCONFIRMED] += q->surplus;
	q->surplus = 0;
	q->asked = q->confirmed = q->unpaired = false;
}

/* Takes the call out of the queue and shows it, if the protocol is confirmed: else it waits for that. */
static void leave(struct call_queue *q, uint32_t at, enum call_end end)
{
	struct call *c = remove_at(q, at);

	if (c->quiet && !c->response.begun && (end == CALL_END_CLOSED || end == CALL_END_EVICTED)) {
		c->incomplete |= end == CALL_END_EVICTED ? CALL_INCOMPLETE_CUT : 0;	/* its answer may come */
		end = CALL_END_ONEWAY;
	}
	c->end = (uint8_t)end;
	if ((c->request.begun || q->asked) && c->response.begun)
		confirm(q);
	if (end == CALL_END_EVICTED)
		q->pool->missed[CALL_MISS_EVICTED]++;
	if ((end == CALL_END_EVICTED || end == CALL_END_LOST) && !c->response.begun)
		q->owed++;
	if (q->confirmed)
		show(q, c);
	else
		hold(q, c);
}

static uint32_t place_of(const struct call_queue *q, const struct call *c)
{
	uint32_t i = 0;

	while (q->calls[i] != c)
		i++;
	return i;
}

static void free_room(struct call_queue *q)
{
	if (q->calls == q->few || !q->calls)
		return;
	call_pool_give(q->pool, q->room * sizeof(q->calls[0]));
	free(q->calls);
}

static bool make_room(struct call_queue *q)
{
	uint32_t room = q->room ? q->room * 2 : (uint32_t)ARRAY_SIZE(q->few);
	struct call **calls;

	if (q->n < q->room)
		return true;
	if (!q->room) {
		q->calls = q->few;
		q->room = room;
		return true;
	}
	if (!call_pool_take(q->pool, room * sizeof(q->calls[0])))
		return false;
	calls = malloc(room * sizeof(q->calls[0]));
	if (!calls) {
		call_pool_give(q->pool, room * sizeof(q->calls[0]));
		return false;
	}
	memcpy(calls, q->calls, q->n * sizeof(q->calls[0]));
	free_room(q);
	q->calls = calls;
	q->room = room;
	return true;
}

/* A request without a call: by order alone, its response would go to the next one. */
static void refuse(struct call_queue *q, bool begins)
{
	q->refused = begins && q->protocol->ordered;
	if (q->n == CALL_QUEUE_MAX)
		return;		/* its response is counted */
	q->pool->missed[CALL_MISS_MEMORY]++;
	q->owed += begins;
}

static struct call *open_call(struct call_io *io, bool begins)
{
	struct call_queue *q = io->queue;
	struct call *c = NULL;

	if (q->refused)
		return NULL;
	if (q->n == CALL_QUEUE_MAX && (!q->protocol->ordered || q->calls[0]->quiet))
		leave(q, 0, CALL_END_EVICTED);
	if (q->n < CALL_QUEUE_MAX && make_room(q))
		c = call_pool_get(q->pool, q->protocol->kind);
	if (!c) {
		refuse(q, begins);
		return NULL;
	}
	c->id = ++q->count;
	c->numbered = !q->midstream && !q->skipped;
	c->index = q->n;
	q->calls[q->n++] = c;
	q->most = MAX(q->most, q->n);
	if (begins)
		begin(&c->request, io);
	return c;
}

struct call *call_queue_open(struct call_io *io)
{
	io->queue->asked |= io->side == CALL_SIDE_REQUEST;
	return open_call(io, io->side == CALL_SIDE_REQUEST);
}

struct call *call_queue_push(struct call_io *io)
{
	struct call *c = open_call(io, true);

	if (c)
		c->pushed = true;
	return c;
}

struct call *call_queue_oldest(const struct call_io *io)
{
	for (uint32_t i = 0; !io->queue->unpaired && i < io->queue->n; i++)
		if (!io->queue->calls[i]->response.done)
			return io->queue->calls[i];
	return NULL;
}

bool call_queue_waits(const struct call_queue *q)
{
	for (uint32_t i = 0; i < q->n; i++) {
		const struct call *c = q->calls[i];

		if (!c->quiet)
			return c->request.done && !(q->protocol->late_status ? c->response.begun : c->response.done);
	}
	return false;
}

struct call *call_queue_youngest(const struct call_io *io)
{
	return io->queue->n && !io->queue->refused ? io->queue->calls[io->queue->n - 1] : NULL;
}

struct call *call_queue_find(const struct call_io *io, uint64_t id)
{
	for (uint32_t i = 0; i < io->queue->n; i++)
		if (io->queue->calls[i]->id == id)
			return io->queue->calls[i];
	return NULL;
}

struct call *call_queue_find_key(const struct call_io *io, uint64_t key)
{
	for (uint32_t i = 0; i < io->queue->n; i++)
		if (io->queue->calls[i]->key == key)
			return io->queue->calls[i];
	return NULL;
}

void call_queue_follow(struct call_io *io)
{
	io->queue->follow[io->side] = true;
	if (io->side == CALL_SIDE_REQUEST && io->queue->n)
		io->queue->most = MAX(io->queue->most, 2u);
}

void call_queue_turn(struct call_queue *q)
{
	if (q->follow[CALL_SIDE_REQUEST] && (q->follow[CALL_SIDE_RESPONSE] || q->unpaired))
		q->pool->missed[q->confirmed ? CALL_MISS_NO_BYTES : CALL_MISS_UNCONFIRMED]++;
	q->follow[CALL_SIDE_REQUEST] = q->follow[CALL_SIDE_RESPONSE] = false;
}

static void leave_if_complete(struct call_queue *q, struct call *c)
{
	if (q->unpaired && c->request.done) {
		c->incomplete |= CALL_INCOMPLETE_CUT;
		leave(q, place_of(q, c), CALL_END_LOST);
	} else if (c->request.done && c->response.done)
		leave(q, place_of(q, c), CALL_END_DONE);
}

static void end_request(struct call_io *io, struct call *c, bool opens)
{
	const bool first = !c->request.last_ns;

	finish(&c->request, io);
	call_pool_settle(io->queue->pool, c);
	if (first && opens && io->queue->pool->ops->opened)
		io->queue->pool->ops->opened(io->queue->pool->ctx, io->queue->conn, c);
}

void call_queue_asked(struct call_io *io, struct call *c)
{
	if (!c)
		return;
	end_request(io, c, true);
	leave_if_complete(io->queue, c);
}

void call_queue_told(struct call_io *io, struct call *c)
{
	if (!c)
		return;
	end_request(io, c, io->queue->confirmed);	/* while it waits to be shown it is not open */
	leave(io->queue, place_of(io->queue, c), CALL_END_ONEWAY);
}

void call_queue_answer(struct call_io *io, struct call *c)
{
	if (c)
		begin(&c->response, io);
}

void call_queue_answered(struct call_io *io, struct call *c)
{
	if (!c)
		return;
	finish(&c->response, io);
	leave_if_complete(io->queue, c);
}

void call_queue_end(struct call_io *io, struct call *c, enum call_end end)
{
	if (c)
		leave(io->queue, place_of(io->queue, c), end);
}

void call_queue_drop(struct call_io *io, struct call *c)
{
	if (c)
		call_pool_put(io->queue->pool, remove_at(io->queue, place_of(io->queue, c)));
}

void call_queue_orphan(struct call_io *io)
{
	struct call_queue *q = io->queue;

	if (q->asked && (q->unpaired || q->owed))
		confirm(q);
	if (q->unpaired)
		return; /* its request is a call */
	if (q->owed)
		q->owed--;
	else if (!q->midstream || q->count)
		q->pool->missed[q->confirmed ? CALL_MISS_ORPHAN : CALL_MISS_UNCONFIRMED]++;
}

struct call *call_queue_hidden(struct call_io *io)
{
	struct call_queue *q = io->queue;
	struct call *c;

	if (!q->owed && !q->unpaired && q->strays++)
		q->most = MAX(q->most, 2u);	/* their requests follow each other */
	if (q->owed || q->unpaired || !q->hidden) {
		call_queue_orphan(io);
		return NULL;
	}
	q->strays++;	/* the one before it is here, too */
	c = open_call(io, false);
	if (!c)
		return NULL;
	c->request.done = true;
	c->incomplete |= CALL_INCOMPLETE_CUT;
	q->most = MAX(q->most, 2u);	/* they were outstanding at once: heads of turns do not suffice */
	return c;
}

void call_queue_confirm(struct call_io *io)
{
	confirm(io->queue);
}

void call_queue_fini(struct call_queue *q)
{
	call_queue_leave_protocol(q);
	while (q->n)
		call_pool_put(q->pool, q->calls[--q->n]);
	free_room(q);
	q->calls = NULL;
	q->room = 0;
}

static void flush(struct call_queue *q, enum call_end end, uint32_t keep)
{
	while (q->n > keep) {
		struct call *c = q->calls[0];
		bool alone = q->n == 1 && c->response.begun;

		if (end == CALL_END_LOST && !c->response.done && (!alone || q->protocol->late_status))
			c->incomplete |= CALL_INCOMPLETE_CUT;
		leave(q, 0, c->response.done || (end == CALL_END_LOST && alone) ? CALL_END_DONE : end);
	}
}

void call_queue_flush(struct call_queue *q, enum call_end end)
{
	flush(q, end, 0);
}

void call_queue_lose(struct call_queue *q)
{
	flush(q, CALL_END_LOST, q->n && !q->calls[q->n - 1]->request.done);
}

static void forget_status(struct call *c)
{
	c->status = CALL_STATUS_NONE;
	c->rows = CALL_ROWS_NONE;
	c->error = CALL_ERROR_NONE;
	c->texts[CALL_TEXT_STATUS].len = 0;
}

void call_queue_unpair(struct call_queue *q, bool doubted)
{
	q->unpaired = true;
	for (uint32_t i = 0; i < q->n && doubted; i++)
		if (q->calls[i]->id > q->sure && q->calls[i]->request.begun)
			forget_status(q->calls[i]);
	for (uint32_t i = 0; i < q->n;)
		if (q->calls[i]->request.done)
			leave_if_complete(q, q->calls[i]);
		else
			i++;
}

void call_queue_progress(struct call_queue *q, enum call_side side, bool lost, uint64_t now_ns, uint64_t offset)
{
	bool asks = side == CALL_SIDE_REQUEST;
	struct call *c = q->n ? q->calls[asks ? q->n - 1 : 0] : NULL;
	struct call_span *s = !c ? NULL : asks ? &c->request : &c->response;

	if (c)
		call_pool_settle(q->pool, c);
	if (!s || !s->begun || q->protocol->multiplexed || (s->done && !(lost && asks && !c->response.begun)))
		return;
	s->last_ns = now_ns;
	s->bytes = offset - s->at;
}
