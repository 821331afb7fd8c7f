// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * AMQP 0-9-1 (https://www.rabbitmq.com/resources/specs/amqp0-9-1.pdf) with RabbitMQ's extensions (confirm.select,
 * basic.nack, exchange.bind).
 *
 * A synchronous method is answered by its -ok on the same channel; a closed channel or connection answers it with a
 * code. A published message is answered by basic.ack or .nack where the channel confirms, else not at all. A
 * delivered message is answered by the client's ack, nack or reject where its consumers acknowledge. Fields of
 * connection.start-ok and .secure-ok hold secrets and are not read.
 */
#include <string.h>

#include "base/macros.h"
#include "call/call_frame.h"
#include "call/call_protocol.h"
#include "call/call_queue.h"

#define HEADER 7
#define END_MARK 0xce
#define FRAME_MAX (16u << 20)
#define READ_MAX 1024	/* bytes of a method that are read */
#define CHANNELS_MAX 32 /* whose settings are remembered */
#define NAME_BYTES 64

enum { FRAME_METHOD = 1, FRAME_HEADER, FRAME_BODY, FRAME_HEARTBEAT = 8 };

#define METHOD(class, number) ((uint32_t)(class) << 16 | (number))

enum {
	CONNECTION_START = METHOD(10, 10),
	CONNECTION_OPEN = METHOD(10, 40),
	CONNECTION_CLOSE = METHOD(10, 50),
	EXCHANGE_UNBIND = METHOD(40, 40),
	EXCHANGE_UNBIND_OK = METHOD(40, 51),
	CHANNEL_OPEN = METHOD(20, 10),
	CHANNEL_CLOSE = METHOD(20, 40),
	BASIC_CONSUME = METHOD(60, 20),
	BASIC_PUBLISH = METHOD(60, 40),
	BASIC_RETURN = METHOD(60, 50),
	BASIC_DELIVER = METHOD(60, 60),
	BASIC_GET = METHOD(60, 70),
	BASIC_GET_OK = METHOD(60, 71),
	BASIC_GET_EMPTY = METHOD(60, 72),
	BASIC_ACK = METHOD(60, 80),
	BASIC_REJECT = METHOD(60, 90),
	BASIC_NACK = METHOD(60, 120),
	CONFIRM_SELECT = METHOD(85, 10),
};

/*
 * Synchronous methods of clients; the answer's number is one more. Arguments: r is two bytes, s a short string, n a
 * short string with the resource's name, and a digit the bit of the last octet that asks for no answer.
 */
static const struct {
	uint32_t method;
	const char *name, *args;
} methods[] = {
	{ CONNECTION_OPEN, "connection.open", "n" },
	{ CONNECTION_CLOSE, "connection.close", "" },
	{ CHANNEL_OPEN, "channel.open", "" },
	{ METHOD(20, 20), "channel.flow", "" },
	{ CHANNEL_CLOSE, "channel.close", "" },
	{ METHOD(30, 10), "access.request", "" },
	{ METHOD(40, 10), "exchange.declare", "rns4" },
	{ METHOD(40, 20), "exchange.delete", "rn1" },
	{ METHOD(40, 30), "exchange.bind", "rnss0" },
	{ EXCHANGE_UNBIND, "exchange.unbind", "rnss0" },
	{ METHOD(50, 10), "queue.declare", "rn4" },
	{ METHOD(50, 20), "queue.bind", "rnss0" },
	{ METHOD(50, 30), "queue.purge", "rn0" },
	{ METHOD(50, 40), "queue.delete", "rn2" },
	{ METHOD(50, 50), "queue.unbind", "rn" },
	{ METHOD(60, 10), "basic.qos", "" },
	{ BASIC_CONSUME, "basic.consume", "rns3" },
	{ METHOD(60, 30), "basic.cancel", "s0" },
	{ BASIC_GET, "basic.get", "rn" },
	{ METHOD(60, 110), "basic.recover", "" },
	{ CONFIRM_SELECT, "confirm.select", "0" },
	{ METHOD(90, 10), "tx.select", "" },
	{ METHOD(90, 20), "tx.commit", "" },
	{ METHOD(90, 30), "tx.rollback", "" },
};

