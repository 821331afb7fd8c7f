// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The agent's side of a connection, with state: the input interleaves several clients. Each step is a byte (which
 * client, what to do) and its data: raw bytes, a valid frame built from them, an end of the stream by the agent, a
 * refused subscription. Checked after each step: the states that doc/protocol.md allows, well-formed frames from the
 * agent, an end after every error.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/macros.h"
#include "ipc/session.h"

#define CLIENTS 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct peer {
	struct session *session;
	struct buf out;
	bool refuse, streams;
};

static int on_send(void *ctx, const struct buf *frames)
{
	struct peer *p = ctx;

	return buf_add(&p->out, frames->data, frames->len);
}

static void on_welcome(void *ctx, struct proto_welcome *ret, const char **release)
{
	(void)ctx;
	ret->pid = 1;
	*release = "x";
}

/* Every word is read to its end. */
static size_t read_words(const struct proto_frame *f, size_t fixed, const char *from)
{
	size_t n = 0;

	for (const char *w = proto_word(f, fixed, from); w; w = proto_word(f, fixed, w))
		n += strlen(w) + 1;
	if (n > f->len)
		abort();
	return n;
}

static int on_subscribe(void *ctx, const struct proto_frame *f, struct err *err)
{
	struct peer *p = ctx;

	if (p->streams)
		abort();	/* two at a time */
	read_words(f, 0, NULL);
	if (p->refuse)
		return err_set(err, -EINVAL, "no");
	p->streams = true;
	return 0;
}

static int on_stop(void *ctx)
{
	struct peer *p = ctx;

	if (!p->streams)
		abort();
	return 0;
}

static int on_call(void *ctx, const char *verb, const struct proto_frame *f, const char *verb_at, struct buf *out,
		   struct err *err)
{
	(void)ctx;
	if (session_state(((struct peer *)ctx)->session) == SESSION_NEW)
		abort();
	read_words(f, (size_t)(verb_at - (const char *)f->data), verb_at);
	return *verb == 'e' ? err_set(err, -EPERM, "no") : buf_add_str(out, verb);
}

static const struct session_ops ops = {
	.send = on_send, .welcome = on_welcome, .subscribe = on_subscribe, .stop = on_stop, .call = on_call,
};

static void check_output(struct peer *p)
{
	struct proto_frame f;
	size_t at = 0;
	int n;

	if (!p->out.len)
		return;
	while ((n = proto_next(p->out.data + at, p->out.len - at, PROTO_FRAME_MAX, &f)) > 0) {
		if (f.type < PROTO_WELCOME || f.type >= PROTO__MAX)
			abort();
		at += (size_t)n;
	}
	if (n < 0 || at != p->out.len)
		abort();
	buf_reset(&p->out);
}

static void feed(struct peer *p, const void *bytes, size_t len)
{
	bool dead = session_state(p->session) == SESSION_DEAD;
	int r = session_feed(p->session, bytes, len);

	if ((r < 0) != (session_state(p->session) == SESSION_DEAD) || (dead && r != -ESHUTDOWN))
		abort();
	if (session_held(p->session) > PROTO_REQUEST_MAX + len)
		abort();
	check_output(p);
}

static void step(struct peer *p, uint8_t what, struct cursor *c)
{
	size_t len = MIN((size_t)cur_u8(c) | (what & 0x10 ? (size_t)cur_u8(c) << 8 : 0), cur_left(c));
	const void *bytes = cur_bytes(c, len);
	struct buf frame = { 0 };

	p->refuse = what & 0x20;
	switch (what >> 6) {
	case 0:
		feed(p, bytes, bytes ? len : 0);
		break;
	case 1:		/* a frame of some type around the bytes */
	case 2:
		proto_put_words(&frame, (enum proto_type)(what >> 2 & 7), NULL, 0,
				&(struct buf){ .data = (char *)bytes, .len = bytes ? len : 0 });
		feed(p, frame.data, frame.len);
		buf_fini(&frame);
		break;
	default:
		if (p->streams) {
			session_ended(p->session);
			p->streams = false;
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct peer peers[CLIENTS] = { 0 };
	struct cursor c = cur_init(data, size);

	for (size_t i = 0; i < CLIENTS; i++)
		peers[i].session = session_new(&ops, &peers[i]);
	while (cur_left(&c)) {
		uint8_t what = cur_u8(&c);

		step(&peers[what & (CLIENTS - 1)], what, &c);
	}
	for (size_t i = 0; i < CLIENTS; i++) {
		session_free(peers[i].session);
		buf_fini(&peers[i].out);
	}
	return 0;
}
