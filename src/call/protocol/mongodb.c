// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * MongoDB ("MongoDB Wire Protocol" and "OP_MSG" of its manual; https://bsonspec.org).
 *
 * A message has a number, a response that of the message it answers. The operation is the first name of the command's
 * document, the resource its collection; the statement is the document with "?" in the place of values. Commands of
 * authentication show their name alone. Compressed messages are calls without a name.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "base/map.h"
#include "call/call_frame.h"
#include "call/call_protocol.h"
#include "call/call_queue.h"

#define HEADER 16
#define MESSAGE_MAX 48000000 /* maxMessageSizeBytes */
#define READ_MAX 4096
#define DEPTH_MAX 6 /* of documents in a statement */
#define WORD_MAX 40

enum { OP_REPLY = 1, OP_QUERY = 2004, OP_COMPRESSED = 2012, OP_MSG = 2013 };

#define FLAG_CHECKSUM 1u
#define FLAG_MORE 2u	      /* of a request: no answer; of a response: another one follows */
#define FLAG_EXHAUST 0x10000u /* of a request: several responses are accepted */
#define REPLY_FAILED 2u

enum {
	BSON_DOUBLE = 1,
	BSON_STRING,
	BSON_DOCUMENT,
	BSON_ARRAY,
	BSON_BINARY,
	BSON_UNDEFINED,
	BSON_ID,
	BSON_BOOL,
	BSON_DATE,
	BSON_NULL,
	BSON_REGEX,
	BSON_POINTER,
	BSON_CODE,
	BSON_SYMBOL,
	BSON_SCOPED,
	BSON_INT32,
	BSON_TIME,
	BSON_INT64,
	BSON_DECIMAL,
	BSON_MAX_KEY = 0x7f,
	BSON_MIN_KEY = 0xff,
};

struct mongodb {
	bool asking; /* the request ends with the content that is passed over */
	bool oneway; /* and has no response */
	bool answering;
	bool streaming;	   /* responses to one request follow each other */
	uint32_t streamed; /* number of the last one */
	uint64_t answer;   /* id of the call that is answered; 0 = none */
};

struct header {
	uint32_t size, number, answers, op;
};

static struct header header_at(const uint8_t *bytes, size_t len)
{
	struct cursor c = cur_init(bytes, len);
	struct header h = { .size = cur_u32(&c) };

	h.number = cur_u32(&c);
	h.answers = cur_u32(&c);
	h.op = cur_u32(&c);
	return h;
}

static bool is_header(const struct header *h)
{
	if (h->size <= HEADER + 4 || h->size > MESSAGE_MAX)
		return false;
	return h->op == OP_REPLY || h->op == OP_QUERY || h->op == OP_COMPRESSED || h->op == OP_MSG;
}

/* ---- which protocol ---- */

/* The beginning of a message's body. */
static bool is_body(struct cursor c, const struct header *h)
{
	uint32_t first = cur_u32(&c), size;

	if (h->op == OP_COMPRESSED)
		return first == OP_MSG || first == OP_QUERY || first == OP_REPLY;
	if (h->op != OP_MSG)
		return first < 0x100;
	if (first & ~(FLAG_CHECKSUM | FLAG_MORE | FLAG_EXHAUST) || cur_u8(&c) > 1)
		return false;
	size = cur_u32(&c);
	return cur_ok(&c) && size >= 5 && size <= h->size - HEADER - 5;
}

static enum call_look mongodb_classify(const uint8_t *bytes, size_t len)
{
	struct header h = header_at(bytes, len);
	struct cursor body;

	if (len >= HEADER && !is_header(&h))
		return CALL_LOOK_NO;
	if (len >= 4 && (h.size <= HEADER + 4 || h.size > MESSAGE_MAX))
		return CALL_LOOK_NO;
	if (len < HEADER + 9)
		return CALL_LOOK_MORE;
	body = cur_init(bytes + HEADER, len - HEADER);
	if (!is_body(body, &h))
		return CALL_LOOK_NO;
	return h.answers || h.op == OP_REPLY ? CALL_LOOK_RESPONSE : CALL_LOOK_REQUEST;
}

static enum call_look mongodb_resume(const uint8_t *bytes, size_t len, enum call_side side)
{
	enum call_look look = mongodb_classify(bytes, len);

