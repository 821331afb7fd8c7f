// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * HTTP/1.0 and 1.1 (RFC 9110, 9112): heads line by line, bodies by their length. A hole in a body of known length
 * costs nothing. Behind a hole in a chunked body, or in a head, the message ends with the last byte before the next
 * request.
 */
#include <string.h>

#include "base/macros.h"
#include "call/call_http.h"
#include "call/call_line.h"
#include "call/call_protocol.h"
#include "call/call_queue.h"

enum phase {
	PHASE_START,	/* of a message */
	PHASE_HEAD,	/* header lines */
	PHASE_BODY,	/* passed over */
	PHASE_CHUNK,	/* its size */
	PHASE_CHUNK_END, /* the line end behind its data */
	PHASE_TRAILER,
	PHASE__MAX,
};

struct half {
	uint8_t phase;
	bool chunked : 1, has_length : 1, websocket : 1;
	bool orphan : 1;	/* a response without a request */
	bool cut : 1;		/* the head is incomplete */
	bool passing : 1;	/* over the rest of a header line that says nothing */
	uint16_t status;	/* of a response */
	uint64_t length;
};

struct http1 {
	struct half halves[CALL_SIDE__MAX];
};

/* Bits of struct call's note. */
#define NOTE_HEAD 1	/* the response has no body */
#define NOTE_CONNECT 2

#define REQUEST_TIMEOUT 408

static enum call_look http1_classify(const uint8_t *bytes, size_t len)
{
	static const char *const words[] = {
		"GET ", "POST ", "PUT ", "HEAD ", "DELETE ", "OPTIONS ", "PATCH ", "CONNECT ", "TRACE ", "PROPFIND ",
		"PROPPATCH ", "MKCOL ", "COPY ", "MOVE ", "LOCK ", "UNLOCK ", "REPORT ", "SEARCH ", "PURGE ",
		"HTTP/1.",
	};

	/* NATS has that word, too, with a JSON object. */
	if (len >= 8 && memcmp(bytes, "CONNECT ", 8) == 0 && (len == 8 || bytes[8] == '{'))
		return len == 8 ? CALL_LOOK_MORE : CALL_LOOK_NO;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		size_t n = strlen(words[i]);

		if (len && memcmp(bytes, words[i], MIN(n, len)) == 0) {
			if (len < n)
				return CALL_LOOK_MORE;
			return i == ARRAY_SIZE(words) - 1 ? CALL_LOOK_RESPONSE : CALL_LOOK_REQUEST;
		}
	}
	return CALL_LOOK_NO;
}

static struct call *call_of(const struct call_io *io, const struct half *h)
{
	if (io->side == CALL_SIDE_REQUEST)
		return call_queue_youngest(io);
	return h->orphan ? NULL : call_queue_oldest(io);
}

/* ---- first lines ---- */

static bool is_method(const struct call_line *l)
{
	for (size_t i = 0; i < l->len; i++)
		if ((l->at[i] < 'A' || l->at[i] > 'Z') && l->at[i] != '-' && l->at[i] != '_')
			return false;
	return l->len && l->len < 24;
}

static bool open_request(struct http1 *p, struct call_io *io, struct call_line line, bool whole)
{
	struct call_line method = call_line_word(&line, ' '), target = call_line_word(&line, ' ');
	struct call *c;

	if (!is_method(&method) || (whole && !call_line_begins(&line, "HTTP/1.")))
		return false;
	p->halves[CALL_SIDE_REQUEST] = (struct half){ .phase = PHASE_HEAD, .cut = !whole };
	c = call_queue_open(io);
	if (!c)
		return true;
	call_entry_set(c, CALL_TEXT_OPERATION, method.at, method.len);
	call_http_set_target(c, io->conf, target);
	c->note = call_line_is(&method, "HEAD") ? NOTE_HEAD : call_line_is(&method, "CONNECT") ? NOTE_CONNECT : 0;
	return true;
}

static bool open_response(struct http1 *p, struct call_io *io, struct call_line line)
{
	struct call_line version = call_line_word(&line, ' '), code = call_line_word(&line, ' ');
	struct half *h = &p->halves[CALL_SIDE_RESPONSE];
	uint64_t status;
	struct call *c;

	if (!call_line_begins(&version, "HTTP/1.") || code.len != 3 || !call_line_number(&code, 10, &status) ||
	    status < 100)
		return false;
	*h = (struct half){ .phase = PHASE_HEAD, .status = (uint16_t)status };
	if (status < 200 && status != 101)
		return true;	/* informational: the response proper follows */
	c = call_queue_oldest(io);
	if (!c && status != REQUEST_TIMEOUT)	/* answers an idle connection */
		c = call_queue_hidden(io);
	h->orphan = !c;
	if (!c)
		return true;
	call_queue_answer(io, c);
	call_http_set_status(c, (unsigned)status);
	return true;
}

