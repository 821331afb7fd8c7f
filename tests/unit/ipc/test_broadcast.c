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
#include "ipc/broadcast.h"

/*
 * A frame here: u32 length, u32 number | weight << 24 | key << 28, bytes of the number; a loss: length, key | 1 <<
 * 31, count, time.
 */
#define FRAME_ALIGN 8
struct frame { uint32_t len, number; };

static uint64_t lost_by[8];	/* keys */

static void look(const void *p, struct broadcast_frame *ret)
{
	const struct frame *f = p;

	*ret = (struct broadcast_frame){
		.len = (uint32_t)ROUND_UP((size_t)f->len, (size_t)FRAME_ALIGN),
		.key = f->number >> 28 & 7,
		.counts = true,
		.weight = f->number >> 24 & 3,
		.ts_ns = f->number & 0xffff,
	};
}

static size_t frame_len(const void *p)
{
	return ROUND_UP((size_t)((const struct frame *)p)->len, (size_t)FRAME_ALIGN);
}

static size_t lost_frame(const struct broadcast_lost *l, void *buf, size_t cap)
{
	const uint32_t f[4] = { sizeof(f), 1u << 31 | l->key, (uint32_t)l->count, (uint32_t)l->ts_ns };

	assert_true(cap >= sizeof(f));
	memcpy(buf, f, sizeof(f));
	return sizeof(f);
}

static void losing(void *ctx, uint16_t key)
{
	if (ctx)
		((uint64_t *)ctx)[key]++;
}

static const struct broadcast_ops ops = {
	.align = FRAME_ALIGN, .stable = true, .look = look, .lost = lost_frame, .losing = losing
};

static struct broadcast_sub *subscribe(struct broadcast *f, struct broadcast_log *l, size_t bytes, size_t frames)
{
	struct broadcast_sub *s = broadcast_subscribe(f, bytes, frames, lost_by);

	broadcast_join(s, l);
	return s;
}

static void write_frame(struct broadcast_log *l, uint32_t number, size_t extra)
{
	const struct frame h = { .len = (uint32_t)(sizeof(h) + extra), .number = number };
	char *rest = malloc(extra + 1);

	memset(rest, (int)number, extra);
	assert_int_equal(broadcast_log_write(l, &h, sizeof(h), rest, extra), 0);
	free(rest);
}

static void send_frame(struct broadcast_sub *s, uint32_t number)
{
	const struct frame h = { .len = sizeof(h), .number = number };

	assert_int_equal(broadcast_send(s, &h, sizeof(h), NULL, 0), 0);
}

#define KEY(k) ((uint32_t)(k) << 28)
#define WEIGHT(w) ((uint32_t)(w) << 24)

/* Everything in the queue, taken in steps of @step bytes, as "1 2 lost:3@0 7". */
static const char *read_all(struct broadcast_sub *s, size_t step, struct buf *bytes, struct buf *text)
{
	struct iovec iov[3];
	bool stable;
	int n;

	while ((n = broadcast_peek(s, iov, 3, &stable)) > 0) {
		size_t take = MIN(step, iov[0].iov_len);

		buf_add(bytes, iov[0].iov_base, take);
		broadcast_consume(s, take);
	}
	for (size_t at = 0; at + 8 <= bytes->len;) {
		const uint32_t *f = (const void *)(bytes->data + at);

		if (f[1] >> 31)
			buf_printf(text, "%slost:%u@%u", at ? " " : "", f[2], f[1] & ~(1u << 31));
		else
			buf_printf(text, "%s%u", at ? " " : "", f[1] & 0xffff);
		at += frame_len(f);
	}
	return buf_str(text);
}

static void expect(struct broadcast_sub *s, size_t step, const char *want)
{
	struct buf bytes = { 0 }, text = { 0 };

	assert_string_equal(read_all(s, step, &bytes, &text), want);
	buf_fini(&bytes);
	buf_fini(&text);
}

