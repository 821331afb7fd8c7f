// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * NATS client protocol (https://docs.nats.io/reference/reference-protocols/nats-protocol).
 *
 * A message with a reply subject is a request: the message to that subject is its response, in either direction.
 * Messages without one are published or delivered and not answered, unless the client asked for verbose answers.
 * CONNECT is answered by +OK, -ERR, or the PONG to the PING behind it. Its options hold secrets: of them only verbose
 * is read.
 */
#include <string.h>

#include "base/macros.h"
#include "base/map.h"
#include "call/call_line.h"
#include "call/call_protocol.h"
#include "call/call_queue.h"

#define SUBJECT_MAX 512
#define INBOX "_INBOX." /* subjects of replies as clients make them */
#define PAYLOAD_MAX (64ull << 20)
#define STATUS_MAX 64 /* bytes of a message's header that are read */

enum op {
	OP_NONE,
	OP_INFO,
	OP_CONNECT,
	OP_PUB,
	OP_HPUB,
	OP_SUB,
	OP_UNSUB,
	OP_MSG,
	OP_HMSG,
	OP_PING,
	OP_PONG,
	OP_OK,
	OP_ERR,
	OP__MAX,
};

static const struct {
	const char *name;
	bool request, response; /* sides that send it */
} ops[] = {
	[OP_NONE] = { "" },
	[OP_INFO] = { "INFO", false, true },
	[OP_CONNECT] = { "CONNECT", true, false },
	[OP_PUB] = { "PUB", true, false },
	[OP_HPUB] = { "HPUB", true, false },
	[OP_SUB] = { "SUB", true, false },
	[OP_UNSUB] = { "UNSUB", true, false },
	[OP_MSG] = { "MSG", false, true },
	[OP_HMSG] = { "HMSG", false, true },
	[OP_PING] = { "PING", true, true },
	[OP_PONG] = { "PONG", true, true },
	[OP_OK] = { "+OK", false, true },
	[OP_ERR] = { "-ERR", false, true },
};
_Static_assert(ARRAY_SIZE(ops) == OP__MAX, "a name of each operation");

/* struct call's note. */
#define NOTE_CONNECT 1
#define NOTE_ACKED 2 /* awaits +OK, and nothing else */
#define NOTE_ONCE 4  /* of a request: awaits +OK, too */

struct nats {
	bool seen[CALL_SIDE__MAX];	  /* an operation of that side */
	bool verbose;			  /* +OK answers each operation of the client */
	bool headed[CALL_SIDE__MAX];	  /* the header of the message is read next */
	uint64_t message[CALL_SIDE__MAX]; /* id of the call whose bytes are passed over; 0 = none */
	uint64_t left[CALL_SIDE__MAX];	  /* bytes of the message behind its line */
};

/* ---- which protocol ---- */

static enum op op_of(const struct call_line *word)
{
	for (int i = 1; i < OP__MAX; i++)
		if (call_line_is(word, ops[i].name))
			return (enum op)i;
	return OP_NONE;
}

static struct call_line next_word(struct call_line *l)
{
	*l = call_line_trim(*l);
	for (size_t i = 0; i < l->len; i++)
		if (l->at[i] == '\t')
			return call_line_word(l, '\t');
	return call_line_word(l, ' ');
}

/* A subject: printable words with dots between them. */
static bool is_subject(const struct call_line *l)
{
	for (size_t i = 0; i < l->len; i++)
		if (l->at[i] <= ' ' || l->at[i] == 0x7f)
			return false;
	return l->len && l->len <= SUBJECT_MAX;
}

/* A line that publishes or delivers: subject, number of the subscription, reply subject, bytes of header and all. */
struct message {
	struct call_line subject, reply;
	uint64_t header, bytes;
};

static bool take_message_line(enum op op, struct call_line l, struct message *ret)
{
	bool headed = op == OP_HPUB || op == OP_HMSG, delivered = op == OP_MSG || op == OP_HMSG;
	struct call_line words[6];
	size_t n = 0, fixed = 2u + delivered + headed;

	while (n < ARRAY_SIZE(words) && l.len) {
		words[n] = next_word(&l);
		n += words[n].len != 0;
	}
	if (l.len || n < fixed || n > fixed + 1)
		return false;
	*ret = (struct message){ .subject = words[0] };
	if (n > fixed)
		ret->reply = words[delivered ? 2 : 1];
	if (!call_line_number(&words[n - 1], 10, &ret->bytes) || ret->bytes > PAYLOAD_MAX ||
	    (headed && (!call_line_number(&words[n - 2], 10, &ret->header) || ret->header > ret->bytes)))
		return false;
	return is_subject(&ret->subject) && (!ret->reply.len || is_subject(&ret->reply));
}