static enum call_feed feed_start(struct http1 *p, struct call_io *io)
{
	struct call_line line;
	bool whole;

	call_queue_unit(io);
	whole = call_line_take(&io->c, &line);
	if (!whole) {
		if (!io->partial)
			return CALL_FEED_OK;
		line = (struct call_line){ .len = cur_left(&io->c) };
		line.at = cur_bytes(&io->c, line.len);
		if (!line.len) {
			if (!io->gap)
				call_queue_follow(io);
			return CALL_FEED_LOST;
		}
	}
	if (whole && !line.len)
		return CALL_FEED_OK;	/* RFC 9112, 2.2: an empty line before the request */
	if (io->side == CALL_SIDE_REQUEST ? !open_request(p, io, line, whole) : !open_response(p, io, line))
		return CALL_FEED_BAD;
	return CALL_FEED_OK;
}

/* ---- header fields ---- */

static void keep_field(struct call_io *io, struct call *c, const struct call_line *name,
		       const struct call_line *value)
{
	size_t len;

	if (call_line_is(name, "content-type") && !call_entry_text(c, CALL_TEXT_CONTENT_TYPE, &len))
		call_entry_set(c, CALL_TEXT_CONTENT_TYPE, value->at, value->len);
	if (io->side != CALL_SIDE_REQUEST)
		return;
	if (call_line_is(name, "host") && !call_entry_text(c, CALL_TEXT_AUTHORITY, &len))
		call_http_set_authority(c, *value);
	call_http_add_header(c, io->conf, name, value);
}

/* False if the field contradicts the protocol. */
static bool take_field(struct call_io *io, struct half *h, struct call_line line)
{
	struct call_line name = call_line_word(&line, ':'), value = call_line_trim(line);
	struct call *c = call_of(io, h);

	if (call_line_is(&name, "transfer-encoding"))
		h->chunked = call_line_has_token(value, "chunked");
	else if (call_line_is(&name, "upgrade"))
		h->websocket = call_line_has_token(value, "websocket");
	else if (call_line_is(&name, "content-length")) {
		if (!call_line_number(&value, 10, &h->length))
			return false;
		h->has_length = true;
	}
	if (c && (io->side == CALL_SIDE_REQUEST || h->status >= 200))
		keep_field(io, c, &name, &value);
	return true;
}

/* ---- ends ---- */

static enum call_feed end_message(struct call_io *io, struct half *h)
{
	if (io->side == CALL_SIDE_REQUEST)
		call_queue_asked(io, call_queue_youngest(io));
	else if (!h->orphan)
		call_queue_answered(io, call_queue_oldest(io));
	*h = (struct half){ 0 };
	return CALL_FEED_OK;
}

/* The message's end is in a hole. */
static enum call_feed lose_end(struct call_io *io, struct half *h, bool in_head)
{
	struct call *c = call_of(io, h);

	if (c && in_head)
		c->incomplete |= CALL_INCOMPLETE_CUT;
	if (io->side == CALL_SIDE_REQUEST)
		call_queue_asked(io, c);
	*h = (struct half){ 0 };
	return CALL_FEED_LOST;
}

static enum call_feed end_request_head(struct call_io *io, struct half *h)
{
	if (h->chunked) {
		h->phase = PHASE_CHUNK;
		return CALL_FEED_OK;
	}
	if (!h->length)
		return end_message(io, h);
	h->phase = PHASE_BODY;
	io->skip = h->length;
	return CALL_FEED_OK;
}

/* Whether a body follows depends on the request, which is unknown: it was not HEAD if no other response is here. */
static bool is_body(const struct call_io *io)
{
	return cur_left(&io->c) && http1_classify(io->c.pos, cur_left(&io->c)) == CALL_LOOK_NO;
}

static enum call_feed end_response_head(struct call_io *io, struct half *h)
{
	struct call *c = call_of(io, h);
	bool connected = c && (c->note & NOTE_CONNECT) && h->status / 100 == 2;

	if (h->status == 101 || connected) {
		io->to = h->websocket ? CALL_SWITCH_WEBSOCKET : CALL_SWITCH_ANEW;
		return end_message(io, h);
	}
	if (h->status < 200) {
		*h = (struct half){ 0 };
		return CALL_FEED_OK;
	}
	if ((!c || !c->request.begun) && (h->length || h->chunked) && !is_body(io))
		return cur_left(&io->c) ? end_message(io, h) : lose_end(io, h, true);
	if ((c && c->note & NOTE_HEAD) || h->status == 204 || h->status == 304)
		return end_message(io, h);
	if (h->chunked) {
		h->phase = PHASE_CHUNK;
		return CALL_FEED_OK;
	}
	if (h->has_length && !h->length)
		return end_message(io, h);
	h->phase = PHASE_BODY;
	io->skip = h->has_length ? h->length : CALL_SKIP_REST;
	return CALL_FEED_OK;
}