static void expect_closed(struct broadcast_sub *s)
{
	struct broadcast_stats st;

	broadcast_stats(s, &st);
	assert_int_equal(st.offered, st.sent + st.lost + st.queued);
	if (broadcast_empty(s)) {
		assert_int_equal(st.queued, 0);
		assert_int_equal(st.queued_bytes, 0);
	}
}

static void test_every_frame_once_in_order_in_any_steps(void **state)
{
	(void)state;
	for (size_t step = 1; step < 80; step++) {
		struct broadcast *f = broadcast_new(&ops);
		struct broadcast_log *l = broadcast_log_new(f), *m = broadcast_log_new(f);
		struct broadcast_sub *a = subscribe(f, l, 1 << 20, 0), *b = subscribe(f, l, 1 << 20, 0);
		struct broadcast_sub *c = subscribe(f, m, 1 << 20, 0);

		for (uint32_t i = 1; i <= 5; i++) {
			write_frame(l, i, i * 3);
			write_frame(m, i + 10, i);
			if (i == 2)
				send_frame(a, 100);	/* after everything written before */
			if (i == 3)
				broadcast_sync(f);
			if (i == 4)
				broadcast_leave(b);
		}
		broadcast_sync(f);
		expect(a, step, "1 2 100 3 4 5");
		expect(b, step, "1 2 3 4");
		expect(c, step, "11 12 13 14 15");
		expect_closed(a);
		expect_closed(b);
		broadcast_unsubscribe(a);
		broadcast_unsubscribe(b);
		broadcast_unsubscribe(c);
		broadcast_log_free(l);
		broadcast_log_free(m);
		assert_int_equal(broadcast_bytes(f), 0);
		broadcast_free(f);
	}
}

static void test_loss_is_told_in_its_place_and_per_key(void **state)
{
	struct broadcast *f = broadcast_new(&ops);
	struct broadcast_log *l = broadcast_log_new(f);
	struct broadcast_sub *s = subscribe(f, l, 1 << 20, 8); /* 7 for data */
	struct iovec iov;
	uint32_t i = 1;
	bool stable;

	(void)state;
	memset(lost_by, 0, sizeof(lost_by));
	for (; i <= 11; i++)
		write_frame(l, i | KEY(i == 9), 0);
	broadcast_log_sync(l);
	assert_int_equal(broadcast_peek(s, &iov, 1, &stable), 1);
	assert_true(stable);
	broadcast_consume(s, 2 * sizeof(struct frame));
	for (; i <= 14; i++)
		write_frame(l, i, 0);
	broadcast_log_sync(l);
	expect_closed(s);
	expect(s, 1000, "3 4 5 6 7 lost:3@0 lost:1@1 12 13 lost:1@0");
	expect_closed(s);
	assert_int_equal(lost_by[0], 4);
	assert_int_equal(lost_by[1], 1);
	broadcast_unsubscribe(s);
	broadcast_log_free(l);
	broadcast_free(f);
}

static void test_state_and_answers_have_room_where_data_has_none(void **state)
{
	struct broadcast *f = broadcast_new(&ops);
	struct broadcast_log *l = broadcast_log_new(f);
	struct broadcast_sub *s = subscribe(f, l, 80, 0); /* 70 bytes for data: 8 frames */
	struct broadcast_stats st;

	(void)state;
	for (uint32_t i = 1; i <= 20; i++)
		write_frame(l, i, 0);
	for (uint32_t i = 100; i < 104; i++)
		write_frame(l, i | WEIGHT(i < 102 ? BROADCAST_STATE : BROADCAST_ALWAYS), 0);
	broadcast_log_sync(l);
	send_frame(s, 104);
	broadcast_stats(s, &st);
	assert_int_equal(st.lost, 14);	/* the mark itself takes the room of eight */
	expect(s, 7, "1 2 3 4 5 6 7 8 lost:14@0 102 103 104");
	expect_closed(s);
	broadcast_unsubscribe(s);
	broadcast_log_free(l);
	broadcast_free(f);
}

