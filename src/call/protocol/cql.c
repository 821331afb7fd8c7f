// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Cassandra's native protocol (doc/native_protocol_v3.spec to v5.spec of its source).
 *
 * A frame has a stream number, its response the same one. Prepared statements are known by their id. In version 5 the
 * frames lie in segments with checksums from the response to STARTUP on. Bodies that are compressed are calls without
 * a statement. The tokens of a login are not read.
 */
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "base/map.h"
#include "call/call_frame.h"
#include "call/call_names.h"
#include "call/call_protocol.h"
#include "call/call_queue.h"
#include "call/call_sql.h"

#define HEADER 9
#define BODY_MAX (256u << 20)
#define READ_MAX 4096
#define NAME_BYTES 64
#define DEPTH_MAX 8 /* of types of columns */

enum {
	OP_ERROR,
	OP_STARTUP,
	OP_READY,
	OP_AUTHENTICATE,
	OP_OPTIONS = 5,
	OP_SUPPORTED,
	OP_QUERY,
	OP_RESULT,
	OP_PREPARE,
	OP_EXECUTE,
	OP_REGISTER,
	OP_EVENT,
	OP_BATCH,
	OP_AUTH_CHALLENGE,
	OP_AUTH_RESPONSE,
	OP_AUTH_SUCCESS,
};

static const struct {
	const char *name;
	bool response;
} ops[] = {
	[OP_ERROR] = { "ERROR", true },
	[OP_STARTUP] = { "STARTUP" },
	[OP_READY] = { "READY", true },
	[OP_AUTHENTICATE] = { "AUTHENTICATE", true },
	[OP_OPTIONS] = { "OPTIONS" },
	[OP_SUPPORTED] = { "SUPPORTED", true },
	[OP_QUERY] = { "QUERY" },
	[OP_RESULT] = { "RESULT", true },
	[OP_PREPARE] = { "PREPARE" },
	[OP_EXECUTE] = { "EXECUTE" },
	[OP_REGISTER] = { "REGISTER" },
	[OP_EVENT] = { "EVENT", true },
	[OP_BATCH] = { "BATCH" },
	[OP_AUTH_CHALLENGE] = { "AUTH_CHALLENGE", true },
	[OP_AUTH_RESPONSE] = { "AUTH_RESPONSE" },
	[OP_AUTH_SUCCESS] = { "AUTH_SUCCESS", true },
};

#define RESPONSE 0x80 /* bit of the version */
#define FLAG_COMPRESSED 0x01
#define FLAG_TRACING 0x02
#define FLAG_PAYLOAD 0x04
#define FLAG_WARNING 0x08
#define FLAG_BETA 0x10

enum { RESULT_VOID = 1, RESULT_ROWS, RESULT_KEYSPACE, RESULT_PREPARED, RESULT_SCHEMA };

#define SEGMENT 6      /* header of one */
#define SEGMENT_LAST 4 /* checksum behind its content */
#define SELF_CONTAINED (1u << 17)

struct cql {
	bool framed;	 /* version 5: segments */
	bool started;	 /* STARTUP of version 5 was sent: its response ends the frames without segments */
	bool compressed; /* it asks for compression */
	bool in_segment[CALL_SIDE__MAX];
	uint64_t segment[CALL_SIDE__MAX]; /* bytes of the segment's content that are left */
	uint64_t tail[CALL_SIDE__MAX];	  /* bytes of a frame that continue in the next segments */
	bool waiting[CALL_SIDE__MAX];	  /* the frame ends with the content that is passed over */
	bool switches;			  /* the frame is the response to STARTUP */
	uint64_t asked, answer;		  /* ids of calls whose frames are read; 0 = none */
	struct call_names statements;
	char keyspace[NAME_BYTES];
};

/* ---- which protocol ---- */

struct header {
	uint8_t version, flags, op;
	uint16_t stream;
	uint32_t size;
};

