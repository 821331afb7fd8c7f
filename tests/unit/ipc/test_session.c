// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The agent's side of the protocol: every order of frames, split at every byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "ipc/session.h"

struct peer {
	struct session *session;
	struct buf out;		/* frames from the agent */
	struct buf log;		/* requests to the agent */
	bool refuse;		/* the next subscription */
	bool later;		/* answers come by session_answer() */
};

static int on_send(void *ctx, const struct buf *frames)
{
	struct peer *p = ctx;

	return buf_add(&p->out, frames->data, frames->len);
}

static void on_welcome(void *ctx, struct proto_welcome *ret, const char **release)
{
	(void)ctx;
	ret->rights = PROTO_RIGHT_READ;
	*release = "test";
}

static int on_subscribe(void *ctx, const struct proto_frame *f, struct err *err)
{
	struct peer *p = ctx;

	buf_add_str(&p->log, "subscribe");
	for (const char *w = proto_word(f, 0, NULL); w; w = proto_word(f, 0, w))
		buf_printf(&p->log, " %s", w);
	buf_add_str(&p->log, ";");
	if (p->later)
		return SESSION_LATER;
	return p->refuse ? err_set(err, -EINVAL, "not this") : 0;
}

static int on_stop(void *ctx)
{
	struct peer *p = ctx;

	buf_add_str(&p->log, "stop;");
	return p->later ? SESSION_LATER : 0;
}

static int on_call(void *ctx, const char *verb, const struct proto_frame *f, const char *verb_at, struct buf *out,
		   struct err *err)
{
	struct peer *p = ctx;
	size_t fixed = (size_t)(verb_at - (const char *)f->data);

	buf_printf(&p->log, "%s", verb);
	for (const char *w = proto_word(f, fixed, verb_at); w; w = proto_word(f, fixed, w))
		buf_printf(&p->log, " %s", w);
	buf_add_str(&p->log, ";");
	if (p->later)
		return SESSION_LATER;
	if (!strcmp(verb, "bad"))
		return err_set(err, -EPERM, "not you");
	return buf_printf(out, "done %s", verb);
}

static const struct session_ops ops = {
	.send = on_send, .welcome = on_welcome, .subscribe = on_subscribe, .stop = on_stop, .call = on_call,
};

static void begin(struct peer *p)
{
	*p = (struct peer){ .session = session_new(&ops, p) };
}

static void end(struct peer *p)
{
	session_free(p->session);
	buf_fini(&p->out);
	buf_fini(&p->log);
}

static void put_hello(struct buf *b, uint16_t major)
{
	const struct proto_hello h = { .major = major };

	proto_put(b, PROTO_HELLO, &h, sizeof(h), "te\033st");
}

static void put_words(struct buf *b, enum proto_type type, const char *words, size_t len)
{
	const uint32_t head[2] = { 7, 0 };
	const struct buf w = { .data = (char *)words, .len = len };

	proto_put_words(b, type, head, type == PROTO_CALL ? sizeof(head) : 0, &w);
}

/* Frames from the agent: "welcome reply(7,0,done x) error(22)". */
static const char *said(struct peer *p, struct buf *text)
{
	size_t at = 0;
	struct proto_frame f;
	int n;

	while ((n = proto_next(p->out.data + at, p->out.len - at, PROTO_FRAME_MAX, &f)) > 0) {
		struct proto_status st;
		const char *rest = proto_fixed(&f, &st, sizeof(st));

		buf_add_str(text, at ? " " : "");
		if (f.type == PROTO_WELCOME)
			buf_add_str(text, "welcome");
		else if (f.type == PROTO_REPLY)
			buf_printf(text, "reply(%u,%u,%s)", st.id, st.code, rest);
		else if (f.type == PROTO_ERROR)
			buf_printf(text, "error(%u)", st.code);
		at += (size_t)n;
	}
	assert_int_equal(at, p->out.len);
	return buf_str(text);
}