/* Kinds of calls; struct call's note. */
enum { NOTE_METHOD, NOTE_PUBLISH, NOTE_DELIVER };

/* Acknowledgements of consumers of a channel. */
enum { ACKS_UNKNOWN, ACKS_NONE, ACKS_WANTED, ACKS_MIXED };

struct channel {
	uint16_t number;
	bool used;
	bool confirms;
	uint8_t acks;	    /* ACKS_* */
	uint64_t published; /* since it confirms: number of the last message */
};

/* A message whose content is read; of one channel at a time in practice. */
struct content {
	uint64_t call; /* id; 0 = unknown */
	uint64_t left; /* bytes of the body; UINT64_MAX: the header comes first */
	uint16_t channel;
	bool open, oneway; /* oneway: nothing answers the message */
};

struct amqp {
	bool greeted;		      /* the client's protocol header was read */
	bool waiting[CALL_SIDE__MAX]; /* content is passed over: its frame ends then */
	struct content content[CALL_SIDE__MAX];
	uint64_t ends[CALL_SIDE__MAX]; /* id of the call that ends with the frame; 0 = none */
	struct channel channels[CHANNELS_MAX];
	uint8_t next_channel; /* the place that gives way */
	char vhost[NAME_BYTES];
};

/* ---- which protocol ---- */

static const uint8_t greeting[8] = { 'A', 'M', 'Q', 'P', 0, 0, 9, 1 };

struct frame_head {
	uint8_t type;
	uint16_t channel;
	uint32_t size;
};

static struct frame_head head_at(const uint8_t *bytes, size_t len)
{
	struct cursor c = cur_init(bytes, len);
	struct frame_head h = { .type = cur_u8(&c) };

	h.channel = cur_u16be(&c);
	h.size = cur_u32be(&c);
	return h;
}

static bool is_head(const struct frame_head *h)
{
	if (h->type == FRAME_HEARTBEAT)
		return !h->channel && !h->size;
	return h->type >= FRAME_METHOD && h->type <= FRAME_BODY && h->size <= FRAME_MAX &&
	       (h->type != FRAME_METHOD || h->size >= 4) && (h->type != FRAME_HEADER || h->size >= 14);
}

static uint32_t method_at(const uint8_t *bytes, size_t len)
{
	struct cursor c = cur_init(bytes, len);

	cur_skip(&c, HEADER);
	return cur_u32be(&c);
}

/* Sides of methods: those of servers are the answers, and few others. */
static bool is_sent_by(uint32_t method, enum call_side side)
{
	uint32_t class = method >> 16, number = method & 0xffff;
	bool known = (class >= 10 && class <= 60 && class % 10 == 0) || class == 85 || class == 90;

	if (!known || !number || number > 120)
		return false;
	if (method == CONNECTION_CLOSE || method == CHANNEL_CLOSE || method == METHOD(20, 20) ||
	    method == BASIC_ACK || method == BASIC_NACK || method == METHOD(60, 30) || number % 10 == 1)
		return true;
	switch (method) {
	case CONNECTION_START:
	case METHOD(10, 20):
	case METHOD(10, 30):
	case METHOD(10, 60):
	case METHOD(10, 61):
	case BASIC_RETURN:
	case BASIC_DELIVER:
	case BASIC_GET_EMPTY: return side == CALL_SIDE_RESPONSE;
	default: return side == CALL_SIDE_REQUEST;
	}
}

static enum call_look look_at_frame(const uint8_t *bytes, size_t len, enum call_side side)
{
	struct frame_head h = head_at(bytes, len);