static bool is_line(enum op op, struct call_line l)
{
	struct call_line rest = call_line_trim(l);
	struct message m;

	switch (op) {
	case OP_INFO:
	case OP_CONNECT: return rest.len && rest.at[0] == '{';
	case OP_PUB:
	case OP_HPUB:
	case OP_MSG:
	case OP_HMSG: return take_message_line(op, l, &m);
	case OP_SUB:
	case OP_UNSUB:
	case OP_ERR: return rest.len != 0;
	case OP_PING:
	case OP_PONG:
	case OP_OK: return !rest.len;
	case OP_NONE:
	case OP__MAX: break;
	}
	return false;
}

/* Greetings may be longer than what is looked at: their beginning suffices. */
static bool is_greeting(const uint8_t *bytes, size_t len, const char *word)
{
	size_t n = strlen(word);

	return len > n + 1 && !memcmp(bytes, word, n) && bytes[n] == ' ' && bytes[n + 1] == '{';
}

/* Could the bytes still become one of the operations? */
static bool may_become_op(const uint8_t *bytes, size_t len)
{
	for (int i = 1; i < OP__MAX; i++) {
		size_t n = MIN(len, strlen(ops[i].name));
		struct call_line start = { (const char *)bytes, n };
		char word[8] = "";

		memcpy(word, ops[i].name, n);
		if (call_line_is(&start, word))
			return true;
	}
	return false;
}

static enum call_look look_at(const uint8_t *bytes, size_t len, bool ping)
{
	struct cursor c = cur_init(bytes, len);
	struct call_line line, word;
	enum op op;

	if (is_greeting(bytes, len, "INFO"))
		return CALL_LOOK_RESPONSE;
	if (is_greeting(bytes, len, "CONNECT"))
		return CALL_LOOK_REQUEST;
	if (!call_line_take(&c, &line))
		return may_become_op(bytes, len) ? CALL_LOOK_MORE : CALL_LOOK_NO;
	word = next_word(&line);
	op = op_of(&word);
	if (op == OP_NONE || !is_line(op, line) || (!ping && op >= OP_PING) || op == OP_SUB || op == OP_UNSUB)
		return CALL_LOOK_NO;
	return ops[op].request ? CALL_LOOK_REQUEST : CALL_LOOK_RESPONSE;
}

/* PING, PONG and +OK are words of other protocols, too. */
static enum call_look nats_classify(const uint8_t *bytes, size_t len)
{
	return look_at(bytes, len, false);
}

static enum call_look nats_resume(const uint8_t *bytes, size_t len, enum call_side side)
{
	enum call_look look = look_at(bytes, len, true);

	return look == CALL_LOOK_REQUEST && side == CALL_SIDE_RESPONSE ? CALL_LOOK_RESPONSE : look;
}

/* ---- messages ---- */

static uint64_t key_of(const struct call_line *subject)
{
	return map_hash(subject->at, subject->len) | 1;
}

/* A request whose reply goes to the subject of this message. */
static struct call *replied_by(const struct call_io *io, const struct message *m)
{
	struct call *c = call_queue_find_key(io, key_of(&m->subject));

	return c && c->pushed == (io->side == CALL_SIDE_REQUEST) && !c->response.begun ? c : NULL;
}

static struct call *open_message(const struct nats *p, struct call_io *io, const struct message *m)
{
	bool asks = io->side == CALL_SIDE_REQUEST;
	struct call *c = asks ? call_queue_open(io) : call_queue_push(io);

	if (!c)
		return NULL;
	c->key = m->reply.len ? key_of(&m->reply) : 0;
	c->note = asks && p->verbose ? m->reply.len ? NOTE_ONCE : NOTE_ACKED : 0;
	call_entry_set_str(c, CALL_TEXT_OPERATION, m->reply.len ? "request" : asks ? "publish" : "deliver");
	call_entry_set(c, CALL_TEXT_RESOURCE, m->subject.at, m->subject.len);
	return c;
}