static struct header header_at(const uint8_t *bytes, size_t len)
{
	struct cursor c = cur_init(bytes, len);
	struct header h = { .version = cur_u8(&c), .flags = cur_u8(&c) };

	h.stream = cur_u16be(&c);
	h.op = cur_u8(&c);
	h.size = cur_u32be(&c);
	return h;
}

static bool is_header(const struct header *h, enum call_side side)
{
	bool response = h->version & RESPONSE;
	uint8_t version = h->version & 0x7f;

	if (version < 3 || version > 5 || h->flags > 0x1f || h->op >= ARRAY_SIZE(ops) || !ops[h->op].name ||
	    h->size > BODY_MAX || response != ops[h->op].response)
		return false;
	/* Events have stream -1, all else those of the client. */
	if (response ? h->stream >> 15 && h->op != OP_EVENT : h->stream >> 15)
		return false;
	return response == (side == CALL_SIDE_RESPONSE);
}

/* The CRC of a segment's header: polynomial 0x1974f0b, start 0x875060, least byte first. */
static uint32_t crc24(uint32_t data, unsigned bytes)
{
	uint32_t crc = 0x875060;

	for (unsigned i = 0; i < bytes; i++, data >>= 8) {
		crc ^= (data & 0xff) << 16;
		for (int bit = 0; bit < 8; bit++) {
			crc <<= 1;
			if (crc & 0x1000000)
				crc ^= 0x1974f0b;
		}
	}
	return crc;
}

static uint32_t u24_at(const uint8_t *b)
{
	return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16;
}

static bool is_segment(const uint8_t *bytes)
{
	uint32_t head = u24_at(bytes);

	return !(head >> 18) && crc24(head, 3) == u24_at(bytes + 3);
}

static bool may_be_segment(const uint8_t *bytes, size_t len)
{
	return len >= SEGMENT ? is_segment(bytes) : len < 3 || !(u24_at(bytes) >> 18);
}

/* Bodies of requests begin with a length that fits. */
static bool is_body(const struct header *h, struct cursor c)
{
	if (h->flags & (FLAG_COMPRESSED | FLAG_PAYLOAD))
		return true;
	switch (h->op) {
	case OP_OPTIONS: return !h->size;
	case OP_STARTUP: return h->size >= 20 && cur_u16be(&c) <= 16 && cur_ok(&c);
	case OP_QUERY:
	case OP_PREPARE: return cur_u32be(&c) <= h->size && h->size > 4 && cur_ok(&c);
	case OP_EXECUTE: return cur_u16be(&c) <= 64 && h->size > 4 && cur_ok(&c);
	default: return h->op != OP_AUTH_RESPONSE && h->size >= 2;
	}
}

static enum call_look cql_classify(const uint8_t *bytes, size_t len)
{
	struct header h = header_at(bytes, len), inner;

	if (len >= 1 && (bytes[0] & RESPONSE || bytes[0] < 3 || bytes[0] > 5) && !may_be_segment(bytes, len))
		return CALL_LOOK_NO;
	if (len >= SEGMENT && is_segment(bytes)) {
		inner = header_at(bytes + SEGMENT, len - SEGMENT);
		if (len < SEGMENT + HEADER)
			return CALL_LOOK_MORE;
		if ((inner.version & 0x7f) != 5)
			return CALL_LOOK_NO;
		return is_header(&inner, CALL_SIDE_REQUEST)    ? CALL_LOOK_REQUEST
		       : is_header(&inner, CALL_SIDE_RESPONSE) ? CALL_LOOK_RESPONSE
							       : CALL_LOOK_NO;
	}
	if (len < HEADER + 4 && !(len >= HEADER && h.op == OP_OPTIONS))
		return len >= HEADER && !is_header(&h, CALL_SIDE_REQUEST) ? CALL_LOOK_NO : CALL_LOOK_MORE;
	if (!is_header(&h, CALL_SIDE_REQUEST) || !is_body(&h, cur_init(bytes + HEADER, len - HEADER)))
		return CALL_LOOK_NO;
	return CALL_LOOK_REQUEST;
}

