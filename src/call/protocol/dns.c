// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * DNS (RFC 1035) over UDP, and over TCP behind a length of two bytes. A response belongs to the query with its id and
 * question. The sender of the first message asks.
 */
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "base/map.h"
#include "call/call_frame.h"
#include "call/call_protocol.h"
#include "call/call_queue.h"
#include "packet/dns.h"

#define HEADER 12		/* of a message */
#define READ_MAX 512		/* bytes of a message that are read */
#define NXDOMAIN 3
#define NOTIFY 4		/* opcodes of RFC 1996 and 2136 */
#define UPDATE 5

static enum call_look look_at(const uint8_t *bytes, size_t len)
{
	struct dns_question q;

	if (dns_question_parse(bytes, len, &q) < 0 || q.opcode > UPDATE || (q.class & 0x7fff) - 1u > 3)
		return CALL_LOOK_NO;
	/* RFC 1035, 4.1.1: a bit that is always 0, one question. */
	if (bytes[3] & 0x40 || bytes[4] || bytes[5] != 1)
		return CALL_LOOK_NO;
	if (!q.response && (q.rcode || bytes[6] || bytes[7]) && q.opcode < NOTIFY)
		return CALL_LOOK_NO;
	return q.response ? CALL_LOOK_RESPONSE : CALL_LOOK_REQUEST;
}

static enum call_look tcp_classify(const uint8_t *bytes, size_t len)
{
	size_t size = len < 2 ? 0 : (size_t)bytes[0] << 8 | bytes[1];
	struct dns_question q;

	if (len < 2)
		return CALL_LOOK_MORE;
	if (size <= HEADER || size > 4096)
		return CALL_LOOK_NO;
	if (len - 2 < size && dns_question_parse(bytes + 2, len - 2, &q) < 0)
		return CALL_LOOK_MORE;
	return look_at(bytes + 2, MIN(size, len - 2));
}

/* Requests of one connection differ in it, unless they are repeated. */
static uint64_t key_of(const struct dns_question *q)
{
	return q->id | (map_hash(q->name, strlen(q->name)) ^ q->type) << 16;
}

static void open_query(struct call_io *io, const struct dns_question *q)
{
	struct call *c = call_queue_open(io);
	const char *type = dns_type_name(q->type);
	char number[16];

	if (!c)
		return;
	c->key = key_of(q);
	snprintf(number, sizeof(number), "TYPE%u", q->type);
	call_entry_set_str(c, CALL_TEXT_OPERATION, q->opcode == NOTIFY   ? "NOTIFY"
						   : q->opcode == UPDATE ? "UPDATE"
						   : type		 ? type
									 : number);
	if (q->named)
		call_entry_set_str(c, CALL_TEXT_RESOURCE, q->name[0] ? q->name : ".");
	call_queue_asked(io, c);
}

static void take_answer(struct call_io *io, const struct dns_question *q)
{
	struct call *c = call_queue_find_key(io, key_of(q));
	const char *name = dns_rcode_name(q->rcode);

	if (!c) {
		call_queue_orphan(io);
		return;
	}
	call_queue_answer(io, c);
	c->status = q->rcode;
	if (name)
		call_entry_set_str(c, CALL_TEXT_STATUS, name);
	c->error = !q->rcode ? CALL_ERROR_NONE : q->rcode == NXDOMAIN ? CALL_ERROR_CLIENT : CALL_ERROR_FAILED;
	call_queue_answered(io, c);
}

/* The message, of which @len bytes are read; they lie before the cursor, or the rest is skipped. */
static enum call_feed take_message(struct call_io *io, const uint8_t *bytes, size_t len)
{
	struct dns_question q;

	if (dns_question_parse(bytes, len, &q) < 0)
		return CALL_FEED_OK;	/* an error without its question, or cut */
	if (q.response && io->side == CALL_SIDE_RESPONSE)
		take_answer(io, &q);
	else if (!q.response && io->side == CALL_SIDE_REQUEST)
		open_query(io, &q);
	return CALL_FEED_OK;	/* the other end may ask, too: of another call */
}

static enum call_feed udp_feed(void *state, struct call_io *io)
{
	size_t len = cur_left(&io->c);

	(void)state;
	call_queue_unit(io);
	return take_message(io, cur_bytes(&io->c, len), len);
}

static enum call_feed tcp_feed(void *state, struct call_io *io)
{
	struct cursor body;
	size_t size;
	bool cut;

	(void)state;
	if (cur_left(&io->c) < 2)
		return io->partial ? CALL_FEED_LOST : CALL_FEED_OK;
	size = (size_t)io->c.pos[0] << 8 | io->c.pos[1];
	if (size < HEADER)
		return CALL_FEED_BAD;
	call_queue_unit(io);
	if (!call_frame_take(io, size + 2, READ_MAX, &body, &cut))
		return CALL_FEED_OK;
	cur_skip(&body, 2);
	take_message(io, body.pos, cur_left(&body));
	return CALL_FEED_OK;
}

const struct call_protocol dns_udp_protocol = {
	.name = "dns", .kind = CALL_KIND_DNS, .datagrams = true, .state_size = 1, .classify = look_at,
	.feed = udp_feed,
};

const struct call_protocol dns_protocol = {
	.name = "dns", .kind = CALL_KIND_DNS, .state_size = 1, .classify = tcp_classify, .feed = tcp_feed,
};