	if (len < HEADER + 4)
		return len && bytes[0] != FRAME_METHOD ? CALL_LOOK_NO : CALL_LOOK_MORE;
	if (!is_head(&h) || h.type != FRAME_METHOD || !is_sent_by(method_at(bytes, len), side) ||
	    (len >= HEADER + h.size + 1 && bytes[HEADER + h.size] != END_MARK))
		return CALL_LOOK_NO;
	return side == CALL_SIDE_REQUEST ? CALL_LOOK_REQUEST : CALL_LOOK_RESPONSE;
}

/* Frames of a connection from before: a method that only one side sends. */
static enum call_look amqp_classify(const uint8_t *bytes, size_t len)
{
	enum call_look asks, answers;

	if (len && !memcmp(bytes, greeting, MIN(len, sizeof(greeting))))
		return len < sizeof(greeting) ? CALL_LOOK_MORE : CALL_LOOK_REQUEST;
	asks = look_at_frame(bytes, len, CALL_SIDE_REQUEST);
	answers = look_at_frame(bytes, len, CALL_SIDE_RESPONSE);
	if (asks == CALL_LOOK_MORE || (asks == CALL_LOOK_NO) == (answers == CALL_LOOK_NO))
		return asks == CALL_LOOK_MORE ? CALL_LOOK_MORE : CALL_LOOK_NO;
	/* the frame's end has to be there */
	if (len < HEADER + head_at(bytes, len).size + 1)
		return CALL_LOOK_MORE;
	return asks == CALL_LOOK_NO ? answers : asks;
}

static enum call_look amqp_resume(const uint8_t *bytes, size_t len, enum call_side side)
{
	return look_at_frame(bytes, len, side);
}

/* ---- channels ---- */

static struct channel *find_channel(struct amqp *p, uint16_t number)
{
	for (size_t i = 0; i < CHANNELS_MAX; i++)
		if (p->channels[i].used && p->channels[i].number == number)
			return &p->channels[i];
	return NULL;
}

static struct channel *get_channel(struct amqp *p, uint16_t number)
{
	struct channel *ch = find_channel(p, number);

	if (ch)
		return ch;
	ch = &p->channels[p->next_channel];
	p->next_channel = (uint8_t)((p->next_channel + 1u) % CHANNELS_MAX);
	*ch = (struct channel){ .number = number, .used = true };
	return ch;
}

static void forget_channel(struct amqp *p, uint16_t number)
{
	struct channel *ch = find_channel(p, number);

	if (ch)
		*ch = (struct channel){ 0 };
}

/* ---- calls ---- */

/* Of methods: channel and method. Of messages: channel and number; deliveries count apart. */
static uint64_t key_of(unsigned note, uint16_t channel, uint64_t number)
{
	return (uint64_t)note << 62 | (uint64_t)channel << 44 | (number & ((1ull << 44) - 1));
}

static uint16_t channel_of(const struct call *c)
{
	return (uint16_t)(c->key >> 44);
}

static const char *cur_short(struct cursor *c, size_t *ret_len)
{
	*ret_len = cur_u8(c);
	return cur_bytes(c, *ret_len);
}

static int place_of(uint32_t method)
{
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (methods[i].method == method)
			return (int)i;
	return -1;
}

/* Reads arguments as the table says. Returns whether the method asks for no answer. */
static bool take_args(struct call *c, const char *args, struct cursor body)
{
	for (; *args; args++) {
		const char *text;
		size_t len;

		if (*args == 'r') {
			cur_skip(&body, 2);
		} else if (*args == 's' || *args == 'n') {
			text = cur_short(&body, &len);
			if (*args == 'n' && text && c)
				call_entry_set(c, CALL_TEXT_RESOURCE, text, len);
		} else {
			return cur_u8(&body) >> (*args - '0') & 1;
		}
	}
	if (!cur_ok(&body) && c)
		c->incomplete |= CALL_INCOMPLETE_CUT;
	return false;
}

static void set_vhost(const struct amqp *p, struct call *c)
{
	if (c && p->vhost[0])
		call_entry_set_str(c, CALL_TEXT_DATABASE, p->vhost);
}

