// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * HTTP/2 (RFC 9113) and gRPC over it (PROTOCOL-HTTP2.md of grpc). A call is a stream that the client opened. Of DATA
 * frames only the header is read. Names and values from before the start: hpack.h.
 */
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "call/call_frame.h"
#include "call/call_http.h"
#include "call/call_queue.h"
#include "call/protocol/hpack.h"

#define FRAME_HEADER 9
#define BLOCK_MAX 16384		/* bytes of a header block that are read */
#define PREFACE_LEN 24

enum frame {
	FRAME_DATA, FRAME_HEADERS, FRAME_PRIORITY, FRAME_RST_STREAM, FRAME_SETTINGS, FRAME_PUSH_PROMISE, FRAME_PING,
	FRAME_GOAWAY, FRAME_WINDOW_UPDATE, FRAME_CONTINUATION,
	FRAME__MAX,
};

#define FLAG_END_STREAM 0x1
#define FLAG_PADDED 0x8
#define FLAG_PRIORITY 0x20

static const char preface[PREFACE_LEN + 1] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

struct http2 {
	struct hpack tables[CALL_SIDE__MAX];
	uint32_t ends[CALL_SIDE__MAX];	/* stream that ends with the content that is passed over; 0 = none */
};

/* The first frame of a server, which may come before the preface: RFC 9113, section 3.4. */
static bool is_settings(const uint8_t *bytes, size_t len)
{
	static const uint8_t rest[] = { FRAME_SETTINGS, 0, 0, 0, 0, 0 };	/* type, flags, stream */

	return len >= 3 + sizeof(rest) && !bytes[0] && !bytes[1] && bytes[2] % 6 == 0 &&
	       !memcmp(bytes + 3, rest, sizeof(rest));
}

static enum call_look http2_classify(const uint8_t *bytes, size_t len)
{
	if (is_settings(bytes, len))
		return CALL_LOOK_RESPONSE;
	if (len && memcmp(bytes, preface, MIN(len, (size_t)PREFACE_LEN)) == 0)
		return len < PREFACE_LEN ? CALL_LOOK_MORE : CALL_LOOK_REQUEST;
	return CALL_LOOK_NO;
}

/* A frame's header stands at the start of a turn: length, type, stream and the fixed lengths fit. */
static enum call_look http2_resume(const uint8_t *bytes, size_t len, enum call_side side)
{
	struct cursor c = cur_init(bytes, len);
	uint32_t size = (uint32_t)cur_u16be(&c) << 8, stream;
	uint8_t type;

	size |= cur_u8(&c);
	type = cur_u8(&c);
	cur_skip(&c, 1);
	stream = cur_u32be(&c);
	if (!cur_ok(&c))
		return CALL_LOOK_MORE;
	if (type >= FRAME__MAX || size > BLOCK_MAX || stream >> 31 || (type == FRAME_PING && size != 8) ||
	    ((type == FRAME_WINDOW_UPDATE || type == FRAME_RST_STREAM) && size != 4) ||
	    (type <= FRAME_HEADERS && !(stream & 1)))
		return CALL_LOOK_NO;
	return side == CALL_SIDE_REQUEST ? CALL_LOOK_REQUEST : CALL_LOOK_RESPONSE;
}

/* ---- header blocks ---- */

static struct call_line name_of(const struct hpack_field *f)
{
	return (struct call_line){ f->name, f->name_len };
}

static void take_path(struct call *c, const struct call_pool_conf *conf, const struct hpack_field *f)
{
	call_http_set_target(c, conf, (struct call_line){ f->value, f->value_len });
}

static void take_content_type(struct call *c, const struct hpack_field *f)
{
	struct call_line value = { f->value, f->value_len };

	call_entry_set(c, CALL_TEXT_CONTENT_TYPE, f->value, f->value_len);
	if (call_line_begins(&value, "application/grpc"))
		c->kind = CALL_KIND_GRPC;
}