/* Disconnected in the middle of a frame: that frame is completed, the rest is one loss. */
static void test_a_queue_that_is_given_up_ends_with_a_whole_frame(void **state)
{
	(void)state;
	for (size_t sent = 0; sent <= 64; sent++) {
		struct broadcast *f = broadcast_new(&ops);
		struct broadcast_log *l = broadcast_log_new(f);
		struct broadcast_sub *s = subscribe(f, l, 1 << 20, 0);
		struct buf bytes = { 0 }, text = { 0 };
		struct iovec iov;
		char want[64];
		unsigned whole = (unsigned)((sent + 15) / 16);
		bool stable;

		for (uint32_t i = 1; i <= 4; i++)
			write_frame(l, i, 8);
		broadcast_log_sync(l);
		assert_int_equal(broadcast_peek(s, &iov, 1, &stable), 1);
		buf_add(&bytes, iov.iov_base, sent);
		broadcast_consume(s, sent);
		broadcast_give_up(s, 5);
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
		broadcast_unsubscribe(s);
		broadcast_log_free(l);
		broadcast_free(f);
	}
}

static void test_memory_is_what_queues_hold(void **state)
{
	struct broadcast *f = broadcast_new(&ops);
	struct broadcast_log *much = broadcast_log_new(f), *little = broadcast_log_new(f);
	struct broadcast_sub *slow = subscribe(f, much, 1 << 20, 0), *also = subscribe(f, much, 1 << 20, 0);
	struct broadcast_sub *few = subscribe(f, little, 1 << 20, 0);

	(void)state;
	for (uint32_t i = 0; i < 200000; i++) {
		write_frame(much, i & 0xffff, 100);
		if (i % 1000 == 0)
			write_frame(little, i & 0xffff, 100);
	}
	broadcast_sync(f);
	assert_true(broadcast_bytes(f) < (1 << 20) + (300 << 10)); /* once, for both */
	broadcast_unsubscribe(slow);
	broadcast_unsubscribe(also);
	assert_true(broadcast_bytes(f) < 300 << 10);
	broadcast_unsubscribe(few);
	assert_true(broadcast_bytes(f) <= 128 << 10);
	broadcast_log_free(much);
	broadcast_log_free(little);
	broadcast_free(f);
}

/* Frames that were handed out stay unchanged, whatever is written after them. */
static void test_what_was_handed_out_never_changes(void **state)
{
	struct broadcast *f = broadcast_new(&ops);
	struct broadcast_log *l = broadcast_log_new(f);
	struct broadcast_sub *s = subscribe(f, l, 1 << 20, 0);
	struct iovec iov;
	char before[64];
	bool stable;

	(void)state;
	write_frame(l, 1, 40);
	broadcast_log_sync(l);
	assert_int_equal(broadcast_peek(s, &iov, 1, &stable), 1);
	memcpy(before, iov.iov_base, iov.iov_len);
	for (uint32_t i = 2; i < 1200; i++)
		write_frame(l, i, 40);
	broadcast_log_sync(l);
	assert_memory_equal(before, iov.iov_base, iov.iov_len);
	broadcast_unsubscribe(s);
	broadcast_log_free(l);
	broadcast_free(f);
}

