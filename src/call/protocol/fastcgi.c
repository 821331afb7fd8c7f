// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * FastCGI 1.0 (https://fastcgi-archives.github.io/FastCGI_Specification.html), responders and authorizers.
 *
 * A request is the records of one id: begin, parameters, input; its response is output and the record that ends it.
 * Of the parameters method, script, query, host and asked-for headers are kept. The HTTP status is the CGI header of
 * the output (RFC 3875, section 6.2), 200 without one.
 */
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "call/call_frame.h"
#include "call/call_http.h"
#include "call/call_protocol.h"
#include "call/call_queue.h"

#define HEADER 8
#define VERSION 1
#define PARAMS_MAX 8192 /* bytes of a record that are read */
#define OUTPUT_MAX 2048

enum type {
	TYPE_BEGIN = 1,
	TYPE_ABORT,
	TYPE_END,
	TYPE_PARAMS,
	TYPE_STDIN,
	TYPE_STDOUT,
	TYPE_STDERR,
	TYPE_DATA,
	TYPE_GET_VALUES,
	TYPE_VALUES,
	TYPE_UNKNOWN,
	TYPE__MAX,
};

enum { ROLE_RESPONDER = 1, ROLE_AUTHORIZER, ROLE_FILTER };

/* Bits of struct call's note. */
#define NOTE_HEADED 1	  /* the header of the output was read, or is lost */
#define NOTE_AUTHORIZER 2 /* no input follows the parameters */
#define NOTE_FILTER 4	  /* data follow the input */

struct fastcgi {
	uint64_t ends[CALL_SIDE__MAX]; /* id of the call that ends with the content that is passed over; 0 = none */
};

struct record {
	uint8_t version, type, padding;
	uint16_t id, len;
};

static struct record record_at(const uint8_t *bytes, size_t len)
{
	struct cursor c = cur_init(bytes, len);
	struct record r = { .version = cur_u8(&c), .type = cur_u8(&c) };

	r.id = cur_u16be(&c);
	r.len = cur_u16be(&c);
	r.padding = cur_u8(&c);
	return r;
}

static bool is_of_side(uint8_t type, enum call_side side)
{
	switch (type) {
	case TYPE_END:
	case TYPE_STDOUT:
	case TYPE_STDERR:
	case TYPE_VALUES:
	case TYPE_UNKNOWN: return side == CALL_SIDE_RESPONSE;
	default: return side == CALL_SIDE_REQUEST && type && type < TYPE__MAX;
	}
}

/* The begin of a request: all of its 16 bytes are known but role, id and one flag. */
static enum call_look fastcgi_classify(const uint8_t *bytes, size_t len)
{
	static const uint8_t begin[16] = { VERSION, TYPE_BEGIN, 0, 0, 0, 8 };
	static const uint8_t mask[16] = { 0xff, 0xff, 0,    0,	  0xff, 0xff, 0xff, 0xff,
					  0xff, 0xfc, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff };

	for (size_t i = 0; i < MIN(len, sizeof(begin)); i++)
		if ((bytes[i] & mask[i]) != begin[i])
			return CALL_LOOK_NO;
	if (len < sizeof(begin))
		return CALL_LOOK_MORE;
	return (bytes[2] || bytes[3]) && bytes[9] ? CALL_LOOK_REQUEST : CALL_LOOK_NO;
}

static enum call_look fastcgi_resume(const uint8_t *bytes, size_t len, enum call_side side)
{
	struct record r = record_at(bytes, len);

	if (side == CALL_SIDE_REQUEST)
		return fastcgi_classify(bytes, len);
	if (len < HEADER)
		return CALL_LOOK_MORE;
	return r.version == VERSION && is_of_side(r.type, side) && r.id && !bytes[7] ? CALL_LOOK_RESPONSE
										     : CALL_LOOK_NO;
}

/* ---- requests ---- */

static void open_request(struct call_io *io, const struct record *r, struct cursor body)
{
	struct call *c = call_queue_find_key(io, r->id);
	uint16_t role = cur_u16be(&body);

	call_queue_end(io, c, CALL_END_LOST); /* the id is used again */
	c = call_queue_open(io);
	if (!c)
		return;
	c->key = r->id;
	c->note = role == ROLE_AUTHORIZER ? NOTE_AUTHORIZER : role == ROLE_FILTER ? NOTE_FILTER : 0;
}