	if (look == CALL_LOOK_RESPONSE && side == CALL_SIDE_REQUEST)
		return CALL_LOOK_NO;
	return look;
}

/* ---- documents ---- */

struct element {
	uint8_t type;
	const char *name;
	size_t name_len;
	struct cursor value; /* as much of it as was captured */
};

/* Bytes of a value; 0 for types without one, and for unknown ones with *ret_known false. */
static uint64_t value_size(uint8_t type, struct cursor c, bool *ret_known)
{
	size_t len, options;

	*ret_known = true;
	switch (type) {
	case BSON_DOUBLE:
	case BSON_DATE:
	case BSON_TIME:
	case BSON_INT64: return 8;
	case BSON_STRING:
	case BSON_CODE:
	case BSON_SYMBOL: return 4ull + cur_u32(&c);
	case BSON_DOCUMENT:
	case BSON_ARRAY:
	case BSON_SCOPED: return cur_u32(&c);
	case BSON_BINARY: return 5ull + cur_u32(&c);
	case BSON_ID: return 12;
	case BSON_BOOL: return 1;
	case BSON_REGEX:
		call_frame_string(&c, &len);
		call_frame_string(&c, &options);
		return len + options + 2;
	case BSON_POINTER: return 4ull + cur_u32(&c) + 12;
	case BSON_INT32: return 4;
	case BSON_DECIMAL: return 16;
	case BSON_UNDEFINED:
	case BSON_NULL:
	case BSON_MAX_KEY:
	case BSON_MIN_KEY: return 0;
	default: *ret_known = false; return 0;
	}
}

/* The next element; false at the document's end, or where it is cut or unknown: then @c is bad. */
static bool next_element(struct cursor *c, struct element *ret)
{
	size_t left;
	uint64_t size;
	bool known;

	*ret = (struct element){ .type = cur_u8(c) };
	if (!cur_ok(c) || !ret->type)
		return false;
	left = cur_left(c);
	ret->name = call_frame_string(c, &ret->name_len);
	size = value_size(ret->type, *c, &known);
	if (!known || !ret->name || ret->name_len == left) {
		c->bad = true;
		return false;
	}
	ret->value = cur_sub(c, MIN((uint64_t)cur_left(c), size));
	if (cur_left(&ret->value) < size)
		c->bad = true; /* this one is returned, and is the last */
	return true;
}

static bool is_named(const struct element *e, const char *name)
{
	return e->name_len == strlen(name) && !memcmp(e->name, name, e->name_len);
}

/* The text of a string, without its NUL; NULL if it is cut. */
static const char *text_of(struct element e, size_t *ret_len)
{
	uint32_t size = cur_u32(&e.value);
	const char *text = cur_bytes(&e.value, size);

	*ret_len = size ? size - 1 : 0;
	return e.type == BSON_STRING && size ? text : NULL;
}

/* A number of any type; @otherwise if it is none. */
static int64_t number_of(struct element e, int64_t otherwise)
{
	double d;
	int64_t v = otherwise;

	switch (e.type) {
	case BSON_INT32: v = (int32_t)cur_u32(&e.value); break;
	case BSON_INT64: v = (int64_t)cur_u64(&e.value); break;
	case BSON_BOOL: v = cur_u8(&e.value); break;
	case BSON_DOUBLE:
		cur_copy(&e.value, &d, sizeof(d));
		v = d > -1e9 && d < 1e9 ? (int64_t)d : otherwise;
		break;
	default: break;
	}
	return cur_ok(&e.value) ? v : otherwise;
}

static struct cursor document_of(const struct element *e)
{
	struct cursor c = e->value;

	cur_skip(&c, 4);
	return c;
}

/* ---- statements ---- */

struct statement {
	char text[CALL_TEXT_BYTES];
	size_t len;
	bool cut;
};

static void add(struct statement *s, const char *text, size_t len)
{
	size_t n = MIN(len, sizeof(s->text) - s->len);

	s->cut |= n < len;
	memcpy(s->text + s->len, text, n);
	s->len += n;
}

