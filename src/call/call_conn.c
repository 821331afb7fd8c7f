// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The driver of the parsers. Each direction is a half: bytes that wait for the rest of their unit, content to pass
 * over, and whether the start of the next unit is known.
 */
#include "call/call_conn.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "call/call_protocol.h"
#include "call/call_queue.h"

#define TURNS_MAX 4		/* without a known protocol */
#define CONTRADICTIONS_MAX 3
#define UNIT_MAX (32u << 10)	/* bytes that wait, of each direction */
#define LOOK_MAX 256		/* bytes that wait for the first look */

/* An incomplete unit. */
struct waiting {
	uint64_t ns, tag;	/* of its first byte */
	uint8_t bytes[];
};

struct half {
	struct waiting *waits;	/* owned; NULL = none */
	uint64_t end;		/* offset behind the last chunk */
	uint64_t last_ns;	/* time of that chunk */
	uint64_t skip;		/* content to pass over */
	uint32_t n_waits;
	bool lost;		/* start of the next unit is unknown: the next turn may begin with one */
	bool gap;		/* lost by bytes that were not kept: the end of the response may follow */
};

struct call_conn {
	struct call_queue queue;
	void *user, *state;	/* state: the protocol's, owned */
	struct half halves[CALL_DIR__MAX];
	uint32_t excluded;	/* protocols that contradicted themselves; bits of their place in the table */
	uint8_t role, turns, contradictions, last_dir, request_dir;
	bool ignored;
	bool wide;		/* heads of turns do not suffice */
	/* Of protocols where order says which response belongs to which request. */
	bool several;		/* a hole may hide the ends of several calls */
	bool slides;		/* a turn of requests came while one waited for its response */
	bool in_gap;		/* the bytes that are fed are those of lost operations */
};

struct call_conn *call_conn_new(struct call_pool *pool, enum call_role role, bool midstream, void *user)
{
	struct call_conn *c = call_pool_take(pool, sizeof(*c)) ? calloc(1, sizeof(*c)) : NULL;

	if (!c)
		return NULL;
	c->queue = (struct call_queue){ .pool = pool, .conn = c, .midstream = midstream };
	c->user = user;
	c->role = (uint8_t)role;
	c->last_dir = CALL_DIR__MAX;
	return c;
}

static void drop_waiting(struct call_conn *c, struct half *h)
{
	call_pool_give(c->queue.pool, h->waits ? sizeof(*h->waits) + h->n_waits : 0);
	free(h->waits);
	h->waits = NULL;
	h->n_waits = 0;
}

/* Back to an unknown protocol. */
static void leave_protocol(struct call_conn *c)
{
	const struct call_protocol *p = c->queue.protocol;

	for (int i = 0; i < CALL_DIR__MAX; i++) {
		drop_waiting(c, &c->halves[i]);
		c->halves[i].skip = 0;
		c->halves[i].lost = c->halves[i].gap = false;
	}
	if (p && p->fini && c->state)
		p->fini(c->state, c->queue.pool);
	if (c->state)
		call_pool_give(c->queue.pool, p->state_size);
	free(c->state);
	c->state = NULL;
	c->queue.protocol = NULL;
	call_queue_leave_protocol(&c->queue);
	c->several = c->slides = false;
}

void call_conn_free(struct call_conn *c)
{
	struct call_pool *pool;

	if (!c)
		return;
	pool = c->queue.pool;
	call_queue_fini(&c->queue);
	leave_protocol(c);
	call_pool_give(pool, sizeof(*c));
	free(c);
}

static void ignore(struct call_conn *c, enum call_miss cause)
{
	if (cause != CALL_MISS__MAX)
		c->queue.pool->missed[cause]++;
	call_queue_flush(&c->queue, CALL_END_LOST);
	leave_protocol(c);
	c->ignored = true;
}

static enum call_side side_of(const struct call_conn *c, enum call_dir dir)
{
	return dir == c->request_dir ? CALL_SIDE_REQUEST : CALL_SIDE_RESPONSE;
}

/* ---- which protocol ---- */

static bool is_asked_for(const struct call_conn *c, unsigned at)
{
	uint32_t kinds = c->queue.pool->conf.kinds;

	if (kinds & 1u << CALL_KIND_GRPC)	/* over HTTP/2 */
		kinds |= 1u << CALL_KIND_HTTP2;
	return !(c->excluded & 1u << at) && (!kinds || kinds & 1u << call_protocols[at]->kind);
}