/* Lengths of names and values: one byte, or four with the highest bit set. */
static uint32_t cur_length(struct cursor *c)
{
	return cur_peek(c, 0) & 0x80 ? cur_u32be(c) & 0x7fffffff : cur_u8(c);
}

/* HTTP_X_REQUEST_ID is the header x-request-id. */
static void take_header(struct call_io *io, struct call *c, struct call_line name, struct call_line value)
{
	char text[64];

	if (name.len > sizeof(text))
		return;
	for (size_t i = 0; i < name.len; i++)
		text[i] = (char)(name.at[i] == '_' ? '-' : name.at[i]);
	name.at = text;
	call_http_add_header(c, io->conf, &name, &value);
}

static void take_param(struct call_io *io, struct call *c, struct call_line name, struct call_line value)
{
	struct call_line header = { name.at + 5, name.len - 5 };
	struct call_line script;
	size_t len;

	if (call_line_is(&name, "REQUEST_METHOD")) {
		call_entry_set(c, CALL_TEXT_OPERATION, value.at, value.len);
	} else if (call_line_is(&name, "SCRIPT_NAME")) {
		script = call_line_word(&value, '?');
		call_entry_set(c, CALL_TEXT_RESOURCE, script.at, script.len);
	} else if (call_line_is(&name, "QUERY_STRING") && !call_entry_text(c, CALL_TEXT_QUERY, &len)) {
		call_http_set_query(c, io->conf, value);
	} else if (call_line_is(&name, "HTTP_HOST")) {
		call_http_set_authority(c, value);
	} else if (call_line_begins(&name, "HTTP_")) {
		take_header(io, c, header, value);
	}
}

static void take_params(struct call_io *io, struct call *c, struct cursor body)
{
	while (cur_left(&body)) {
		uint32_t name_len = cur_length(&body), value_len = cur_length(&body);
		struct call_line name = { .len = name_len }, value = { .len = value_len };
		size_t left = cur_left(&body);

		name.at = cur_bytes(&body, name_len);
		value.at = cur_bytes(&body, value_len);
		if (!cur_ok(&body) || left < (uint64_t)name_len + value_len) {
			c->incomplete |= CALL_INCOMPLETE_CUT;
			return;
		}
		take_param(io, c, name, value);
	}
}

/* Does an empty record of this type end the request? */
static bool ends_request(const struct call *c, uint8_t type)
{
	if (c->note & NOTE_AUTHORIZER)
		return type == TYPE_PARAMS;
	return type == (c->note & NOTE_FILTER ? TYPE_DATA : TYPE_STDIN);
}

static void take_request(struct fastcgi *p, struct call_io *io, const struct record *r, struct cursor body)
{
	struct call *c;

	if (r->type == TYPE_BEGIN)
		open_request(io, r, body);
	c = r->id ? call_queue_find_key(io, r->id) : NULL;
	if (!c)
		return;
	c->request.bytes += HEADER + r->len + (uint64_t)r->padding;
	if (r->type == TYPE_PARAMS)
		take_params(io, c, body);
	if (!r->len && ends_request(c, r->type))
		p->ends[CALL_SIDE_REQUEST] = c->id;
}

/* ---- responses ---- */

/* Header fields of the output, up to an empty line. */
static void take_output(struct call *c, struct cursor body)
{
	struct call_line line, value;
	unsigned status = 200;
	uint64_t number;

	c->note |= NOTE_HEADED;
	while (call_line_take(&body, &line)) {
		struct call_line name = call_line_word(&line, ':');
		size_t len;

		if (!name.len) {
			call_http_set_status(c, status);
			return;
		}
		value = call_line_trim(line);
		if (call_line_is(&name, "content-type") && !call_entry_text(c, CALL_TEXT_CONTENT_TYPE, &len))
			call_entry_set(c, CALL_TEXT_CONTENT_TYPE, value.at, value.len);
		if (call_line_is(&name, "location") && status == 200)
			status = 302;
		value = call_line_word(&value, ' ');
		if (call_line_is(&name, "status") && call_line_number(&value, 10, &number) && number >= 100 &&
		    number < 1000)
			status = (unsigned)number;
	}
	c->incomplete |= CALL_INCOMPLETE_CUT;
}