#define DESTINATION_MAX 512

/* "exchange:routing key"; one of them where the other is empty. Returns the length; 0 if they are cut, too. */
static size_t read_destination(struct cursor *body, char text[static DESTINATION_MAX])
{
	size_t exchange_len, key_len, n = 0;
	const char *exchange = cur_short(body, &exchange_len), *key = cur_short(body, &key_len);

	if (!cur_ok(body))
		return 0;
	memcpy(text, exchange, exchange_len);
	n = exchange_len;
	if (exchange_len && key_len)
		text[n++] = ':';
	memcpy(text + n, key, key_len);
	return n + key_len;
}

static void set_destination(struct call *c, struct cursor *body)
{
	char text[DESTINATION_MAX];
	size_t len = read_destination(body, text);

	if (!cur_ok(body))
		c->incomplete |= CALL_INCOMPLETE_CUT;
	call_entry_set(c, CALL_TEXT_RESOURCE, text, len);
}

static void count_bytes(const struct call_io *io, struct call *c, uint64_t bytes)
{
	bool asks = c->pushed != (io->side == CALL_SIDE_REQUEST);

	*(asks ? &c->request.bytes : &c->response.bytes) += bytes;
}

/* The message is complete, or another one takes its place. */
static void end_message(struct call_io *io, struct content *m)
{
	struct call *c = m->open && m->call ? call_queue_find(io, m->call) : NULL;

	m->open = false;
	if (!c)
		return;
	if (c->note == NOTE_METHOD) {
		call_queue_answered(io, c);
		return;
	}
	if (m->oneway)
		call_queue_told(io, c);
	else
		call_queue_asked(io, c);
}

static void begin_content(struct amqp *p, struct call_io *io, uint16_t channel, const struct call *c, bool oneway)
{
	end_message(io, &p->content[io->side]);
	p->content[io->side] = (struct content){
		.call = c ? c->id : 0, .channel = channel, .open = true, .oneway = oneway, .left = UINT64_MAX
	};
}

/* ---- methods of clients ---- */

static void note_consumer(struct channel *ch, struct cursor body)
{
	size_t len;
	uint8_t acks;

	cur_skip(&body, 2);
	cur_short(&body, &len);
	cur_short(&body, &len);
	acks = cur_u8(&body) & 2 ? ACKS_NONE : ACKS_WANTED;
	if (cur_ok(&body))
		ch->acks = ch->acks == ACKS_UNKNOWN || ch->acks == acks ? acks : ACKS_MIXED;
}

static void take_vhost(struct amqp *p, struct cursor body)
{
	size_t len;
	const char *name = cur_short(&body, &len);

	if (!name || len >= NAME_BYTES)
		return;
	memcpy(p->vhost, name, len);
	p->vhost[len] = '\0';
}

static void open_method(struct amqp *p, struct call_io *io, uint16_t channel, uint32_t method, struct cursor body,
			uint64_t bytes)
{
	int place = place_of(method);
	struct call *c = place < 0 ? NULL : call_queue_open(io);
	bool oneway;

	if (method == CONNECTION_OPEN)
		take_vhost(p, body);
	if (method == BASIC_CONSUME)
		note_consumer(get_channel(p, channel), body);
	if (method == CHANNEL_OPEN)
		forget_channel(p, channel);
	if (method == CONFIRM_SELECT)
		get_channel(p, channel)->confirms = true;
	if (!c)
		return;
	c->key = key_of(NOTE_METHOD, channel, method);
	c->note = NOTE_METHOD;
	call_entry_set_str(c, CALL_TEXT_OPERATION, methods[place].name);
	set_vhost(p, c);
	oneway = take_args(c, methods[place].args, body);
	count_bytes(io, c, bytes);
	if (oneway)
		call_queue_told(io, c);
	else
		call_queue_asked(io, c);
}