static enum call_look cql_resume(const uint8_t *bytes, size_t len, enum call_side side)
{
	struct header h = header_at(bytes, len);

	if (len >= SEGMENT && is_segment(bytes))
		return side == CALL_SIDE_REQUEST ? CALL_LOOK_REQUEST : CALL_LOOK_RESPONSE;
	if (len < HEADER)
		return CALL_LOOK_MORE;
	if (!is_header(&h, side))
		return CALL_LOOK_NO;
	return side == CALL_SIDE_REQUEST ? CALL_LOOK_REQUEST : CALL_LOOK_RESPONSE;
}

/* ---- fields ---- */

static const char *cur_short(struct cursor *c, size_t *ret_len)
{
	*ret_len = cur_u16be(c);
	return cur_bytes(c, *ret_len);
}

static void skip_bytes(struct cursor *c)
{
	uint32_t n = cur_u32be(c);

	if (n >> 31 == 0)
		cur_skip(c, n);
}

/* Ids of tracing, warnings and custom payload stand before the body proper. */
static void skip_extras(struct cursor *c, const struct header *h)
{
	size_t len;

	if (h->flags & FLAG_TRACING && h->version & RESPONSE)
		cur_skip(c, 16);
	if (h->flags & FLAG_WARNING && h->version & RESPONSE)
		for (uint16_t n = cur_u16be(c); n && cur_ok(c); n--)
			cur_short(c, &len);
	if (h->flags & FLAG_PAYLOAD)
		for (uint16_t n = cur_u16be(c); n && cur_ok(c); n--) {
			cur_short(c, &len);
			skip_bytes(c);
		}
}

/* ---- requests ---- */

static void describe(struct call_io *io, struct call *c, struct cursor *body, bool cut)
{
	uint32_t len = cur_u32be(body);
	size_t left = cur_left(body), n = MIN((size_t)len, left);
	const char *text = cur_bytes(body, n);

	call_sql_describe(c, io->conf, text ? text : "", n, cut && n < len, CALL_SQL_CQL, CALL_SQL_BACKSLASH_PLAIN);
}

static void execute(struct cql *p, struct call *c, struct cursor *body)
{
	size_t len;
	const char *id = cur_short(body, &len);

	if (!id || !call_names_get(&p->statements, map_hash(id, len), c))
		c->incomplete |= id ? CALL_INCOMPLETE_MIDSTREAM : CALL_INCOMPLETE_CUT;
}

/* Its first statement stands for a batch. */
static void take_batch(struct cql *p, struct call_io *io, struct call *c, struct cursor body, bool cut)
{
	uint8_t kind;

	cur_skip(&body, 1);
	if (cur_u16be(&body)) {
		kind = cur_u8(&body);
		if (kind)
			execute(p, c, &body);
		else
			describe(io, c, &body, cut);
	}
	call_entry_set_str(c, CALL_TEXT_OPERATION, "BATCH");
}

/* A map of options. */
static bool wants_compression(struct cursor body)
{
	static const char name[] = "COMPRESSION";
	size_t len;

	for (uint16_t n = cur_u16be(&body); n && cur_ok(&body); n--) {
		const char *key = cur_short(&body, &len);

		if (key && len == sizeof(name) - 1 && !memcmp(key, name, len))
			return true;
		cur_short(&body, &len);
	}
	return false;
}