static void take_end(struct call *c, struct cursor body)
{
	static const char *const names[] = { NULL, "CANT_MPX_CONN", "OVERLOADED", "UNKNOWN_ROLE" };
	uint32_t status = cur_u32be(&body);
	uint8_t protocol = cur_u8(&body);
	char text[16];

	if (!cur_ok(&body))
		return;
	snprintf(text, sizeof(text), "exit %u", status);
	if (protocol && protocol < ARRAY_SIZE(names))
		call_entry_set_str(c, CALL_TEXT_STATUS, names[protocol]);
	else if (status)
		call_entry_set_str(c, CALL_TEXT_STATUS, text);
	if (protocol || status)
		c->error = CALL_ERROR_FAILED;
}

static void take_response(struct fastcgi *p, struct call_io *io, const struct record *r, struct cursor body)
{
	struct call *c = r->id ? call_queue_find_key(io, r->id) : NULL;

	if (!c) {
		if (r->type == TYPE_END)
			call_queue_orphan(io);
		return;
	}
	call_queue_answer(io, c);
	c->response.bytes += HEADER + r->len + (uint64_t)r->padding;
	if (r->type == TYPE_STDOUT && r->len && !(c->note & NOTE_HEADED))
		take_output(c, body);
	if (r->type != TYPE_END)
		return;
	take_end(c, body);
	p->ends[CALL_SIDE_RESPONSE] = c->id;
}

/* ---- records ---- */

/* Bytes of the content that are read. */
static size_t content_of(uint8_t type)
{
	switch (type) {
	case TYPE_BEGIN:
	case TYPE_END: return 8;
	case TYPE_PARAMS: return PARAMS_MAX;
	case TYPE_STDOUT: return OUTPUT_MAX;
	default: return 0;
	}
}

static enum call_feed fastcgi_feed(void *state, struct call_io *io)
{
	struct fastcgi *p = state;
	struct cursor body;
	struct record r;
	bool cut;

	if (cur_left(&io->c) < HEADER)
		return io->partial ? CALL_FEED_LOST : CALL_FEED_OK;
	r = record_at(io->c.pos, HEADER);
	if (r.version != VERSION || !is_of_side(r.type, io->side) || (r.type == TYPE_BEGIN && r.len != 8))
		return CALL_FEED_BAD;
	call_queue_unit(io);
	if (!call_frame_take(io, HEADER + r.len + (uint64_t)r.padding,
			     HEADER + MIN((size_t)r.len, content_of(r.type)), &body, &cut))
		return CALL_FEED_OK;
	cur_skip(&body, HEADER);
	if (io->side == CALL_SIDE_REQUEST)
		take_request(p, io, &r, body);
	else
		take_response(p, io, &r, body);
	return CALL_FEED_OK;
}

/* Ends that wait until the padding was passed over. */
static void fastcgi_settle(void *state, struct call_io *io)
{
	struct fastcgi *p = state;
	struct call *c = p->ends[io->side] ? call_queue_find(io, p->ends[io->side]) : NULL;

	p->ends[io->side] = 0;
	if (!c)
		return;
	if (io->side == CALL_SIDE_REQUEST) {
		call_queue_asked(io, c);
	} else {
		c->request.done = true; /* input that the program did not wait for */
		call_queue_answered(io, c);
	}
}

static void fastcgi_reset(void *state, enum call_side side, const struct call_queue *queue)
{
	struct fastcgi *p = state;

	(void)queue;
	p->ends[side] = 0;
}

const struct call_protocol fastcgi_protocol = {
	.name = "fastcgi",
	.kind = CALL_KIND_FASTCGI,
	.multiplexed = true,
	.state_size = sizeof(struct fastcgi),
	.classify = fastcgi_classify,
	.resume = fastcgi_resume,
	.settle = fastcgi_settle,
	.feed = fastcgi_feed,
	.reset = fastcgi_reset,
};