static void open_publish(struct amqp *p, struct call_io *io, uint16_t channel, struct cursor body, uint64_t bytes)
{
	struct channel *ch = find_channel(p, channel);
	bool confirms = ch && ch->confirms;
	struct call *c = call_queue_open(io);

	if (confirms)
		ch->published++;
	if (c) {
		c->note = NOTE_PUBLISH;
		c->key = key_of(NOTE_PUBLISH, channel, confirms ? ch->published : 0);
		call_entry_set_str(c, CALL_TEXT_OPERATION, "basic.publish");
		set_vhost(p, c);
		cur_skip(&body, 2);
		set_destination(c, &body);
		count_bytes(io, c, bytes);
	}
	begin_content(p, io, channel, c, !confirms);
}

/* ---- methods of servers ---- */

static void open_deliver(struct amqp *p, struct call_io *io, uint16_t channel, struct cursor body, uint64_t bytes)
{
	struct channel *ch = find_channel(p, channel);
	struct call *c = call_queue_push(io);
	size_t len;

	if (c) {
		cur_short(&body, &len);
		c->note = NOTE_DELIVER;
		c->key = key_of(NOTE_DELIVER, channel, cur_u64be(&body));
		cur_skip(&body, 1);
		call_entry_set_str(c, CALL_TEXT_OPERATION, "basic.deliver");
		set_vhost(p, c);
		set_destination(c, &body);
		count_bytes(io, c, bytes);
	}
	begin_content(p, io, channel, c, !ch || ch->acks != ACKS_WANTED);
}

static void answer_method(struct amqp *p, struct call_io *io, uint16_t channel, uint32_t method, uint64_t bytes)
{
	uint32_t asked = method == BASIC_GET_EMPTY	? BASIC_GET
			 : method == EXCHANGE_UNBIND_OK ? EXCHANGE_UNBIND
							: method - 1;
	struct call *c = call_queue_find_key(io, key_of(NOTE_METHOD, channel, asked));

	if (method == METHOD(20, 41))
		forget_channel(p, channel);
	if (!c) {
		if (place_of(asked) >= 0)
			call_queue_orphan(io);
		return;
	}
	call_queue_answer(io, c);
	count_bytes(io, c, bytes);
	if (asked == BASIC_GET)
		c->rows = method == BASIC_GET_OK;
	if (method == BASIC_GET_OK)
		begin_content(p, io, channel, c, false);
	else
		p->ends[io->side] = c->id;
}

/* Reply codes of the specification, section 1.7, and RabbitMQ: "404", "NOT_FOUND - no queue 'x'". */
static void take_code(struct call *c, struct cursor body)
{
	uint16_t code = cur_u16be(&body);
	size_t len, n = 0;
	const char *text = cur_short(&body, &len);

	while (text && n < len && ((text[n] >= 'A' && text[n] <= 'Z') || text[n] == '_'))
		n++;
	if (code < 300)
		return;
	c->status = code;
	c->error = CALL_ERROR_FAILED;
	call_entry_set(c, CALL_TEXT_STATUS, text, n);
}

/* A close answers the calls of its channel (all: of the connection). */
static void end_calls(struct call_io *io, uint16_t channel, bool all, struct cursor body)
{
	for (uint32_t i = 0; i < io->queue->n;) {
		struct call *c = io->queue->calls[i];

		if (c->pushed || (!all && channel_of(c) != channel)) {
			i++;
			continue;
		}
		call_queue_answer(io, c);
		take_code(c, body);
		c->request.done = true;
		call_queue_answered(io, c);
	}
}

/* ---- acknowledgements ---- */