static void take_request(struct cql *p, struct call_io *io, const struct header *h, struct cursor body, bool cut)
{
	struct call *c = call_queue_find_key(io, h->stream + 1u);

	if (h->op == OP_STARTUP) {
		p->started = (h->version & 0x7f) == 5;
		p->compressed = wants_compression(body);
	}
	call_queue_end(io, c, CALL_END_LOST); /* the stream is used again */
	c = call_queue_open(io);
	p->asked = c ? c->id : 0;
	if (!c)
		return;
	c->key = h->stream + 1u;
	c->note = h->op;
	call_entry_set_str(c, CALL_TEXT_OPERATION, ops[h->op].name);
	if (p->keyspace[0])
		call_entry_set_str(c, CALL_TEXT_DATABASE, p->keyspace);
	if (h->flags & FLAG_COMPRESSED) {
		c->incomplete |= CALL_INCOMPLETE_CUT;
		return;
	}
	skip_extras(&body, h);
	if (h->op == OP_QUERY || h->op == OP_PREPARE)
		describe(io, c, &body, cut);
	else if (h->op == OP_EXECUTE)
		execute(p, c, &body);
	else if (h->op == OP_BATCH)
		take_batch(p, io, c, body, cut);
}

/* ---- responses ---- */

static const char *error_name(uint32_t code)
{
	switch (code) {
	case 0x0000: return "SERVER_ERROR";
	case 0x000a: return "PROTOCOL_ERROR";
	case 0x0100: return "BAD_CREDENTIALS";
	case 0x1000: return "UNAVAILABLE";
	case 0x1001: return "OVERLOADED";
	case 0x1002: return "IS_BOOTSTRAPPING";
	case 0x1003: return "TRUNCATE_ERROR";
	case 0x1100: return "WRITE_TIMEOUT";
	case 0x1200: return "READ_TIMEOUT";
	case 0x1300: return "READ_FAILURE";
	case 0x1400: return "FUNCTION_FAILURE";
	case 0x1500: return "WRITE_FAILURE";
	case 0x1600: return "CDC_WRITE_FAILURE";
	case 0x1700: return "CAS_WRITE_UNKNOWN";
	case 0x2000: return "SYNTAX_ERROR";
	case 0x2100: return "UNAUTHORIZED";
	case 0x2200: return "INVALID";
	case 0x2300: return "CONFIG_ERROR";
	case 0x2400: return "ALREADY_EXISTS";
	case 0x2500: return "UNPREPARED";
	default: return NULL;
	}
}

static void take_error(struct call *c, struct cursor body)
{
	uint32_t code = cur_u32be(&body);
	const char *name = error_name(code);
	char number[16];

	c->error = code >= 0x2000 || code == 0x0100 || code == 0x000a ? CALL_ERROR_CLIENT : CALL_ERROR_FAILED;
	if (!cur_ok(&body))
		return;
	c->status = code;
	snprintf(number, sizeof(number), "0x%04x", code);
	call_entry_set_str(c, CALL_TEXT_STATUS, name ? name : number);
}

enum { TYPE_CUSTOM = 0, TYPE_LIST = 0x20, TYPE_MAP, TYPE_SET, TYPE_UDT = 0x30, TYPE_TUPLE };

/* The type of a column: types within it follow. Iterative, with the number of those to come. */
static void skip_type(struct cursor *c)
{
	uint32_t left = 1, read = 0;
	size_t len;

	while (left && cur_ok(c) && read++ < 256) {
		uint16_t n, type = cur_u16be(c);

		left--;
		switch (type) {
		case TYPE_CUSTOM: cur_short(c, &len); break;
		case TYPE_LIST:
		case TYPE_SET: left++; break;
		case TYPE_MAP: left += 2; break;
		case TYPE_TUPLE: left += cur_u16be(c); break;
		case TYPE_UDT:
			cur_short(c, &len);
			cur_short(c, &len);
			/* Each field has a name before its type: one without types within it, or unknown. */
			for (n = cur_u16be(c); n && cur_ok(c); n--) {
				cur_short(c, &len);
				type = cur_u16be(c);
				if (type == TYPE_CUSTOM)
					cur_short(c, &len);
				else if (type >= TYPE_LIST)
					c->bad = true;
			}
			break;
		default: break;
		}
	}
	c->bad |= left != 0;
}