static bool fits_role(const struct call_conn *c, enum call_dir dir, enum call_look look)
{
	bool sends_request = look == CALL_LOOK_REQUEST ? dir == CALL_DIR_SENT : dir == CALL_DIR_RECEIVED;

	return c->role == CALL_ROLE_UNKNOWN || sends_request == (c->role == CALL_ROLE_CLIENT);
}

static bool adopt(struct call_conn *c, const struct call_protocol *p, enum call_dir dir, enum call_look look)
{
	bool taken = call_pool_take(c->queue.pool, p->state_size);

	c->state = taken ? calloc(1, p->state_size) : NULL;
	if (!c->state) {
		if (taken)
			call_pool_give(c->queue.pool, p->state_size);
		c->queue.pool->missed[CALL_MISS_MEMORY] += look == CALL_LOOK_REQUEST;
		return false;
	}
	c->queue.protocol = p;
	c->request_dir = (uint8_t)(look == CALL_LOOK_REQUEST ? dir : !dir);
	return true;
}

/*
 * The first bytes of a turn. Returns CALL_LOOK_MORE if the protocol may show with more bytes, CALL_LOOK__MAX
 * without memory for its state.
 */
static enum call_look classify(struct call_conn *c, enum call_dir dir, const void *data, size_t len, bool datagram)
{
	enum call_look best = CALL_LOOK_NO;

	for (unsigned i = 0; call_protocols[i]; i++) {
		enum call_look look;

		if (!is_asked_for(c, i) || call_protocols[i]->datagrams != datagram)
			continue;
		look = call_protocols[i]->classify(data, len);
		if (look == CALL_LOOK_NO || (look != CALL_LOOK_MORE && !fits_role(c, dir, look)))
			continue;
		if (look == CALL_LOOK_MORE)
			best = CALL_LOOK_MORE;
		else
			return adopt(c, call_protocols[i], dir, look) ? look : CALL_LOOK__MAX;
	}
	return best;
}

/* ---- bytes to the parser ---- */

/* The bytes at hand of a direction: those that waited, then the chunk's. */
struct view {
	const uint8_t *data;
	size_t len;
	struct waiting *owned;	/* NULL = the chunk's */
	uint32_t waited;	/* how many of them */
};

static bool view_init(struct call_conn *c, struct half *h, const struct call_chunk *chunk, struct view *v)
{
	struct waiting *joined;

	*v = (struct view){ .data = chunk->data, .len = chunk->len, .waited = h->n_waits };
	if (!v->len)
		v->data = (const uint8_t *)"";
	if (!h->n_waits)
		return true;
	joined = realloc(h->waits, sizeof(*joined) + h->n_waits + chunk->len);
	if (!joined)
		return false;
	if (chunk->len)
		memcpy(joined->bytes + h->n_waits, chunk->data, chunk->len);
	call_pool_give(c->queue.pool, sizeof(*joined) + h->n_waits);
	*v = (struct view){ .data = joined->bytes, .len = h->n_waits + (size_t)chunk->len, .owned = joined,
			    .waited = h->n_waits };
	h->waits = NULL;
	h->n_waits = 0;
	return true;
}

/* The view as one chunk; borrowed. */
static struct call_chunk view_chunk(const struct view *v, const struct call_chunk *chunk)
{
	struct call_chunk all = *chunk;

	all.offset -= v->waited;
	all.data = v->data;
	all.len = (uint32_t)v->len;
	return all;
}

/* Keeps the bytes from @at on for the next chunk, and releases the view. False at the limit of memory. */
static bool view_keep(struct call_conn *c, struct half *h, struct view *v, const uint8_t *at,
		      const struct call_chunk *chunk)
{
	size_t len = (size_t)(v->data + v->len - at);
	_cleanup_free_ struct waiting *owned = v->owned;
	const bool old = owned && at == v->data;
	struct waiting *kept;

	v->owned = NULL;
	if (!len)
		return true;
	if (!call_pool_take(c->queue.pool, sizeof(*kept) + len))
		return false;
	if (owned)
		memmove(owned->bytes, at, len);
	kept = realloc(owned, sizeof(*kept) + len);
	if (!kept) {
		call_pool_give(c->queue.pool, sizeof(*kept) + len);
		return false;
	}
	if (!owned)
		memcpy(kept->bytes, at, len);
	TAKE_PTR(owned);
	if (!old) {
		kept->ns = chunk->time_ns;
		kept->tag = chunk->tag;
	}
	h->waits = kept;
	h->n_waits = (uint32_t)len;
	return true;
}

