// SPDX-License-Identifier: GPL-2.0-or-later
#include "ipc/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"

struct session {
	const struct session_ops *ops;
	void *ctx;
	enum session_state state;
	struct buf in;			/* of incomplete or waiting frames */
	uint16_t waits;			/* type of the frame to be answered later; 0 = none */
	uint32_t call_id;		/* of the last call */
	char client[4 * PROTO_NAME_MAX + 1];
};

struct session *session_new(const struct session_ops *ops, void *ctx)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->ops = ops;
	s->ctx = ctx;
	return s;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	buf_fini(&s->in);
	free(s);
}

enum session_state session_state(const struct session *s)
{
	return s->state;
}

const char *session_client(const struct session *s)
{
	return s->client;
}

size_t session_held(const struct session *s)
{
	return s->in.len;
}

static int send_frame(struct session *s, struct buf *b)
{
	return buf_error(b) ? buf_error(b) : s->ops->send(s->ctx, b);
}

/* Queues the last frame of the session. */
static int refuse(struct session *s, int code, const char *sentence)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	const struct proto_status st = { .code = (uint32_t)-code };

	s->state = SESSION_DEAD;
	if (proto_put(&b, PROTO_ERROR, &st, sizeof(st), sentence) >= 0)
		send_frame(s, &b);
	return code;
}

static int on_hello(struct session *s, const struct proto_frame *f)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	struct proto_welcome w = { .major = PROTO_MAJOR, .minor = PROTO_MINOR };
	const char *release = "", *name;
	struct proto_hello h;

	name = proto_fixed(f, &h, sizeof(h));
	if (!name || strlen(name) > PROTO_NAME_MAX)
		return refuse(s, -EBADMSG, "invalid greeting");
	if (h.major != PROTO_MAJOR)
		return refuse(s, -EPROTONOSUPPORT, "this agent speaks version 1 of the protocol");
	str_escape(s->client, sizeof(s->client), name, strlen(name));
	s->ops->welcome(s->ctx, &w, &release);
	s->state = SESSION_OPEN;
	proto_put(&b, PROTO_WELCOME, &w, sizeof(w), release);
	return send_frame(s, &b);
}

/* A failed subscription does not end the connection: the client may send another. */
static int answer_subscription(struct session *s, int result, const struct err *err)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	const struct proto_status st = { .code = (uint32_t)-result };

	if (result >= 0)
		return 0;
	s->state = SESSION_OPEN;
	proto_put(&b, PROTO_ERROR, &st, sizeof(st), err->msg);
	return send_frame(s, &b);
}

static int on_subscribe(struct session *s, const struct proto_frame *f)
{
	struct err err = { 0 };
	int r;

	if (!proto_fixed(f, NULL, 0))
		return refuse(s, -EBADMSG, "the subscription is not null-terminated");
	s->state = SESSION_STREAM;
	r = s->ops->subscribe(s->ctx, f, &err);
	s->waits = r == SESSION_LATER ? PROTO_SUBSCRIBE : 0;
	return answer_subscription(s, r, &err);
}

static int on_stop(struct session *s)
{
	int r;

	s->state = SESSION_ENDING;
	r = s->ops->stop(s->ctx);
	s->waits = r == SESSION_LATER ? PROTO_STOP : 0;
	return MIN(r, 0);
}

static int answer_call(struct session *s, int result, const struct err *err, struct buf *text)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	struct proto_status st = { .id = s->call_id, .code = (uint32_t)-MIN(result, 0) };

	if (result < 0) {
		proto_put(&b, PROTO_REPLY, &st, sizeof(st), err->msg);
	} else if (proto_put(&b, PROTO_REPLY, &st, sizeof(st), buf_str(text)) == -EMSGSIZE) {
		st.code = EMSGSIZE;
		proto_put(&b, PROTO_REPLY, &st, sizeof(st), "the answer is too long");
	}
	return send_frame(s, &b);
}

static int on_call(struct session *s, const struct proto_frame *f)
{
	_cleanup_(buf_fini) struct buf text = { 0 };
	struct { uint32_t id, zero; } head;
	struct err err = { 0 };
	const char *verb;
	int r;

	verb = proto_fixed(f, &head, sizeof(head));
	if (!verb || !*verb)
		return refuse(s, -EBADMSG, "the call names no verb");
	s->call_id = head.id;
	r = s->ops->call(s->ctx, verb, f, verb, &text, &err);
	s->waits = r == SESSION_LATER ? PROTO_CALL : 0;
	return s->waits ? 0 : answer_call(s, r, &err, &text);
}

static int on_frame(struct session *s, const struct proto_frame *f)
{
	if (s->state == SESSION_NEW)
		return f->type == PROTO_HELLO ? on_hello(s, f)
					      : refuse(s, -EPROTO, "the first frame must be a greeting");
	switch (f->type) {
	case PROTO_SUBSCRIBE:
		if (s->state != SESSION_OPEN)
			return refuse(s, -EPROTO, "a connection has one subscription at a time");
		return on_subscribe(s, f);
	case PROTO_STOP:
		if (s->state == SESSION_OPEN)
			return 0;	/* the stream ended before the frame arrived */
		if (s->state != SESSION_STREAM)
			return refuse(s, -EPROTO, "the stream is already stopping");
		return on_stop(s);
	case PROTO_CALL:
		return on_call(s, f);
	default:
		return refuse(s, -EPROTO, "a frame of this type is not expected here");
	}
}

/* Handles complete frames of @data one after the other; keeps the rest. */
static int take_frames(struct session *s, const char *data, size_t len, size_t *ret_used)
{
	size_t used = 0;
	int r = 1;

	while (r > 0 && !s->waits) {
		struct proto_frame f;

		r = proto_next(data + used, len - used, PROTO_REQUEST_MAX, &f);
		if (r == -EMSGSIZE)
			return refuse(s, r, "a frame of a client has at most 64 KiB");
		if (r < 0)
			return refuse(s, r, "invalid frame");
		if (r > 0) {
			int h = on_frame(s, &f);

			if (h < 0) {
				s->state = SESSION_DEAD;
				return h;
			}
			used += (size_t)r;
		}
	}
	*ret_used = used;
	return 0;
}

static int take_input(struct session *s)
{
	size_t used = 0;
	int r = take_frames(s, s->in.data, s->in.len, &used);

	if (r < 0)
		return r;
	buf_consume(&s->in, used);
	if (!s->in.len)
		buf_fini(&s->in);
	return 0;
}

int session_feed(struct session *s, const void *data, size_t len)
{
	int r;

	if (s->state == SESSION_DEAD)
		return -ESHUTDOWN;
	if (!len)
		return 0;
	r = buf_add(&s->in, data, len);
	return r < 0 ? r : take_input(s);
}

bool session_waits(const struct session *s)
{
	return s->waits;
}

int session_answer(struct session *s, int result, const struct err *err, struct buf *text)
{
	uint16_t waits = s->waits;
	int r = MIN(result, 0);

	s->waits = 0;
	if (waits == PROTO_SUBSCRIBE)
		r = answer_subscription(s, result, err);
	else if (waits == PROTO_CALL)
		r = answer_call(s, result, err, text);
	if (r < 0)
		s->state = SESSION_DEAD;
	return r < 0 ? r : take_input(s);
}

int session_ended(struct session *s)
{
	if (s->state == SESSION_STREAM || s->state == SESSION_ENDING)
		s->state = SESSION_OPEN;
	return 0;
}