/* basic.ack, .nack or .reject: of a published message by the server, of a delivered one by the client. */
static void take_ack(struct call_io *io, uint16_t channel, uint32_t method, struct cursor body, uint64_t bytes)
{
	unsigned note = io->side == CALL_SIDE_REQUEST ? NOTE_DELIVER : NOTE_PUBLISH;
	uint64_t first, last = cur_u64be(&body), up_to;
	bool multiple = method != BASIC_REJECT && cur_u8(&body) & 1;

	if (!cur_ok(&body))
		return;
	first = multiple ? key_of(note, channel, 1) : key_of(note, channel, last);
	up_to = last ? key_of(note, channel, last) : key_of(note, channel, UINT64_MAX);
	for (uint32_t i = 0; i < io->queue->n;) {
		struct call *c = io->queue->calls[i];

		if (c->key < first || c->key > up_to) {
			i++;
			continue;
		}
		call_queue_answer(io, c);
		count_bytes(io, c, bytes);
		if (method != BASIC_ACK) {
			c->error = CALL_ERROR_FAILED;
			call_entry_set_str(c, CALL_TEXT_STATUS, method == BASIC_NACK ? "nack" : "reject");
		}
		c->request.done = true;
		call_queue_answered(io, c);
	}
}

/* The message had no queue; its confirm follows. Returned messages name their destination, not their number. */
static void take_return(struct call_io *io, uint16_t channel, struct cursor body)
{
	struct cursor names = body;
	char text[DESTINATION_MAX];
	size_t len, old_len;

	cur_skip(&names, 2);
	cur_short(&names, &len);
	len = read_destination(&names, text);
	for (uint32_t i = 0; len && i < io->queue->n; i++) {
		struct call *c = io->queue->calls[i];
		const char *old = call_entry_text(c, CALL_TEXT_RESOURCE, &old_len);

		if (c->note == NOTE_PUBLISH && channel_of(c) == channel && !c->error && old_len == len &&
		    !memcmp(old, text, len)) {
			take_code(c, body);
			return;
		}
	}
}

/* ---- frames ---- */

static void take_request(struct amqp *p, struct call_io *io, uint16_t channel, uint32_t method, struct cursor body,
			 uint64_t bytes)
{
	if (method == BASIC_PUBLISH)
		open_publish(p, io, channel, body, bytes);
	else if (method == BASIC_ACK || method == BASIC_NACK || method == BASIC_REJECT)
		take_ack(io, channel, method, body, bytes);
	else
		open_method(p, io, channel, method, body, bytes);
}

static void take_response(struct amqp *p, struct call_io *io, uint16_t channel, uint32_t method, struct cursor body,
			  uint64_t bytes)
{
	switch (method) {
	case BASIC_DELIVER: open_deliver(p, io, channel, body, bytes); break;
	case BASIC_RETURN:
		take_return(io, channel, body);
		begin_content(p, io, channel, NULL, true);
		break;
	case BASIC_ACK:
	case BASIC_NACK: take_ack(io, channel, method, body, bytes); break;
	case CHANNEL_CLOSE:
		end_calls(io, channel, false, body);
		forget_channel(p, channel);
		break;
	case CONNECTION_CLOSE: end_calls(io, channel, true, body); break;
	default: answer_method(p, io, channel, method, bytes);
	}
}

/* The call of the content on this channel; NULL = none, or unknown. */
static struct call *content_call(struct amqp *p, const struct call_io *io, uint16_t channel)
{
	const struct content *m = &p->content[io->side];

	return m->open && m->channel == channel && m->call ? call_queue_find(io, m->call) : NULL;
}

static void take_content(struct amqp *p, struct call_io *io, const struct frame_head *h, struct cursor body)
{
	struct content *m = &p->content[io->side];
	struct call *c = content_call(p, io, h->channel);

	if (c)
		count_bytes(io, c, HEADER + h->size + 1ull);
	if (!m->open || m->channel != h->channel)
		return;
	if (h->type == FRAME_HEADER) {
		cur_skip(&body, 4);
		m->left = cur_u64be(&body);
		if (!cur_ok(&body))
			m->left = UINT64_MAX - 1;
	} else if (m->left < UINT64_MAX) {
		m->left -= MIN(m->left, (uint64_t)h->size);
	}
}