static void lose(struct call_conn *c, struct half *h)
{
	c->queue.pool->missed[CALL_MISS_LOST]++;
	c->queue.refused = false;
	c->wide |= c->queue.protocol->unanswered;
	c->several |= c->queue.most > 1 && (h == &c->halves[c->request_dir] || c->queue.n > 1);
	if (h == &c->halves[c->request_dir] && !c->queue.skipped)
		c->queue.sure = (uint32_t)MIN(c->queue.count, (uint64_t)UINT32_MAX);
	drop_waiting(c, h);
	h->skip = 0;
	h->lost = h->gap = true;
	c->queue.skipped |= h == &c->halves[c->request_dir] || c->queue.protocol->unanswered;
}

static void contradict(struct call_conn *c)
{
	bool confirmed = c->queue.confirmed;

	c->queue.pool->missed[CALL_MISS_CONTRADICTED]++;
	if (++c->contradictions == CONTRADICTIONS_MAX) {
		ignore(c, CALL_MISS_GIVEN_UP);
		return;
	}
	if (!confirmed)
		call_queue_leave_protocol(&c->queue);
	call_queue_flush(&c->queue, CALL_END_LOST);
	c->queue.skipped = true;
	c->several |= c->queue.most > 1;
	for (unsigned i = 0; !confirmed && call_protocols[i]; i++)
		c->excluded |= call_protocols[i] == c->queue.protocol ? 1u << i : 0;
	if (!confirmed)
		leave_protocol(c);
	for (int i = 0; i < CALL_DIR__MAX; i++) {
		drop_waiting(c, &c->halves[i]);
		c->halves[i].skip = 0;
		c->halves[i].lost = true;
		c->halves[i].gap = false;
	}
}

/* Passes over content: bytes of the cursor, then of the hole. False if content is still to come. */
static bool pass_content(struct half *h, struct call_io *io, uint64_t *hole)
{
	uint64_t n = MIN(h->skip, (uint64_t)cur_left(&io->c));

	cur_skip(&io->c, n);
	h->skip -= n;
	n = MIN(h->skip, *hole);
	h->skip -= n;
	*hole -= n;
	io->offset += n;
	return !h->skip;
}

/* Unit after unit, until the parser needs bytes, skips some, or leaves the protocol. */
static enum call_feed feed_units(struct call_conn *c, struct call_io *io)
{
	const struct call_protocol *p = c->queue.protocol;
	const uint8_t *before;
	enum call_feed r;

	do {
		if (p->settle)
			p->settle(c->state, io);
		if (io->to != CALL_SWITCH_NONE)
			return CALL_FEED_OK;
		before = io->c.pos;
		r = p->feed(c->state, io);
	} while (r == CALL_FEED_OK && !io->skip && io->to == CALL_SWITCH_NONE && io->c.pos != before);
	return r;
}

/* Feeds the parser all of @io->c; bytes that it leaves there wait. */
static enum call_feed feed_all(struct call_conn *c, struct half *h, struct call_io *io, uint64_t hole)
{
	for (;;) {
		enum call_feed r;

		if (h->skip && !pass_content(h, io, &hole))
			return CALL_FEED_OK;
		io->partial = hole > 0;
		r = feed_units(c, io);
		if (r == CALL_FEED_OK && !io->skip && !hole && cur_left(&io->c) > UNIT_MAX) {
			io->partial = true;
			r = feed_units(c, io);
		}
		if (c->queue.refused)
			return CALL_FEED_LOST;
		if (r != CALL_FEED_OK || io->to != CALL_SWITCH_NONE)
			return r;
		if (!io->skip)
			return io->partial ? CALL_FEED_LOST : CALL_FEED_OK;
		h->skip = io->skip == CALL_SKIP_HOLE ? cur_left(&io->c) + hole : io->skip;
		io->skip = 0;
		io->turn = false;
	}
}