static void take_grpc_status(struct call *c, uint64_t status)
{
	/* https://grpc.io/docs/guides/status-codes/ */
	static const char *const names[] = {
		"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
		"PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE",
		"UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
	};

	c->kind = CALL_KIND_GRPC;
	c->status = (int64_t)status;
	c->error = status ? CALL_ERROR_FAILED : CALL_ERROR_NONE;
	if (status < ARRAY_SIZE(names))
		call_entry_set_str(c, CALL_TEXT_STATUS, names[status]);
}

static void take_field(struct call_io *io, struct call *c, const struct hpack_field *f)
{
	struct call_line name = name_of(f), value = { f->value, f->value_len };
	uint64_t number;

	if (call_line_is(&name, "content-type"))
		take_content_type(c, f);
	else if (call_line_is(&name, "grpc-status") && call_line_number(&value, 10, &number))
		take_grpc_status(c, number);
	else if (call_line_is(&name, ":status") && call_line_number(&value, 10, &number) && number >= 200 &&
		 number < 1000)
		call_http_set_status(c, (unsigned)number);
	if (io->side != CALL_SIDE_REQUEST)
		return;
	if (call_line_is(&name, ":method"))
		call_entry_set(c, CALL_TEXT_OPERATION, f->value, f->value_len);
	else if (call_line_is(&name, ":path"))
		take_path(c, io->conf, f);
	else if (call_line_is(&name, ":authority"))
		call_http_set_authority(c, value);
	else
		call_http_add_header(c, io->conf, &name, &value);
}

/* An old entry at the place of the path: its number stands for it, and is the same wherever the path is. */
static void take_unknown(struct call_io *io, struct call *c, const struct hpack_field *f, unsigned *unknown)
{
	char text[24];
	size_t len;

	c->incomplete |= CALL_INCOMPLETE_HPACK;
	if (io->side == CALL_SIDE_REQUEST && !call_entry_text(c, CALL_TEXT_RESOURCE, &len) && !(*unknown)++) {
		snprintf(text, sizeof(text), "?%llu", (unsigned long long)f->old);
		call_entry_set_str(c, CALL_TEXT_RESOURCE, text);
	}
}

static bool take_block(struct http2 *p, struct call_io *io, struct call *c, struct cursor block, bool cut)
{
	struct hpack_field f;
	unsigned unknown = 0;
	int r;

	while ((r = hpack_next(&p->tables[io->side], io->queue->pool, &block, &f)) > 0) {
		if (c && f.unknown)
			take_unknown(io, c, &f, &unknown);
		else if (c)
			take_field(io, c, &f);
		if (c && f.cut)
			c->incomplete |= CALL_INCOMPLETE_CUT;
	}
	if (c && cut)
		c->incomplete |= CALL_INCOMPLETE_CUT;
	return r == 0 || cut;
}

/* ---- frames ---- */

static struct call *call_of(struct call_io *io, uint32_t stream, bool opens)
{
	struct call *c = call_queue_find(io, stream);

	if (c || !opens)
		return c;
	c = call_queue_open(io);
	if (c) {
		c->id = stream;
		c->numbered = true;
	}
	return c;
}

static void count(struct call_io *io, struct call *c, uint64_t bytes)
{
	struct call_span *s = !c ? NULL : io->side == CALL_SIDE_REQUEST ? &c->request : &c->response;

	if (!s)
		return;
	s->bytes += bytes;
	s->last_ns = io->now_ns;
}

static void end_side(struct call_io *io, uint32_t stream)
{
	struct call *c = call_queue_find(io, stream);

	if (io->side == CALL_SIDE_REQUEST)
		call_queue_asked(io, c);
	else
		call_queue_answered(io, c);
}

/* The block of a frame without its padding and priority. */
static struct cursor block_of(struct cursor body, uint8_t flags)
{
	uint8_t padding = flags & FLAG_PADDED ? cur_u8(&body) : 0;

	if (flags & FLAG_PRIORITY)
		cur_skip(&body, 5);
	return cur_sub(&body, cur_left(&body) - MIN((size_t)padding, cur_left(&body)));
}