/* The frame was passed over: a message may be complete, a method answered. */
static void amqp_settle(void *state, struct call_io *io)
{
	struct amqp *p = state;
	struct content *m = &p->content[io->side];
	struct call *c;

	if (!p->waiting[io->side])
		return;
	c = p->ends[io->side] ? call_queue_find(io, p->ends[io->side]) : NULL;
	p->waiting[io->side] = false;
	p->ends[io->side] = 0;
	if (c) {
		c->request.done = true;
		call_queue_answered(io, c);
	}
	if (m->open && !m->left)
		end_message(io, m);
}

/* All of the frame is at hand: a byte that does not mark its end contradicts the protocol. */
static bool is_torn(const struct frame_head *h, const struct cursor *body, bool cut)
{
	return !cut && body->pos[HEADER + h->size] != END_MARK;
}

static enum call_feed feed_frame(struct amqp *p, struct call_io *io)
{
	struct cursor body;
	struct frame_head h;
	uint32_t method;
	bool cut;

	if (cur_left(&io->c) < HEADER)
		return io->partial ? CALL_FEED_LOST : CALL_FEED_OK;
	h = head_at(io->c.pos, HEADER);
	if (!is_head(&h))
		return CALL_FEED_BAD;
	call_queue_unit(io);
	if (!call_frame_take(io, HEADER + h.size + 1ull, HEADER + (h.type == FRAME_BODY ? 0 : READ_MAX), &body, &cut))
		return CALL_FEED_OK;
	if (is_torn(&h, &body, cut))
		return CALL_FEED_BAD;
	p->waiting[io->side] = true;
	cur_skip(&body, HEADER);
	if (h.type == FRAME_HEADER || h.type == FRAME_BODY) {
		take_content(p, io, &h, body);
		return CALL_FEED_OK;
	}
	method = h.type == FRAME_METHOD ? cur_u32be(&body) : 0;
	if (!cur_ok(&body) || h.type != FRAME_METHOD)
		return CALL_FEED_OK;
	if (!is_sent_by(method, io->side))
		return CALL_FEED_BAD;
	if (p->content[io->side].open && p->content[io->side].channel == h.channel)
		end_message(io, &p->content[io->side]);
	if (io->side == CALL_SIDE_REQUEST)
		take_request(p, io, h.channel, method, body, HEADER + h.size + 1ull);
	else
		take_response(p, io, h.channel, method, body, HEADER + h.size + 1ull);
	return CALL_FEED_OK;
}

/* "AMQP" and the version; a server that wants another one answers with its own. */
static enum call_feed feed_greeting(struct amqp *p, struct call_io *io)
{
	if (cur_left(&io->c) < sizeof(greeting))
		return io->partial ? CALL_FEED_LOST : CALL_FEED_OK;
	p->greeted = true;
	cur_skip(&io->c, sizeof(greeting));
	if (io->side == CALL_SIDE_RESPONSE)
		io->to = CALL_SWITCH_ANEW;
	return CALL_FEED_OK;
}

static enum call_feed amqp_feed(void *state, struct call_io *io)
{
	struct amqp *p = state;

	return cur_peek(&io->c, 0) == 'A' ? feed_greeting(p, io) : feed_frame(p, io);
}

static void amqp_reset(void *state, enum call_side side, const struct call_queue *queue)
{
	struct amqp *p = state;

	(void)queue;
	p->waiting[side] = false;
	p->ends[side] = 0;
	p->content[side] = (struct content){ 0 };
	if (side == CALL_SIDE_RESPONSE)
		return;
	/* Messages may be among what was lost: numbers of confirms are unknown from here on. */
	for (size_t i = 0; i < CHANNELS_MAX; i++)
		p->channels[i].confirms = false;
}

const struct call_protocol amqp_protocol = {
	.name = "amqp",
	.kind = CALL_KIND_AMQP,
	.multiplexed = true,
	.unanswered = true,
	.state_size = sizeof(struct amqp),
	.classify = amqp_classify,
	.resume = amqp_resume,
	.settle = amqp_settle,
	.feed = amqp_feed,
	.reset = amqp_reset,
};
