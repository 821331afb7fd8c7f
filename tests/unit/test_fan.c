// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "bus/fan.h"

/* A frame here: u32 length, u32 number, bytes of the number; a loss: length, key | 1 << 31, count. */
struct frame { uint32_t len, number; };

static size_t frame_len(const void *p)
{
	return ROUND_UP((size_t)((const struct frame *)p)->len, (size_t)FAN_ALIGN);
}

static size_t lost_frame(void *ctx, const struct fan_lost *l, void *buf, size_t cap)
{
	const uint32_t f[4] = { sizeof(f), 1u << 31 | l->key, (uint32_t)l->count, (uint32_t)l->ts_ns };

	(void)ctx;
	assert_true(cap >= sizeof(f));
	memcpy(buf, f, sizeof(f));
	return sizeof(f);
}

static struct fan_sub *subscribe(struct fan *f, size_t bytes, size_t frames, bool sparse)
{
	return fan_subscribe(f, &(struct fan_sub_opts){
		.queue_bytes = bytes, .queue_frames = frames, .sparse = sparse,
		.lost = lost_frame, .frame_len = frame_len,
	});
}

static struct fan_span write_frame(struct fan *f, unsigned log, uint32_t number, size_t extra)
{
	const struct frame h = { .len = (uint32_t)(sizeof(h) + extra), .number = number };
	char *rest = malloc(extra + 1);
	struct fan_span span;

	memset(rest, (int)number, extra);
	assert_int_equal(fan_write(f, log, &h, sizeof(h), rest, extra, &span), 0);
	free(rest);
	return span;
}

/* Everything in the queue, taken in steps of @step bytes, as "1 2 lost:3@0 7". */
static const char *read_all(struct fan_sub *s, size_t step, struct buf *bytes, struct buf *text)
{
	struct iovec iov[3];
	int n;

	while ((n = fan_peek(s, iov, 3)) > 0) {
		size_t take = MIN(step, iov[0].iov_len);

		buf_add(bytes, iov[0].iov_base, take);
		fan_consume(s, take);
	}
	for (size_t at = 0; at + 8 <= bytes->len;) {
		const uint32_t *f = (const void *)(bytes->data + at);

		if (f[1] >> 31)
			buf_printf(text, "%slost:%u@%u", at ? " " : "", f[2], f[1] & ~(1u << 31));
		else
			buf_printf(text, "%s%u", at ? " " : "", f[1]);
		at += frame_len(f);
	}
	return buf_str(text);
}

static void expect(struct fan_sub *s, size_t step, const char *want)
{
	struct buf bytes = { 0 }, text = { 0 };

	assert_string_equal(read_all(s, step, &bytes, &text), want);
	buf_fini(&bytes);
	buf_fini(&text);
}

static void expect_closed(struct fan_sub *s)
{
	struct fan_stats st;

	fan_stats(s, &st);
	assert_int_equal(st.offered, st.sent + st.lost + st.queued);
	if (fan_empty(s)) {
		assert_int_equal(st.queued, 0);
		assert_int_equal(st.queued_bytes, 0);
	}
}

static void test_every_frame_once_in_order_in_any_steps(void **state)
{
	(void)state;
	for (size_t step = 1; step < 80; step++) {
		struct fan *f = fan_new();
		struct fan_sub *a = subscribe(f, 1 << 20, 0, false), *b = subscribe(f, 1 << 20, 0, true);

		for (uint32_t i = 1; i <= 5; i++) {
			struct fan_span span = write_frame(f, i % 2, i, i * 3);

			assert_true(fan_offer(a, &span, 0, 0, FAN_DATA));
			if (i % 2)
				assert_true(fan_offer(b, &span, 0, 0, FAN_DATA));
		}
		expect(a, step, "1 2 3 4 5");
		expect(b, step, "1 3 5");
		expect_closed(a);
		expect_closed(b);
		fan_unsubscribe(a);
		fan_unsubscribe(b);
		fan_free(f);
	}
}

static void test_loss_is_told_in_its_place_and_per_key(void **state)
{
	struct fan *f = fan_new();
	struct fan_sub *s = subscribe(f, 1 << 20, 8, false);	/* 7 for data */
	struct iovec iov;
	uint32_t i = 1;

	(void)state;
	for (; i <= 11; i++) {
		struct fan_span span = write_frame(f, 0, i, 0);

		assert_int_equal(fan_offer(s, &span, i == 9, i, FAN_DATA), i <= 7);
	}
	assert_int_equal(fan_peek(s, &iov, 1), 1);
	fan_consume(s, 2 * sizeof(struct frame));
	for (; i <= 14; i++) {
		struct fan_span span = write_frame(f, 0, i, 0);

		fan_offer(s, &span, 0, i, FAN_DATA);
	}
	expect_closed(s);
	expect(s, 1000, "3 4 5 6 7 lost:3@0 lost:1@1 12 13 lost:1@0");
	expect_closed(s);
	fan_unsubscribe(s);
	fan_free(f);
}