static struct call_io make_io(struct call_conn *c, enum call_dir dir, const struct call_chunk *chunk,
			      const struct view *v)
{
	return (struct call_io){
		.c = cur_init(v->data, v->len), .side = side_of(c, dir), .queue = &c->queue,
		.conf = &c->queue.pool->conf, .gap = c->in_gap, .start = v->data, .offset = chunk->offset - v->waited,
		.now_ns = chunk->time_ns, .tag = chunk->tag,
		.start_ns = v->owned ? v->owned->ns : chunk->time_ns,
		.start_tag = v->owned ? v->owned->tag : chunk->tag,
	};
}

/* Does order alone tell which response belongs to which request? */
static bool has_order(const struct call_conn *c)
{
	return c->queue.protocol && c->queue.protocol->ordered;
}

/* Requests follow each other, and some may have been in a hole before that was seen: no response since is certain. */
static void doubt(struct call_conn *c)
{
	c->several = true;
	if (c->queue.n)
		call_queue_unpair(&c->queue, true);
}

static void feed_new(struct call_conn *c, enum call_dir dir, const struct call_chunk *chunk, bool turn);

/* The protocol ends behind @at: the rest of the chunk belongs to what comes next. */
static void switch_to(struct call_conn *c, enum call_dir dir, enum call_switch to, const struct call_chunk *rest)
{
	if (c->queue.pool->ops->switched)
		c->queue.pool->ops->switched(c->queue.pool->ctx, c, to);
	if (to != CALL_SWITCH_ANEW) {
		ignore(c, CALL_MISS__MAX);
		return;
	}
	call_queue_flush(&c->queue, CALL_END_LOST);
	leave_protocol(c);
	c->turns = 0;
	c->last_dir = CALL_DIR__MAX;
	if (rest->len)
		feed_new(c, dir, rest, true);
}

static void feed_parser(struct call_conn *c, enum call_dir dir, const struct call_chunk *chunk, bool turn)
{
	struct half *h = &c->halves[dir];
	struct view v;
	struct call_io io;
	enum call_feed r;

	if (!view_init(c, h, chunk, &v)) {
		lose(c, h);
		return;
	}
	io = make_io(c, dir, chunk, &v);
	io.turn = turn;
	c->queue.hidden = c->halves[c->request_dir].gap;
	r = feed_all(c, h, &io, chunk->hole);
	if (r == CALL_FEED_OK && io.to != CALL_SWITCH_NONE) {
		struct call_chunk rest = { .data = io.c.pos, .len = (uint32_t)cur_left(&io.c), .hole = chunk->hole,
					   .offset = chunk->offset + chunk->len - cur_left(&io.c),
					   .time_ns = chunk->time_ns, .tag = chunk->tag };

		switch_to(c, dir, io.to, &rest);
	} else if (r == CALL_FEED_BAD) {
		contradict(c);
	} else if (r == CALL_FEED_LOST || !view_keep(c, h, &v, io.c.pos, chunk)) {
		lose(c, h);
	}
	free(v.owned);
	if (c->queue.skipped && c->queue.most > 1 && !c->several && has_order(c))
		doubt(c);
}

/*
 * At the start of a turn of requests: was each one before it answered, of those in holes, too? One at a time is. Of
 * several that is unknown: the directions may be at different calls for good. Nothing that follows proves a moment
 * without a request under way: turn for turn a client that keeps two of them looks like a client that waits; pauses
 * and TCP's acknowledgements say what was received, not what was answered; requests minus responses is a bound that
 * reaches 0 only if the hole hid a single response's end.
 */
static bool is_in_step(const struct call_conn *c)
{
	return !has_order(c) || (!c->slides && !c->several);
}

/*
 * Responses without requests in the turn that ended: of several requests at once, or of one whose send has not ended.
 * @explained: a hole has theirs.
 */
static void take_strays(struct call_conn *c, bool explained)
{
	const bool before_us = c->queue.midstream && !c->queue.count;

	if (c->queue.strays > 1 ||
	    (c->queue.strays && !before_us && !explained && !c->halves[c->request_dir].lost))
		doubt(c);
	c->queue.strays = 0;
}