/* Random frames, reads and disconnects over several subscribers: order kept, ledger closed, at every step. */
static void test_books_close_whatever_happens(void **state)
{
	struct broadcast *f = broadcast_new(&ops);
	struct broadcast_log *logs[2] = { broadcast_log_new(f), broadcast_log_new(f) };
	struct broadcast_sub *subs[4];
	uint32_t seed = 7;

	(void)state;
	for (size_t i = 0; i < 4; i++)
		subs[i] = subscribe(f, logs[i & 1], 500 * (i + 1), i == 2 ? 5 : 0);
	for (uint32_t n = 0; n < 20000; n++) {
		struct iovec iov;
		bool stable;

		seed = seed * 1103515245 + 12345;
		write_frame(logs[seed >> 16 & 1],
			    (n & 0xffff) | KEY(n & 3) | WEIGHT((seed >> 8 & 3) ? BROADCAST_DATA : BROADCAST_STATE),
			    seed >> 20 & 63);
		if (seed >> 5 & 1)
			broadcast_sync(f);
		for (size_t i = 0; i < 4; i++) {
			if ((seed >> (i + 3) & 3) == 0 && broadcast_peek(subs[i], &iov, 1, &stable) == 1)
				broadcast_consume(subs[i], 1 + (seed >> 12) % iov.iov_len);
			if (seed % 97 == i)
				send_frame(subs[i], n & 0xffff);
			if (seed % 997 == i) {
				broadcast_give_up(subs[i], n);
				broadcast_join(subs[i], logs[n & 1]);
			}
			expect_closed(subs[i]);
		}
	}
	for (size_t i = 0; i < 4; i++)
		broadcast_unsubscribe(subs[i]);
	broadcast_log_free(logs[0]);
	broadcast_log_free(logs[1]);
	broadcast_free(f);
}

/* ---- frames without padding: lines of text ---- */

#define READERS 5
#define WRITTEN 4000
#define LINE_MOST 400

/* "<number> <length> xxxx\n", or "lost <count>\n" */
static void look_line(const void *p, struct broadcast_frame *ret)
{
	unsigned number, length;

	if (!strncmp(p, "lost ", 5))
		length = (unsigned)strcspn(p, "\n") + 1;
	else
		assert_int_equal(sscanf(p, "%u %u ", &number, &length), 2);
	*ret = (struct broadcast_frame){ .len = length, .counts = true, .weight = BROADCAST_DATA };
}

static size_t lost_line(const struct broadcast_lost *l, void *buf, size_t cap)
{
	return (size_t)snprintf(buf, cap, "lost %u\n", (unsigned)l->count);
}

static const struct broadcast_ops line_ops = { .align = 1, .look = look_line, .lost = lost_line };

struct reader {
	struct broadcast_sub *sub;
	char line[LINE_MOST + 1];
	size_t len;
	unsigned next; /* expected number */
	uint64_t lost, got;
};

static void take_line(struct reader *m)
{
	unsigned number, length;

	if (sscanf(m->line, "lost %u", &number) == 1) {
		m->lost += number;
		m->next += number;
	} else {
		assert_int_equal(sscanf(m->line, "%u %u ", &number, &length), 2);
		assert_int_equal(number, m->next);
		assert_int_equal(length, m->len);
		m->next++;
		m->got++;
	}
	m->len = 0;
}

static void take_bytes(struct reader *m, const char *p, size_t n)
{
	while (n--) {
		assert_true(m->len < LINE_MOST);
		m->line[m->len++] = *p;
		m->line[m->len] = '\0';
		if (*p++ == '\n')
			take_line(m);
	}
}

/* Up to @most bytes, in random parts, as a socket accepts them. */
static void read_parts(struct reader *m, size_t most)
{
	struct iovec iov[2];
	bool stable;

	while (most && broadcast_peek(m->sub, iov, 2, &stable)) {
		size_t n = MIN(most, 1 + (size_t)rand() % iov[0].iov_len);

		assert_false(stable);
		take_bytes(m, iov[0].iov_base, n);
		broadcast_consume(m->sub, n);
		most -= n;
	}
}

static void write_line(struct broadcast_log *l, unsigned n)
{
	char text[LINE_MOST];
	int head = snprintf(text, sizeof(text), "%u %03u ", n, 0), len = head + 1 + rand() % 300;

	snprintf(text, sizeof(text), "%u %03d ", n, len);
	memset(text + head, 'x', (size_t)(len - head - 1));
	text[len - 1] = '\n';
	assert_int_equal(broadcast_log_write(l, text, (size_t)len / 2, text + len / 2, (size_t)(len - len / 2)), 0);
}