static void test_state_and_answers_have_room_where_data_has_none(void **state)
{
	struct fan *f = fan_new();
	struct fan_sub *s = subscribe(f, 80, 0, false);	/* 70 bytes for data: 8 frames */
	struct fan_stats st;

	(void)state;
	for (uint32_t i = 1; i <= 20; i++) {
		struct fan_span span = write_frame(f, 0, i, 0);

		fan_offer(s, &span, 0, 0, FAN_DATA);
	}
	for (uint32_t i = 100; i < 104; i++) {
		struct fan_span span = write_frame(f, 0, i, 0);

		fan_offer(s, &span, 0, 0, i < 102 ? FAN_STATE : FAN_ALWAYS);
	}
	fan_stats(s, &st);
	assert_int_equal(st.lost, 14);	/* the mark itself has the room of eight */
	expect(s, 7, "1 2 3 4 5 6 7 8 lost:14@0 102 103");
	expect_closed(s);
	fan_unsubscribe(s);
	fan_free(f);
}

/* Cut in the middle of a frame: that one ends whole, the rest is one loss. */
static void test_a_queue_that_is_given_up_ends_with_a_whole_frame(void **state)
{
	(void)state;
	for (size_t sent = 0; sent <= 64; sent++) {
		struct fan *f = fan_new();
		struct fan_sub *s = subscribe(f, 1 << 20, 0, false);
		struct buf bytes = { 0 }, text = { 0 };
		struct iovec iov;
		char want[64];
		unsigned whole = (unsigned)((sent + 15) / 16);

		for (uint32_t i = 1; i <= 4; i++) {
			struct fan_span span = write_frame(f, 0, i, 8);

			fan_offer(s, &span, 0, 0, FAN_DATA);
		}
		assert_int_equal(fan_peek(s, &iov, 1), 1);
		buf_add(&bytes, iov.iov_base, sent);
		fan_consume(s, sent);
		fan_give_up(s, 5);
		expect_closed(s);
		*want = '\0';
		for (unsigned i = 1; i <= whole; i++)
			snprintf(want + strlen(want), sizeof(want) - strlen(want), "%s%u", i > 1 ? " " : "", i);
		if (whole < 4)
			snprintf(want + strlen(want), sizeof(want) - strlen(want), "%slost:%u@0", whole ? " " : "",
				 4 - whole);
		assert_string_equal(read_all(s, 5, &bytes, &text), want);
		expect_closed(s);
		buf_fini(&bytes);
		buf_fini(&text);
		fan_unsubscribe(s);
		fan_free(f);
	}
}

static void test_memory_is_what_queues_hold(void **state)
{
	struct fan *f = fan_new();
	struct fan_sub *slow = subscribe(f, 1 << 20, 0, false), *few = subscribe(f, 1 << 20, 0, true);

	(void)state;
	for (uint32_t i = 0; i < 200000; i++) {
		struct fan_span span = write_frame(f, 0, i, 100);

		fan_offer(slow, &span, 0, 0, FAN_DATA);
		if (i % 1000 == 0)	/* one in each chunk would keep all of them */
			fan_offer(few, &span, 0, 0, FAN_DATA);
	}
	assert_true(fan_bytes(f) < (1 << 20) + (300 << 10));
	fan_unsubscribe(slow);
	assert_true(fan_bytes(f) < 300 << 10);
	fan_unsubscribe(few);
	assert_true(fan_bytes(f) <= 128 << 10);
	fan_free(f);
}

/* Random offers, reads and cuts over several subscribers: order kept, books closed, at every step. */
static void test_books_close_whatever_happens(void **state)
{
	struct fan *f = fan_new();
	struct fan_sub *subs[4];
	uint32_t seed = 7;

	(void)state;
	for (size_t i = 0; i < 4; i++)
		subs[i] = subscribe(f, 500 * (i + 1), i == 2 ? 5 : 0, i & 1);
	for (uint32_t n = 0; n < 20000; n++) {
		struct fan_span span;
		struct iovec iov;

		seed = seed * 1103515245 + 12345;
		span = write_frame(f, seed >> 16 & 3, n, seed >> 20 & 63);
		for (size_t i = 0; i < 4; i++) {
			fan_offer(subs[i], &span, (uint16_t)(n & 3), n, (seed >> 8 & 3) ? FAN_DATA : FAN_STATE);
			if ((seed >> (i + 3) & 3) == 0 && fan_peek(subs[i], &iov, 1) == 1)
				fan_consume(subs[i], 1 + (seed >> 12) % iov.iov_len);
			if (seed % 997 == i)
				fan_give_up(subs[i], n);
			expect_closed(subs[i]);
		}
	}
	for (size_t i = 0; i < 4; i++)
		fan_unsubscribe(subs[i]);
	fan_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_frame_once_in_order_in_any_steps),
		cmocka_unit_test(test_loss_is_told_in_its_place_and_per_key),
		cmocka_unit_test(test_state_and_answers_have_room_where_data_has_none),
		cmocka_unit_test(test_a_queue_that_is_given_up_ends_with_a_whole_frame),
		cmocka_unit_test(test_memory_is_what_queues_hold),
		cmocka_unit_test(test_books_close_whatever_happens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