/* A turn of requests: how do they follow each other, and did what holes left open end before it? */
static void begin_turn(struct call_conn *c, const struct call_chunk *chunk)
{
	const struct half *h = &c->halves[c->request_dir];
	const bool answers_lost = c->halves[!c->request_dir].lost;

	if (!has_order(c)) {
		/* Responses were lost: a new request says that they ended. */
		if (answers_lost && !h->n_waits && !h->skip) {
			call_queue_flush(&c->queue, CALL_END_LOST);
			c->queue.owed = 0;
		}
		return;
	}
	call_queue_turn(&c->queue);
	take_strays(c, !chunk->len);
	if (!c->queue.unpaired && !answers_lost && call_queue_waits(&c->queue)) {
		c->slides = true;
		c->several |= c->queue.midstream;	/* others may have waited at the start, too */
	}
	if (!is_in_step(c)) {
		if (answers_lost || (c->several && !h->lost))
			call_queue_unpair(&c->queue, false);
		return;
	}
	if (c->queue.unpaired)
		c->halves[!c->request_dir].lost = true;
	if (c->queue.unpaired || answers_lost) {
		call_queue_lose(&c->queue);
		c->queue.owed = 0;
	}
	c->queue.unpaired = false;
}

/*
 * Behind a loss, a unit begins. While order is unknown one direction is parsed, whose units count as calls: responses
 * behind a hole in the requests, else requests.
 */
static bool may_resume(struct call_conn *c, enum call_dir dir)
{
	if (dir != c->request_dir) {
		if (c->several && c->queue.n && has_order(c))
			call_queue_unpair(&c->queue, false);
		return true;
	}
	if (c->queue.unpaired || is_in_step(c)) {
		c->several = c->several && c->queue.unpaired;
		return true;
	}
	return false;
}

/* Do the first bytes of a turn, that begin no message, belong to one before the last of the other side? */
static bool goes_on(const struct call_conn *c, enum call_side side)
{
	const struct call *oldest = c->queue.n ? c->queue.calls[0] : NULL;

	return side == CALL_SIDE_REQUEST ? !oldest || oldest->response.begun : oldest && !oldest->response.begun;
}

/* A turn of a direction whose next unit is unknown. Feeds the parser if the turn begins with one. */
static void feed_lost(struct call_conn *c, enum call_dir dir, const struct call_chunk *chunk, bool turn)
{
	const struct call_protocol *p = c->queue.protocol;
	struct half *h = &c->halves[dir];
	enum call_side side = side_of(c, dir);
	const bool first = (turn || h->n_waits) && has_order(c) && !p->unanswered;
	enum call_look look;
	struct view v;

	turn |= p->unanswered && !h->n_waits;
	if (turn)
		drop_waiting(c, h);
	if ((!turn && !h->n_waits) || !view_init(c, h, chunk, &v))
		return;
	look = p->resume ? p->resume(v.data, v.len, side) : p->classify(v.data, v.len);
	if (look == CALL_LOOK_MORE && !chunk->hole && v.len <= LOOK_MAX && view_keep(c, h, &v, v.data, chunk))
		return;
	if (look == (side == CALL_SIDE_REQUEST ? CALL_LOOK_REQUEST : CALL_LOOK_RESPONSE) && may_resume(c, dir)) {
		struct call_chunk all = view_chunk(&v, chunk);

		if (side == CALL_SIDE_REQUEST && c->queue.n) {
			call_queue_flush(&c->queue, CALL_END_LOST);
			c->halves[!dir].lost = true;
		}
		if (side == CALL_SIDE_REQUEST)
			c->queue.owed = 0;
		h->lost = h->gap = false;
		if (p->reset)
			p->reset(c->state, side, &c->queue);
		feed_parser(c, dir, &all, true);
	} else if (first && look == CALL_LOOK_NO && v.len && goes_on(c, side)) {
		doubt(c);
	}
	free(v.owned);
}