/* Fields of sessions, transactions and drivers: they do not tell statements apart. */
static bool is_plumbing(const struct element *e)
{
	static const char *const names[] = { "lsid",	    "txnNumber",    "autocommit", "startTransaction",
					     "readConcern", "writeConcern", "ordered",	  "comment",
					     "apiVersion",  "maxTimeMS" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (is_named(e, names[i]))
			return true;
	return e->name_len && e->name[0] == '$';
}

/* The value of a command's name, as a rule; getMore has it behind. */
static bool is_collection(const struct element *e, bool first)
{
	return e->type == BSON_STRING && (first || is_named(e, "collection"));
}

static void add_text(struct statement *s, const struct element *e)
{
	size_t len;
	const char *text = text_of(*e, &len);

	if (text)
		add(s, text, len);
}

/* A place of the statement that is open: a document or an array. */
struct level {
	struct cursor c;
	bool array, filled;
	size_t last, last_len; /* text of the last element of an array: equal ones behind it are left out */
};

static void fold_equal(struct statement *s, struct level *l, size_t start)
{
	size_t len = s->len - start;

	if (l->last_len && l->last_len == len && !memcmp(s->text + l->last, s->text + start, len)) {
		s->len = start - 2; /* with ", " */
		return;
	}
	l->last = start;
	l->last_len = len;
}

/* Documents in an array are shown, other values of it are one "?". Iterative: depth is bounded, input is not trusted.
 */
static void add_document(struct statement *s, struct cursor doc, bool top)
{
	struct level levels[DEPTH_MAX] = { { .c = doc } };
	size_t starts[DEPTH_MAX] = { 0 };
	int depth = 0;

	add(s, "{", 1);
	while (depth >= 0 && !s->cut) {
		struct level *l = &levels[depth];
		struct element e;
		bool deeper;

		if (!next_element(&l->c, &e)) {
			s->cut |= !cur_ok(&l->c);
			add(s, l->array ? "]" : "}", 1);
			if (--depth >= 0 && levels[depth].array)
				fold_equal(s, &levels[depth], starts[depth]);
			continue;
		}
		if (!depth && top && is_plumbing(&e))
			continue;
		deeper = (e.type == BSON_DOCUMENT || e.type == BSON_ARRAY) && depth + 1 < DEPTH_MAX;
		if (l->filled)
			add(s, ", ", 2);
		starts[depth] = s->len;
		if (!l->array) {
			add(s, e.name, e.name_len);
			add(s, ": ", 2);
		}
		if (deeper) {
			levels[++depth] = (struct level){ .c = document_of(&e), .array = e.type == BSON_ARRAY };
			add(s, e.type == BSON_ARRAY ? "[" : "{", 1);
		} else {
			if (!depth && top && is_collection(&e, !l->filled))
				add_text(s, &e);
			else
				add(s, "?", 1);
			if (l->array)
				fold_equal(s, l, starts[depth]);
		}
		l->filled = true;
	}
}

/* Commands whose values, or names of fields, are secrets. */
static bool is_secret(const struct element *command)
{
	static const char *const names[] = { "saslStart",  "saslContinue", "authenticate", "getnonce",
					     "createUser", "updateUser",   "copydb",	   "copydbsaslstart",
					     "hello",	   "isMaster",	   "ismaster",	   "logout" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (is_named(command, names[i]))
			return true;
	return false;
}

static void set_statement(struct call *c, struct cursor doc)
{
	struct statement s = { .len = 0 };

	add_document(&s, doc, true);
	if (s.cut)
		c->incomplete |= CALL_INCOMPLETE_CUT;
	call_entry_set(c, CALL_TEXT_STATEMENT, s.text, s.len);
	c->statement_id = map_hash(s.text, s.len) | 1;
}

/* ---- requests ---- */

static void take_names(struct call *c, struct cursor doc, const struct element *command)
{
	struct element e;
	size_t len;
	const char *text = text_of(*command, &len);

	if (text && len)
		call_entry_set(c, CALL_TEXT_RESOURCE, text, len);
	while (next_element(&doc, &e)) {
		text = text_of(e, &len);
		if (text && is_named(&e, "$db"))
			call_entry_set(c, CALL_TEXT_DATABASE, text, len);
		else if (text && is_named(&e, "collection") && is_named(command, "getMore"))
			call_entry_set(c, CALL_TEXT_RESOURCE, text, len);
	}
}

/* The document of a command; its length comes first. */
static void take_command(struct call *c, struct cursor doc)
{
	struct cursor first, rest;
	struct element command;
	uint32_t size = cur_u32(&doc);

	if (size > 4)
		doc = cur_sub(&doc, MIN((size_t)size - 4, cur_left(&doc)));
	first = rest = doc;
	if (!next_element(&first, &command) || command.name_len > WORD_MAX) {
		c->incomplete |= CALL_INCOMPLETE_CUT;
		return;
	}
	call_entry_set(c, CALL_TEXT_OPERATION, command.name, command.name_len);
	if (is_secret(&command))
		return;
	take_names(c, rest, &command);
	set_statement(c, doc);
}

/* Sections: a document, and lists of documents beside it. */
static void take_sections(struct call *c, struct cursor body)
{
	while (cur_left(&body)) {
		uint8_t kind = cur_u8(&body);
		struct cursor look = body;
		uint32_t size = cur_u32(&look);

		if (kind == 0) {
			take_command(c, body);
			return;
		}
		if (kind != 1)
			break;
		cur_skip(&body, size);
	}
	c->incomplete |= CALL_INCOMPLETE_CUT;
}

/* Commands before OP_MSG: a query to the collection $cmd of a database. */
static void take_query(struct call *c, struct cursor body)
{
	size_t len;
	const char *name;

	cur_skip(&body, 4);
	name = call_frame_string(&body, &len);
	if (name && len > 5 && !memcmp(name + len - 5, ".$cmd", 5))
		call_entry_set(c, CALL_TEXT_DATABASE, name, len - 5);
	cur_skip(&body, 8);
	take_command(c, body);
}

static enum call_feed take_request(struct mongodb *p, struct call_io *io, const struct header *h, struct cursor body)
{
	struct call *c;

	if (h->answers || h->op == OP_REPLY)
		return CALL_FEED_BAD;
	c = call_queue_open(io);
	p->asking = c != NULL;
	if (!c)
		return CALL_FEED_OK;
	c->key = h->number;
	if (h->op == OP_COMPRESSED) {
		c->incomplete |= CALL_INCOMPLETE_CUT;
	} else if (h->op == OP_QUERY) {
		take_query(c, body);
	} else {
		p->oneway = cur_u32(&body) & FLAG_MORE;
		take_sections(c, body);
	}
	return CALL_FEED_OK;
}

/* ---- responses ---- */

struct result {
	int64_t ok, code, rows; /* -1: unknown */
	const char *name;
	size_t name_len;
	bool cursor;
};

static int64_t count_elements(struct cursor doc)
{
	struct element e;
	int64_t n = 0;

	while (next_element(&doc, &e))
		n++;
	return cur_ok(&doc) ? n : -1;
}

static void read_cursor(struct cursor doc, struct result *r)
{
	struct element e;

	r->cursor = true;
	while (next_element(&doc, &e))
		if (is_named(&e, "firstBatch") || is_named(&e, "nextBatch"))
			r->rows = count_elements(document_of(&e));
}

/* The first of the errors: { index, code, errmsg }. */
static void read_write_errors(struct cursor doc, struct result *r)
{
	struct element e;
	struct cursor first;

	if (!next_element(&doc, &e) || e.type != BSON_DOCUMENT)
		return;
	first = document_of(&e);
	while (next_element(&first, &e))
		if (is_named(&e, "code"))
			r->code = number_of(e, -1);
}

/* False if the document is cut. */
static bool read_result(struct cursor doc, struct result *r)
{
	struct element e;

	*r = (struct result){ .ok = -1, .code = -1, .rows = -1 };
	while (next_element(&doc, &e)) {
		if (is_named(&e, "ok"))
			r->ok = number_of(e, -1);
		else if (is_named(&e, "code"))
			r->code = number_of(e, -1);
		else if (is_named(&e, "codeName"))
			r->name = text_of(e, &r->name_len);
		else if (is_named(&e, "n"))
			r->rows = number_of(e, -1);
		else if (is_named(&e, "cursor") && e.type == BSON_DOCUMENT)
			read_cursor(document_of(&e), r);
		else if (is_named(&e, "writeErrors") && e.type == BSON_ARRAY)
			read_write_errors(document_of(&e), r);
	}
	return cur_ok(&doc);
}

static void take_result(struct call *c, struct cursor doc)
{
	struct result r;
	char number[24];
	bool whole;

	cur_skip(&doc, 4);
	whole = read_result(doc, &r);
	if (r.rows >= 0)
		c->rows = (uint64_t)r.rows;
	if (r.code > 0) {
		snprintf(number, sizeof(number), "%" PRId64, r.code);
		c->status = r.code;
		call_entry_set_str(c, CALL_TEXT_STATUS, number);
		if (r.name)
			call_entry_set(c, CALL_TEXT_STATUS, r.name, r.name_len);
	} else if (r.ok == 1 || r.cursor) {
		c->status = 0;
	}
	if (r.ok == 0 || r.code > 0)
		c->error = CALL_ERROR_FAILED;
	/* Errors are short, and a cursor is none: only where neither was seen is the result unknown. */
	if (!whole && r.ok < 0 && r.code <= 0 && !r.cursor)
		c->incomplete |= CALL_INCOMPLETE_CUT;
}

static void take_reply(struct call *c, struct cursor body)
{
	uint32_t flags = cur_u32(&body);

	cur_skip(&body, 8 + 4 + 4);
	if (flags & REPLY_FAILED)
		c->error = CALL_ERROR_FAILED;
	take_result(c, body);
}

/* Is it one of several responses to a request, whose first one was its answer? */
static bool is_streamed(struct mongodb *p, const struct header *h, bool more)
{
	bool follows = p->streaming && h->answers == p->streamed;

	if (follows || more) {
		p->streaming = more;
		p->streamed = h->number;
	}
	return follows;
}

static enum call_feed take_response(struct mongodb *p, struct call_io *io, const struct header *h, struct cursor body)
{
	struct call *c = call_queue_find_key(io, h->answers);
	uint32_t flags = h->op == OP_MSG ? cur_u32(&body) : 0;

	if (h->op == OP_QUERY)
		return CALL_FEED_BAD;
	if (is_streamed(p, h, flags & FLAG_MORE))
		return CALL_FEED_OK;
	if (!c) {
		call_queue_orphan(io);
		return CALL_FEED_OK;
	}
	p->answering = true;
	p->answer = c->id;
	call_queue_answer(io, c);
	if (h->op == OP_COMPRESSED)
		c->incomplete |= CALL_INCOMPLETE_CUT;
	else if (h->op == OP_REPLY)
		take_reply(c, body);
	else if (cur_u8(&body) == 0)
		take_result(c, body);
	else
		c->incomplete |= CALL_INCOMPLETE_CUT;
	return CALL_FEED_OK;
}

/* ---- messages ---- */

static enum call_feed mongodb_feed(void *state, struct call_io *io)
{
	struct mongodb *p = state;
	struct cursor body;
	struct header h;
	bool cut;

	if (cur_left(&io->c) < HEADER)
		return io->partial ? CALL_FEED_LOST : CALL_FEED_OK;
	h = header_at(io->c.pos, HEADER);
	if (!is_header(&h))
		return CALL_FEED_BAD;
	call_queue_unit(io);
	if (!call_frame_take(io, h.size, READ_MAX, &body, &cut))
		return CALL_FEED_OK;
	cur_skip(&body, HEADER);
	return io->side == CALL_SIDE_REQUEST ? take_request(p, io, &h, body) : take_response(p, io, &h, body);
}

static void mongodb_settle(void *state, struct call_io *io)
{
	struct mongodb *p = state;
	struct call *c;

	if (io->side == CALL_SIDE_REQUEST && p->asking) {
		c = call_queue_youngest(io);
		if (p->oneway)
			call_queue_told(io, c);
		else
			call_queue_asked(io, c);
		p->asking = p->oneway = false;
	} else if (io->side == CALL_SIDE_RESPONSE && p->answering) {
		c = call_queue_find(io, p->answer);
		p->answering = false;
		if (c)
			c->request.done = true;
		call_queue_answered(io, c);
	}
}

static void mongodb_reset(void *state, enum call_side side, const struct call_queue *queue)
{
	struct mongodb *p = state;

	(void)queue;
	if (side == CALL_SIDE_REQUEST)
		p->asking = p->oneway = false;
	else
		p->answering = p->streaming = false;
}

const struct call_protocol mongodb_protocol = {
	.name = "mongodb",
	.kind = CALL_KIND_MONGODB,
	.state_size = sizeof(struct mongodb),
	.classify = mongodb_classify,
	.resume = mongodb_resume,
	.settle = mongodb_settle,
	.feed = mongodb_feed,
	.reset = mongodb_reset,
};