static void conversation(struct buf *b)
{
	put_hello(b, PROTO_MAJOR);
	put_words(b, PROTO_CALL, "status\0a\0bc", 12);
	put_words(b, PROTO_SUBSCRIBE, "probe=net\0where=x", 18);
	put_words(b, PROTO_CALL, "bad", 4);
	put_words(b, PROTO_STOP, "", 0);
}

static void check_conversation(struct peer *p)
{
	struct buf text = { 0 };

	assert_string_equal(buf_str(&p->log), "status a bc;subscribe probe=net where=x;bad;stop;");
	assert_string_equal(said(p, &text), "welcome reply(7,0,done status) reply(7,1,not you)");
	assert_string_equal(session_client(p->session), "te\\est");
	assert_int_equal(session_state(p->session), SESSION_ENDING);
	assert_int_equal(session_held(p->session), 0);
	buf_fini(&text);
}

static void test_cut_at_every_byte(void **state)
{
	struct buf b = { 0 };

	(void)state;
	conversation(&b);
	for (size_t cut = 0; cut <= b.len; cut++) {
		struct peer p;

		begin(&p);
		assert_int_equal(session_feed(p.session, b.data, cut), 0);
		assert_int_equal(session_feed(p.session, b.data + cut, b.len - cut), 0);
		check_conversation(&p);
		end(&p);
	}
	for (size_t step = 1; step < 9; step++) {
		struct peer p;

		begin(&p);
		for (size_t at = 0; at < b.len; at += step)
			assert_int_equal(session_feed(p.session, b.data + at, MIN(step, b.len - at)), 0);
		check_conversation(&p);
		end(&p);
	}
	buf_fini(&b);
}

/* Feeds one frame to a session and expects its end with @code, reported. */
static void expect_end(struct peer *p, const struct buf *b, int code)
{
	struct buf text = { 0 };
	char want[32];

	snprintf(want, sizeof(want), "error(%d)", code);
	buf_reset(&p->out);
	assert_int_equal(session_feed(p->session, b->data, b->len), -code);
	assert_int_equal(session_state(p->session), SESSION_DEAD);
	assert_string_equal(said(p, &text), want);
	assert_int_equal(session_feed(p->session, b->data, b->len), -ESHUTDOWN);
	buf_fini(&text);
}

static void test_what_is_out_of_place_ends_the_connection(void **state)
{
	static const struct { const char *words; size_t len; enum proto_type type; int code; bool greet; } rows[] = {
		{ "x", 2, PROTO_SUBSCRIBE, EPROTO, false },
		{ "x", 2, PROTO_CALL, EPROTO, false },
		{ "", 0, PROTO_STOP, EPROTO, false },
		{ "", 0, PROTO_RECORD, EPROTO, true },
		{ "", 0, (enum proto_type)77, EPROTO, true },
		{ "x", 1, PROTO_SUBSCRIBE, EBADMSG, true },	/* does not end */
		{ "x", 1, PROTO_CALL, EBADMSG, true },
		{ "", 1, PROTO_CALL, EBADMSG, true },		/* no verb */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct buf b = { 0 }, hello = { 0 };
		struct peer p;

		begin(&p);
		put_hello(&hello, PROTO_MAJOR);
		if (rows[i].greet)
			assert_int_equal(session_feed(p.session, hello.data, hello.len), 0);
		put_words(&b, rows[i].type, rows[i].words, rows[i].len);
		expect_end(&p, &b, rows[i].code);
		buf_fini(&b);
		buf_fini(&hello);
		end(&p);
	}
}