/* Bytes behind a gap within a turn of responses. They may hold the end of the outstanding one. */
static void feed_tail(struct call_conn *c, enum call_dir dir, const struct call_chunk *chunk)
{
	const struct call_protocol *p = c->queue.protocol;
	struct call_chunk end = *chunk;
	size_t at;

	if (dir == c->request_dir || c->queue.n != 1 || c->several || chunk->hole || !chunk->len)
		return;
	p->reset(c->state, CALL_SIDE_RESPONSE, &c->queue);
	at = p->tail(c->state, chunk->data, chunk->len);
	if (at >= chunk->len)
		return;
	end.data = (const uint8_t *)chunk->data + at;
	end.len -= (uint32_t)at;
	end.offset += at;
	c->halves[dir].lost = c->halves[dir].gap = false;
	feed_parser(c, dir, &end, false);
}

static void feed_known(struct call_conn *c, enum call_dir dir, const struct call_chunk *chunk, bool turn)
{
	struct half *h = &c->halves[dir];

	if (turn && dir == c->request_dir)
		begin_turn(c, chunk);
	if (h->gap && !turn && !h->n_waits && c->queue.protocol->tail)
		feed_tail(c, dir, chunk);
	else if (h->lost)
		feed_lost(c, dir, chunk, turn);
	else
		feed_parser(c, dir, chunk, turn);
	if (!c->ignored && c->queue.protocol)
		call_queue_progress(&c->queue, side_of(c, dir), h->lost, chunk->time_ns, h->end);
}

/* Bytes that waited for the first look, of the direction that did not show the protocol. */
static void feed_waiting(struct call_conn *c, enum call_dir dir)
{
	struct half *h = &c->halves[dir];
	struct call_chunk none = { .offset = h->end };

	if (!h->waits)
		return;
	none.time_ns = h->waits->ns;
	none.tag = h->waits->tag;
	feed_parser(c, dir, &none, true);
}

static void feed_new(struct call_conn *c, enum call_dir dir, const struct call_chunk *chunk, bool turn)
{
	struct half *h = &c->halves[dir];
	enum call_look look;
	struct view v;

	c->several |= turn && h->n_waits && c->halves[!dir].lost;	/* by what was passed over since */
	h->lost = h->lost && !turn;
	if (h->lost || !view_init(c, h, chunk, &v))
		return;
	look = classify(c, dir, v.data, v.len, false);
	if (look == CALL_LOOK_MORE && !chunk->hole && v.len <= LOOK_MAX && view_keep(c, h, &v, v.data, chunk))
		return;
	if (look == CALL_LOOK_REQUEST || look == CALL_LOOK_RESPONSE) {
		struct call_chunk all = view_chunk(&v, chunk);

		c->queue.pool->missed[CALL_MISS_LOST] += c->halves[!dir].lost;
		feed_waiting(c, !dir);
		if (!c->ignored && c->queue.protocol)
			feed_known(c, dir, &all, true);
	} else {
		h->lost = c->queue.skipped = true;
		c->several = false;
		if (look != CALL_LOOK__MAX && ++c->turns == TURNS_MAX)
			ignore(c, CALL_MISS_UNCLASSIFIED);
	}
	free(v.owned);
}

static void feed_next(struct call_conn *c, enum call_dir dir, const struct call_chunk *chunk)
{
	bool turn = dir != c->last_dir;

	c->halves[dir].end = chunk->offset + chunk->len + chunk->hole;
	c->halves[dir].last_ns = chunk->time_ns;
	c->last_dir = (uint8_t)dir;
	if (c->queue.protocol)
		feed_known(c, dir, chunk, turn);
	else
		feed_new(c, dir, chunk, turn);
}

/* Leaves out the chunk's bytes before @offset. */
static struct call_chunk behind(const struct call_chunk *chunk, uint64_t offset)
{
	struct call_chunk next = *chunk;
	uint64_t old = offset > chunk->offset ? offset - chunk->offset : 0;
	uint32_t seen = (uint32_t)MIN(old, (uint64_t)chunk->len);

	if (seen)
		next.data = (const uint8_t *)chunk->data + seen;
	next.len -= seen;
	next.hole -= MIN(old - seen, chunk->hole);
	next.offset += old;
	return next;
}

/*
 * Operations before @chunk were lost, and of the other direction, too, maybe: which response belongs to which request
 * is unknown.
 */