#define META_GLOBAL 1u /* one table for all columns */
#define META_PAGES 2u
#define META_NONE 4u
#define META_CHANGED 8u

static void take_rows(struct call *c, struct cursor body)
{
	uint32_t flags = cur_u32be(&body), columns = cur_u32be(&body), rows;
	size_t len;

	if (flags & META_PAGES)
		skip_bytes(&body);
	if (flags & META_CHANGED)
		cur_short(&body, &len);
	if (flags & META_GLOBAL && !(flags & META_NONE)) {
		cur_short(&body, &len);
		cur_short(&body, &len);
	}
	for (uint32_t i = 0; i < columns && !(flags & META_NONE) && cur_ok(&body); i++) {
		if (!(flags & META_GLOBAL)) {
			cur_short(&body, &len);
			cur_short(&body, &len);
		}
		cur_short(&body, &len);
		skip_type(&body);
	}
	rows = cur_u32be(&body);
	if (cur_ok(&body) && rows >> 31 == 0)
		c->rows = rows;
}

static void take_keyspace(struct cql *p, struct cursor body)
{
	size_t len;
	const char *name = cur_short(&body, &len);

	if (!name || len >= NAME_BYTES)
		return;
	memcpy(p->keyspace, name, len);
	p->keyspace[len] = '\0';
}

static void take_result(struct cql *p, struct call_io *io, struct call *c, struct cursor body)
{
	uint32_t kind = cur_u32be(&body);
	size_t len;
	const char *id;

	if (!cur_ok(&body))
		return;
	c->status = 0;
	if (kind == RESULT_ROWS) {
		take_rows(c, body);
	} else if (kind == RESULT_KEYSPACE) {
		take_keyspace(p, body);
	} else if (kind == RESULT_PREPARED) {
		id = cur_short(&body, &len);
		if (id)
			call_names_set(&p->statements, io->queue->pool, map_hash(id, len), c);
	}
}

static void take_response(struct cql *p, struct call_io *io, const struct header *h, struct cursor body)
{
	struct call *c = h->op == OP_EVENT ? NULL : call_queue_find_key(io, h->stream + 1u);

	p->answer = c ? c->id : 0;
	if (!c) {
		if (h->op != OP_EVENT)
			call_queue_orphan(io);
		return;
	}
	p->switches = p->started && c->note == OP_STARTUP && h->op != OP_ERROR;
	call_queue_answer(io, c);
	if (h->flags & FLAG_COMPRESSED) {
		c->incomplete |= CALL_INCOMPLETE_CUT;
		c->error = h->op == OP_ERROR ? CALL_ERROR_FAILED : CALL_ERROR_NONE;
		return;
	}
	skip_extras(&body, h);
	if (h->op == OP_ERROR)
		take_error(c, body);
	else if (h->op == OP_RESULT)
		take_result(p, io, c, body);
}

/* ---- frames ---- */

/* A prepare that succeeded is not a call: no statement was executed. */
static void end_response(struct cql *p, struct call_io *io)
{
	struct call *c = p->answer ? call_queue_find(io, p->answer) : NULL;

	p->answer = 0;
	if (c && c->note == OP_PREPARE && !c->error) {
		call_queue_confirm(io);
		call_queue_drop(io, c);
	} else if (c) {
		c->request.done = true;
		call_queue_answered(io, c);
	}
	if (!p->switches)
		return;
	p->switches = p->started = false;
	p->framed = true;
	if (p->compressed)
		io->to = CALL_SWITCH_COMPRESSED;
}

static void cql_settle(void *state, struct call_io *io)
{
	struct cql *p = state;

	if (!p->waiting[io->side] || p->tail[io->side])
		return;
	p->waiting[io->side] = false;
	if (io->side == CALL_SIDE_RESPONSE) {
		end_response(p, io);
		return;
	}
	call_queue_asked(io, p->asked ? call_queue_find(io, p->asked) : NULL);
	p->asked = 0;
}