static struct call_span *span_of(const struct call_io *io, struct call *c)
{
	bool asks = c->pushed != (io->side == CALL_SIDE_REQUEST);

	return asks ? &c->request : &c->response;
}

static enum call_feed take_message(struct nats *p, struct call_io *io, enum op op, struct call_line line)
{
	struct message m;
	struct call *c;

	if (!take_message_line(op, line, &m))
		return CALL_FEED_BAD;
	c = replied_by(io, &m);
	if (c)
		call_queue_answer(io, c);
	else if (!call_line_begins(&m.subject, INBOX)) /* one of several replies, or to a request from before */
		c = open_message(p, io, &m);
	p->left[io->side] = m.bytes + 2;
	p->message[io->side] = c ? c->id : 0;
	p->headed[io->side] = m.header != 0;
	if (c)
		span_of(io, c)->bytes = (uint64_t)(io->c.pos - io->unit) + m.bytes + 2;
	return CALL_FEED_OK;
}

/* "NATS/1.0 503": the server answers for lack of a responder. */
static void take_status(struct call_io *io, struct call *c)
{
	struct cursor look = io->c;
	struct call_line line, version, code;
	uint64_t status;

	if (!c || !c->response.begun || !call_line_take(&look, &line))
		return;
	version = call_line_word(&line, ' ');
	code = call_line_word(&line, ' ');
	if (!call_line_begins(&version, "NATS/1.") || !call_line_number(&code, 10, &status) || status > 999)
		return;
	c->status = (int64_t)status;
	call_entry_set(c, CALL_TEXT_STATUS, code.at, code.len);
	if (status >= 400)
		c->error = CALL_ERROR_FAILED;
}

/* The message was passed over. */
static void nats_settle(void *state, struct call_io *io)
{
	struct nats *p = state;
	struct call *c;

	if (p->left[io->side])
		return;
	c = p->message[io->side] ? call_queue_find(io, p->message[io->side]) : NULL;
	p->message[io->side] = 0;
	if (!c)
		return;
	if (span_of(io, c) == &c->response) {
		call_queue_answered(io, c);
		return;
	}
	if (!c->key && !(c->note & NOTE_ACKED))
		call_queue_told(io, c);
	else
		call_queue_asked(io, c);
}

/* The bytes behind a message's line: the header's first line is read, all else is passed over. */
static enum call_feed feed_payload(struct nats *p, struct call_io *io)
{
	uint64_t left = p->left[io->side];
	struct call *c;

	if (p->headed[io->side]) {
		if (!io->partial && cur_left(&io->c) < MIN(left, (uint64_t)STATUS_MAX))
			return CALL_FEED_OK;
		c = p->message[io->side] ? call_queue_find(io, p->message[io->side]) : NULL;
		take_status(io, c);
		p->headed[io->side] = false;
	}
	p->left[io->side] = 0;
	io->skip = left;
	return CALL_FEED_OK;
}

/* ---- other operations ---- */

/* "verbose" is true if it is not named. */
static bool is_verbose(const struct call_line *options)
{
	static const char name[] = "\"verbose\":";
	const char *at = memmem(options->at, options->len, name, sizeof(name) - 1);
	struct call_line value;

	if (!at)
		return true;
	at += sizeof(name) - 1;
	value = call_line_trim((struct call_line){ at, options->len - (size_t)(at - options->at) });
	return !call_line_begins(&value, "false");
}

static void open_simple(struct call_io *io, const char *operation, struct call_line resource, uint8_t note)
{
	struct call *c = call_queue_open(io);

	if (!c)
		return;
	c->note = note;
	c->request.bytes = (uint64_t)(io->c.pos - io->unit);
	call_entry_set_str(c, CALL_TEXT_OPERATION, operation);
	call_entry_set(c, CALL_TEXT_RESOURCE, resource.at, resource.len);
	if (!note)
		call_queue_told(io, c);
	else
		call_queue_asked(io, c);
}

/* The oldest call that an answer without a subject may belong to. */
static struct call *acked(const struct call_io *io, uint8_t notes)
{
	for (uint32_t i = 0; i < io->queue->n; i++)
		if (io->queue->calls[i]->note & notes)
			return io->queue->calls[i];
	return NULL;
}