static void feed_gap(struct call_conn *c, enum call_dir dir, const struct call_chunk *chunk)
{
	struct half *h = &c->halves[dir];
	struct call_chunk gap = { .offset = h->end, .hole = chunk->offset - h->end,
				  .time_ns = chunk->time_ns, .tag = chunk->tag };

	c->queue.midstream |= !c->queue.protocol;
	if (c->queue.protocol && h->n_waits)	/* ended before the responses that were seen since */
		lose(c, h);
	c->in_gap = true;
	feed_next(c, dir, &gap);
	h->gap = c->in_gap = false;
	if (chunk->turn && c->queue.protocol && dir == c->request_dir)
		c->last_dir = !dir;
}

/* All operations of a turn of the other direction were lost, between two of @dir. */
static void feed_lost_turn(struct call_conn *c, enum call_dir dir)
{
	if (dir != c->request_dir) {
		take_strays(c, true);
		c->halves[c->request_dir].gap = false;
		return;
	}
	lose(c, &c->halves[!dir]);
	c->last_dir = !dir;
}

void call_conn_feed(struct call_conn *c, enum call_dir dir, const struct call_chunk *chunk)
{
	struct half *h = &c->halves[dir];
	struct call_chunk next;

	if (c->ignored) {
		h->end = MAX(h->end, chunk->offset + chunk->len + chunk->hole);
		return;
	}
	if (chunk->turn && has_order(c) && dir == c->last_dir)
		feed_lost_turn(c, dir);
	if (chunk->offset > h->end)
		feed_gap(c, dir, chunk);
	next = behind(chunk, h->end);
	if (!c->ignored && (next.len || next.hole))
		feed_next(c, dir, &next);
}

void call_conn_datagram(struct call_conn *c, enum call_dir dir, const struct call_chunk *chunk)
{
	struct half *h = &c->halves[dir];
	struct view v;
	struct call_io io;

	h->end += chunk->len + chunk->hole;
	if (c->ignored || !chunk->len)
		return;
	if (!c->queue.protocol) {
		enum call_look look = classify(c, dir, chunk->data, chunk->len, true);

		if (look < CALL_LOOK_REQUEST && ++c->turns == TURNS_MAX)
			ignore(c, CALL_MISS_UNCLASSIFIED);
		if (!c->queue.protocol)
			return;
	}
	if (!view_init(c, h, chunk, &v))
		return;
	io = make_io(c, dir, chunk, &v);
	io.turn = true;
	io.partial = chunk->hole > 0;
	c->queue.skipped = true;	/* datagrams may be lost */
	if (c->queue.protocol->feed(c->state, &io) == CALL_FEED_BAD)
		contradict(c);
}

void call_conn_end(struct call_conn *c, enum call_dir dir)
{
	struct half *h = &c->halves[dir];
	struct call_chunk none = { .offset = h->end };

	if (c->ignored || !c->queue.protocol || h->lost || h->skip < CALL_SKIP_REST / 2)
		return;
	h->skip = 0;
	none.time_ns = h->last_ns;
	feed_parser(c, dir, &none, false);
}

void call_conn_close(struct call_conn *c)
{
	call_conn_end(c, CALL_DIR_RECEIVED);
	call_conn_end(c, CALL_DIR_SENT);
	call_queue_turn(&c->queue);
	call_queue_flush(&c->queue, c->halves[!c->request_dir].lost ? CALL_END_LOST : CALL_END_CLOSED);
	call_queue_leave_protocol(&c->queue);
}

void call_conn_evict(struct call_conn *c)
{
	call_queue_flush(&c->queue, CALL_END_EVICTED);
	call_queue_leave_protocol(&c->queue);
}

enum call_conn_state call_conn_state(const struct call_conn *c)
{
	if (c->ignored)
		return CALL_CONN_IGNORED;
	if (c->queue.confirmed)
		return CALL_CONN_CONFIRMED;
	return c->queue.protocol ? CALL_CONN_GUESSED : CALL_CONN_NEW;
}

void *call_conn_user(const struct call_conn *c)
{
	return c->user;
}

const char *call_conn_protocol(const struct call_conn *c)
{
	return c->queue.protocol ? c->queue.protocol->name : NULL;
}

bool call_conn_is_server(const struct call_conn *c)
{
	return c->request_dir == CALL_DIR_RECEIVED;
}

uint32_t call_conn_most(const struct call_conn *c)
{
	return c->wide ? MAX(c->queue.most, 2u) : c->queue.most;
}