static void test_readers_of_any_speed_get_whole_frames_or_a_count(void **state)
{
	struct broadcast *f = broadcast_new(&line_ops);
	struct broadcast_log *l = broadcast_log_new(f);
	struct reader m[READERS] = { 0 };
	struct broadcast_stats st;

	(void)state;
	srand(7);
	for (size_t i = 0; i < READERS; i++)
		m[i].sub = subscribe(f, l, 4096, 64);
	for (unsigned n = 0; n < WRITTEN; n++) {
		write_line(l, n);
		broadcast_log_sync(l);
		/* From 20 bytes a turn to more than all; the last one sleeps. */
		for (size_t i = 0; i < READERS - 1; i++)
			read_parts(&m[i], (size_t)20 << 2 * i);
	}
	for (size_t i = 0; i < READERS; i++) {
		read_parts(&m[i], SIZE_MAX);
		assert_int_equal(m[i].got + m[i].lost, WRITTEN);
		broadcast_stats(m[i].sub, &st);
		assert_int_equal(st.sent, m[i].got);
		assert_int_equal(st.lost, m[i].lost);
		broadcast_unsubscribe(m[i].sub);
	}
	assert_int_equal(m[READERS - 2].lost, 0);
	assert_true(m[0].lost > 0 && m[0].got > 0);
	assert_true(m[READERS - 1].got > 0 && m[READERS - 1].got < 64);
	broadcast_log_free(l);
	assert_int_equal(broadcast_bytes(f), 0);
	broadcast_free(f);
}

static void test_a_frame_beyond_the_queue_is_lost_and_counted(void **state)
{
	struct broadcast *f = broadcast_new(&line_ops);
	struct broadcast_log *l = broadcast_log_new(f);
	struct reader m = { .sub = subscribe(f, l, 64, 0) };

	(void)state;
	write_line(l, 0);
	broadcast_log_write(l, "1 200 ", 6, (char[194]){ [193] = '\n' }, 194);
	broadcast_log_write(l, "2 006\n", 6, NULL, 0);
	broadcast_log_sync(l);
	read_parts(&m, SIZE_MAX);
	assert_true(m.lost >= 1);
	broadcast_log_write(l, "3 006\n", 6, NULL, 0);
	broadcast_log_sync(l);
	read_parts(&m, SIZE_MAX);
	assert_int_equal(m.next, 4);
	broadcast_unsubscribe(m.sub);
	broadcast_log_free(l);
	broadcast_free(f);
}

static void test_a_queue_with_new_bounds(void **state)
{
	struct broadcast *f = broadcast_new(&ops);
	struct broadcast_log *l = broadcast_log_new(f);
	struct broadcast_sub *s = subscribe(f, l, 16, 0);

	(void)state;
	for (uint32_t i = 1; i <= 4; i++) {
		write_frame(l, i, 0);
		broadcast_log_sync(l);
		broadcast_set_bounds(s, i == 2 ? 1 << 20 : 16 + 16 * (i > 2), 0);
	}
	expect(s, 8, "1 lost:1@0 3 lost:1@0");
	expect_closed(s);
	broadcast_unsubscribe(s);
	broadcast_log_free(l);
	broadcast_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_frame_once_in_order_in_any_steps),
		cmocka_unit_test(test_loss_is_told_in_its_place_and_per_key),
		cmocka_unit_test(test_state_and_answers_have_room_where_data_has_none),
		cmocka_unit_test(test_a_queue_that_is_given_up_ends_with_a_whole_frame),
		cmocka_unit_test(test_memory_is_what_queues_hold),
		cmocka_unit_test(test_what_was_handed_out_never_changes),
		cmocka_unit_test(test_books_close_whatever_happens),
		cmocka_unit_test(test_readers_of_any_speed_get_whole_frames_or_a_count),
		cmocka_unit_test(test_a_frame_beyond_the_queue_is_lost_and_counted),
		cmocka_unit_test(test_a_queue_with_new_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