static enum call_feed feed_segment(struct cql *p, struct call_io *io)
{
	const uint8_t *head = io->c.pos;

	/* The checksum of the one before was passed over with its content. */
	if (cur_left(&io->c) < SEGMENT)
		return io->partial ? CALL_FEED_LOST : CALL_FEED_OK;
	if (!is_segment(head))
		return CALL_FEED_BAD;
	p->in_segment[io->side] = true;
	p->segment[io->side] = u24_at(head) & (SELF_CONTAINED - 1);
	cur_skip(&io->c, SEGMENT);
	return CALL_FEED_OK;
}

/* The content of a segment is at its end, or belongs to a frame that began in another one. */
static bool pass_segment(struct cql *p, struct call_io *io)
{
	uint64_t *left = &p->segment[io->side], *tail = &p->tail[io->side], n = MIN(*left, *tail);

	if (*left && !*tail)
		return false;
	io->skip = n + (n == *left ? SEGMENT_LAST : 0);
	*tail -= n;
	*left -= n;
	p->in_segment[io->side] = *left != 0;
	return true;
}

static enum call_feed feed_frame(struct cql *p, struct call_io *io)
{
	struct cursor body;
	struct header h;
	uint64_t size, here;
	bool cut;

	if (cur_left(&io->c) < HEADER)
		return io->partial ? CALL_FEED_LOST : CALL_FEED_OK;
	h = header_at(io->c.pos, HEADER);
	if (!is_header(&h, io->side))
		return CALL_FEED_BAD;
	size = HEADER + (uint64_t)h.size;
	here = p->in_segment[io->side] ? MIN(size, p->segment[io->side]) : size;
	if (here < HEADER) /* a header across segments: none does that */
		return CALL_FEED_BAD;
	call_queue_unit(io);
	if (!call_frame_take(io, here, READ_MAX, &body, &cut))
		return CALL_FEED_OK;
	p->tail[io->side] = size - here;
	if (p->in_segment[io->side])
		p->segment[io->side] -= here;
	p->waiting[io->side] = true;
	cur_skip(&body, HEADER);
	cut |= here < size;
	if (io->side == CALL_SIDE_REQUEST)
		take_request(p, io, &h, body, cut);
	else
		take_response(p, io, &h, body);
	return CALL_FEED_OK;
}

static enum call_feed cql_feed(void *state, struct call_io *io)
{
	struct cql *p = state;

	/* Begun in the middle: segments show by their checksums. */
	if (!p->framed && io->queue->midstream && !io->queue->count && cur_left(&io->c) >= SEGMENT &&
	    is_segment(io->c.pos))
		p->framed = true;
	if (!p->framed)
		return feed_frame(p, io);
	if (!p->in_segment[io->side])
		return feed_segment(p, io);
	return pass_segment(p, io) ? CALL_FEED_OK : feed_frame(p, io);
}

static void cql_reset(void *state, enum call_side side, const struct call_queue *queue)
{
	struct cql *p = state;

	(void)queue;
	p->in_segment[side] = p->waiting[side] = false;
	p->segment[side] = p->tail[side] = 0;
	if (side == CALL_SIDE_REQUEST)
		p->asked = 0;
	else
		p->answer = 0;
}

static void cql_fini(void *state, struct call_pool *pool)
{
	struct cql *p = state;

	call_names_fini(&p->statements, pool);
}

const struct call_protocol cql_protocol = {
	.name = "cql",
	.kind = CALL_KIND_CQL,
	.state_size = sizeof(struct cql),
	.classify = cql_classify,
	.resume = cql_resume,
	.settle = cql_settle,
	.feed = cql_feed,
	.reset = cql_reset,
	.fini = cql_fini,
};