static void take_ok(struct nats *p, struct call_io *io, struct call_line error)
{
	struct call *c = acked(io, p->verbose ? NOTE_CONNECT | NOTE_ACKED | NOTE_ONCE : NOTE_CONNECT);

	if (!c)
		return;
	if (c->note & NOTE_ONCE && !error.len) {
		c->note &= (uint8_t)~NOTE_ONCE;
		return;
	}
	call_queue_answer(io, c);
	c->response.bytes = (uint64_t)(io->c.pos - io->unit);
	error = call_line_trim(error);
	if (error.len) {
		c->error = CALL_ERROR_FAILED;
		if (error.len > 2 && error.at[0] == '\'')
			call_entry_set(c, CALL_TEXT_STATUS, error.at + 1, error.len - 2);
	}
	call_queue_answered(io, c);
}

static void take_pong(struct call_io *io)
{
	struct call *c = acked(io, NOTE_CONNECT);

	if (!c || io->side != CALL_SIDE_RESPONSE)
		return;
	call_queue_answer(io, c);
	c->response.bytes = (uint64_t)(io->c.pos - io->unit);
	call_queue_answered(io, c);
}

static enum call_feed take_op(struct nats *p, struct call_io *io, enum op op, struct call_line line)
{
	struct call_line none = { "", 0 }, rest = line;
	uint8_t ack = p->verbose ? NOTE_ACKED : 0;

	switch (op) {
	case OP_CONNECT:
		p->verbose = is_verbose(&line);
		open_simple(io, "connect", none, NOTE_CONNECT);
		break;
	case OP_SUB: open_simple(io, "subscribe", next_word(&rest), ack); break;
	case OP_UNSUB: open_simple(io, "unsubscribe", none, ack); break;
	case OP_PUB:
	case OP_HPUB:
	case OP_MSG:
	case OP_HMSG: return take_message(p, io, op, line);
	case OP_PONG: take_pong(io); break;
	case OP_OK: take_ok(p, io, none); break;
	case OP_ERR: take_ok(p, io, line); break;
	case OP_INFO:
	case OP_PING:
	case OP_NONE:
	case OP__MAX: break;
	}
	return CALL_FEED_OK;
}

/* A line without its end: of greetings it tells nothing. */
static enum call_feed take_cut(struct nats *p, struct call_io *io)
{
	struct call_line none = { "", 0 };
	struct call *c;

	if (!is_greeting(io->c.pos, cur_left(&io->c), io->side == CALL_SIDE_REQUEST ? "CONNECT" : "INFO"))
		return CALL_FEED_LOST;
	p->seen[io->side] = true;
	if (io->side == CALL_SIDE_REQUEST) {
		open_simple(io, "connect", none, NOTE_CONNECT);
		c = call_queue_youngest(io);
		if (c)
			c->incomplete |= CALL_INCOMPLETE_CUT;
	}
	io->skip = CALL_SKIP_HOLE;
	return CALL_FEED_OK;
}

static enum call_feed feed_line(struct nats *p, struct call_io *io)
{
	struct call_line line, word;
	enum op op;

	call_queue_unit(io);
	if (!call_line_take(&io->c, &line)) {
		return io->partial ? take_cut(p, io) : CALL_FEED_OK;
	}
	word = next_word(&line);
	op = op_of(&word);
	if (op == OP_NONE || !is_line(op, line) ||
	    !(io->side == CALL_SIDE_REQUEST ? ops[op].request : ops[op].response))
		return CALL_FEED_BAD;
	p->seen[io->side] = true;
	if (p->seen[!io->side])
		call_queue_confirm(io);
	return take_op(p, io, op, line);
}

static enum call_feed nats_feed(void *state, struct call_io *io)
{
	struct nats *p = state;

	return p->left[io->side] ? feed_payload(p, io) : feed_line(p, io);
}

static void nats_reset(void *state, enum call_side side, const struct call_queue *queue)
{
	struct nats *p = state;

	(void)queue;
	p->left[side] = p->message[side] = 0;
	p->headed[side] = false;
}

const struct call_protocol nats_protocol = {
	.name = "nats",
	.kind = CALL_KIND_NATS,
	.multiplexed = true,
	.unanswered = true,
	.state_size = sizeof(struct nats),
	.classify = nats_classify,
	.resume = nats_resume,
	.settle = nats_settle,
	.feed = nats_feed,
	.reset = nats_reset,
};