/* Does the line say nothing, as far as it is there? Its bytes need not wait for the rest then. */
static bool is_no_use(const struct call_io *io)
{
	static const char *const used[] = { "transfer-encoding", "upgrade", "content-length", "content-type",
					    "host" };
	struct call_line line = { .at = (const char *)io->c.pos, .len = cur_left(&io->c) };
	struct call_line name = call_line_word(&line, ':');

	if (name.at + name.len == line.at)
		return false;	/* the name is incomplete */
	for (size_t i = 0; i < ARRAY_SIZE(used); i++)
		if (call_line_is(&name, used[i]))
			return false;
	return !call_http_is_asked_for(io->conf, &name);
}

static enum call_feed feed_head(struct call_io *io, struct half *h)
{
	struct call_line line;

	if (!call_line_take(&io->c, &line)) {
		if (io->partial)
			return lose_end(io, h, true);
		h->passing |= is_no_use(io);
		if (h->passing)
			cur_skip(&io->c, cur_left(&io->c));
		return CALL_FEED_OK;
	}
	if (h->passing) {
		h->passing = false;
		return CALL_FEED_OK;
	}
	if (line.len)
		return take_field(io, h, line) ? CALL_FEED_OK : CALL_FEED_BAD;
	return io->side == CALL_SIDE_REQUEST ? end_request_head(io, h) : end_response_head(io, h);
}

/* ---- chunked bodies ---- */

static enum call_feed feed_chunk(struct call_io *io, struct half *h)
{
	struct call_line line, size;

	if (!call_line_take(&io->c, &line))
		return io->partial ? lose_end(io, h, false) : CALL_FEED_OK;
	if (h->phase == PHASE_CHUNK_END) {
		h->phase = PHASE_CHUNK;
		return line.len ? CALL_FEED_BAD : CALL_FEED_OK;
	}
	size = call_line_trim(call_line_word(&line, ';'));
	if (!call_line_number(&size, 16, &io->skip))
		return CALL_FEED_BAD;
	h->phase = io->skip ? PHASE_CHUNK_END : PHASE_TRAILER;
	return CALL_FEED_OK;
}

static enum call_feed feed_trailer(struct call_io *io, struct half *h)
{
	struct call_line line;

	if (!call_line_take(&io->c, &line))
		return io->partial ? lose_end(io, h, false) : CALL_FEED_OK;
	return line.len ? CALL_FEED_OK : end_message(io, h);
}

static enum call_feed feed_step(struct http1 *p, struct call_io *io, struct half *h)
{
	switch ((enum phase)h->phase) {
	case PHASE_START:
		return feed_start(p, io);
	case PHASE_HEAD:
		return h->cut ? lose_end(io, h, true) : feed_head(io, h);
	case PHASE_BODY:
		return end_message(io, h);
	case PHASE_CHUNK:
	case PHASE_CHUNK_END:
		return feed_chunk(io, h);
	case PHASE_TRAILER:
		return feed_trailer(io, h);
	case PHASE__MAX:
		break;
	}
	return CALL_FEED_BAD;
}

static enum call_feed http1_feed(void *state, struct call_io *io)
{
	struct http1 *p = state;
	struct half *h = &p->halves[io->side];
	enum call_feed r = CALL_FEED_OK;
	const uint8_t *before;
	uint8_t phase;

	do {
		before = io->c.pos;
		phase = h->phase;
		r = feed_step(p, io, h);
	} while (r == CALL_FEED_OK && !io->skip && io->to == CALL_SWITCH_NONE &&
		 (io->c.pos != before || h->phase != phase));
	return r;
}

static void http1_reset(void *state, enum call_side side, const struct call_queue *queue)
{
	struct http1 *p = state;

	p->halves[side] = (struct half){ .chunked = side == CALL_SIDE_RESPONSE && queue->n &&
						    queue->calls[0]->response.begun };
}

/* The last chunk of a response whose head was seen. */
static size_t http1_tail(void *state, const uint8_t *bytes, size_t len)
{
	static const char last[] = "\r\n0\r\n\r\n";
	const size_t n = sizeof(last) - 1;
	struct half *h = &((struct http1 *)state)->halves[CALL_SIDE_RESPONSE];

	if (!h->chunked || !((len >= n && memcmp(bytes + len - n, last, n) == 0) ||
			     (len == n - 2 && memcmp(bytes, last + 2, n - 2) == 0)))
		return len;
	h->phase = PHASE_CHUNK;
	return len - (n - 2);
}

const struct call_protocol http1_protocol = {
	.name = "http", .kind = CALL_KIND_HTTP, .state_size = sizeof(struct http1), .ordered = true,
	.classify = http1_classify, .feed = http1_feed, .reset = http1_reset, .tail = http1_tail,
};