static enum call_feed take_frame(struct http2 *p, struct call_io *io, uint8_t type, uint8_t flags, uint32_t stream,
				 uint64_t size, struct cursor body, bool cut)
{
	bool asks = io->side == CALL_SIDE_REQUEST;
	struct call *c = stream & 1 ? call_of(io, stream, asks && type == FRAME_HEADERS) : NULL;

	switch ((enum frame)type) {
	case FRAME_HEADERS:
	case FRAME_CONTINUATION:
	case FRAME_PUSH_PROMISE:
		if (!asks)
			call_queue_answer(io, c);
		if (type == FRAME_PUSH_PROMISE)
			cur_skip(&body, 4);
		if (!take_block(p, io, c, type == FRAME_HEADERS ? block_of(body, flags) : body, cut))
			return CALL_FEED_BAD;
		break;
	case FRAME_RST_STREAM:
		call_queue_end(io, c, CALL_END_RESET);
		return CALL_FEED_OK;
	case FRAME_DATA:
	case FRAME_PRIORITY:
	case FRAME_SETTINGS:
	case FRAME_PING:
	case FRAME_GOAWAY:
	case FRAME_WINDOW_UPDATE:
	case FRAME__MAX:
		break;
	}
	if (type == FRAME_DATA || type == FRAME_HEADERS || type == FRAME_CONTINUATION) {
		count(io, c, size + FRAME_HEADER);
		p->ends[io->side] = c && type != FRAME_CONTINUATION && (flags & FLAG_END_STREAM) ? stream : 0;
	}
	return CALL_FEED_OK;
}

static enum call_feed http2_feed(void *state, struct call_io *io)
{
	struct http2 *p = state;
	struct cursor header = io->c, body;
	uint32_t size = (uint32_t)cur_u16be(&header) << 8, stream;
	uint8_t type, flags;
	bool cut, read;

	size |= cur_u8(&header);
	type = cur_u8(&header);
	flags = cur_u8(&header);
	stream = cur_u32be(&header) & INT32_MAX;
	if (!cur_ok(&header))
		return io->partial ? CALL_FEED_LOST : CALL_FEED_OK;
	if (memcmp(io->c.pos, preface, FRAME_HEADER) == 0) {
		call_frame_take(io, PREFACE_LEN, PREFACE_LEN, &body, &cut);
		return CALL_FEED_OK;
	}
	if (type >= FRAME__MAX && size > BLOCK_MAX)
		return CALL_FEED_BAD;
	call_queue_unit(io);
	read = type == FRAME_HEADERS || type == FRAME_CONTINUATION || type == FRAME_PUSH_PROMISE;
	if (!call_frame_take(io, (uint64_t)size + FRAME_HEADER, read ? BLOCK_MAX + FRAME_HEADER : FRAME_HEADER, &body,
			     &cut))
		return CALL_FEED_OK;
	cur_skip(&body, FRAME_HEADER);
	return take_frame(p, io, type, flags, stream, size, body, cut);
}

static void http2_settle(void *state, struct call_io *io)
{
	struct http2 *p = state;

	if (p->ends[io->side])
		end_side(io, p->ends[io->side]);
	p->ends[io->side] = 0;
}

/* The blocks of a lost part may have changed the table: what is in it is unknown. */
static void http2_reset(void *state, enum call_side side, const struct call_queue *queue)
{
	struct http2 *p = state;

	p->ends[side] = 0;
	hpack_fini(&p->tables[side], queue->pool);
}

static void http2_fini(void *state, struct call_pool *pool)
{
	struct http2 *p = state;

	hpack_fini(&p->tables[CALL_SIDE_REQUEST], pool);
	hpack_fini(&p->tables[CALL_SIDE_RESPONSE], pool);
}

const struct call_protocol http2_protocol = {
	.name = "http2", .kind = CALL_KIND_HTTP2, .multiplexed = true, .state_size = sizeof(struct http2),
	.classify = http2_classify, .resume = http2_resume,
	.settle = http2_settle, .feed = http2_feed, .reset = http2_reset,
	.fini = http2_fini,
};