static void test_another_version_and_bad_headers(void **state)
{
	const struct proto_head heads[] = {
		{ .len = 4, .type = PROTO_HELLO }, { .len = 0, .type = PROTO_HELLO },
		{ .len = 16, .type = PROTO_HELLO, .zero = 1 },
		{ .len = PROTO_REQUEST_MAX + 1, .type = PROTO_SUBSCRIBE }, { .len = UINT32_MAX, .type = PROTO_STOP },
	};
	struct buf b = { 0 };
	struct peer p;

	(void)state;
	begin(&p);
	put_hello(&b, PROTO_MAJOR + 1);
	expect_end(&p, &b, EPROTONOSUPPORT);
	end(&p);
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		const struct buf bad = { .data = (char *)&heads[i], .len = sizeof(heads[i]) };

		begin(&p);
		expect_end(&p, &bad, heads[i].len > 16 ? EMSGSIZE : EBADMSG);
		end(&p);
	}
	buf_fini(&b);
}

static void test_one_stream_at_a_time_and_another_after_it(void **state)
{
	struct buf b = { 0 }, sub = { 0 }, stop = { 0 };
	struct peer p;

	(void)state;
	begin(&p);
	put_hello(&b, PROTO_MAJOR);
	put_words(&sub, PROTO_SUBSCRIBE, "a", 2);
	put_words(&stop, PROTO_STOP, "", 0);
	session_feed(p.session, b.data, b.len);
	p.refuse = true;
	assert_int_equal(session_feed(p.session, sub.data, sub.len), 0);
	assert_int_equal(session_state(p.session), SESSION_OPEN);
	p.refuse = false;
	assert_int_equal(session_feed(p.session, sub.data, sub.len), 0);
	assert_int_equal(session_state(p.session), SESSION_STREAM);
	session_ended(p.session);	/* by the agent, while STOP is on its way */
	assert_int_equal(session_feed(p.session, stop.data, stop.len), 0);
	assert_int_equal(session_state(p.session), SESSION_OPEN);
	assert_int_equal(session_feed(p.session, sub.data, sub.len), 0);
	assert_string_equal(buf_str(&p.log), "subscribe a;subscribe a;subscribe a;");
	expect_end(&p, &sub, EPROTO);
	buf_fini(&b);
	buf_fini(&sub);
	buf_fini(&stop);
	end(&p);
}

/* Frames queue behind a request that is answered later and keep their order; a load_error keeps the connection open.
 */
static void test_frames_wait_for_an_answer_that_comes_later(void **state)
{
	struct buf b = { 0 }, text = { 0 }, reply = { 0 };
	struct err err = { 0 };
	struct peer p;

	(void)state;
	begin(&p);
	p.later = true;
	conversation(&b);
	assert_int_equal(session_feed(p.session, b.data, b.len), 0);
	assert_true(session_waits(p.session));
	assert_string_equal(buf_str(&p.log), "status a bc;");
	buf_add_str(&reply, "late");
	assert_int_equal(session_answer(p.session, 0, &err, &reply), 0);
	assert_string_equal(buf_str(&p.log), "status a bc;subscribe probe=net where=x;");
	err_set(&err, -EINVAL, "no");
	assert_int_equal(session_answer(p.session, -EINVAL, &err, NULL), 0);
	assert_int_equal(session_state(p.session), SESSION_OPEN);
	assert_string_equal(buf_str(&p.log), "status a bc;subscribe probe=net where=x;bad;");
	assert_int_equal(session_answer(p.session, -EPERM, &err, &reply), 0);
	assert_false(session_waits(p.session));	/* STOP arrived after the stream had ended */
	assert_string_equal(said(&p, &text), "welcome reply(7,0,late) error(22) reply(7,1,no)");
	assert_int_equal(session_held(p.session), 0);
	buf_fini(&b);
	buf_fini(&text);
	buf_fini(&reply);
	end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cut_at_every_byte),
		cmocka_unit_test(test_what_is_out_of_place_ends_the_connection),
		cmocka_unit_test(test_another_version_and_bad_headers),
		cmocka_unit_test(test_one_stream_at_a_time_and_another_after_it),
		cmocka_unit_test(test_frames_wait_for_an_answer_that_comes_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
