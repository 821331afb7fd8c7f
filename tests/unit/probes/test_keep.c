// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The flight recorder's slots, read while idle, while another thread writes them, and with invalid bytes; and the
 * header of a dump as an event.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "event/decode.h"
#include "event/event.h"
#include "probes/net/net_event.h"
#include "probes/net/recorder/net_recorder_wire.h"
#include "probes/net/recorder/net_recorder_ring.h"

#define DATA 128u
#define SLOTS 64u
#define MARGIN 8u	/* slots ahead of the writer that are not trusted */

extern const struct decoder_ops net_decoder;

struct ring {
	struct net_recorder_ring view;
	struct net_recorder_pos pos;
	_Alignas(8) uint8_t bytes[SLOTS * (sizeof(struct net_slot) + DATA)];
};

static struct net_slot *slot_at(struct ring *r, uint64_t i)
{
	return (void *)(r->bytes + i % SLOTS * r->view.slot_bytes);
}

static struct ring *ring_new(void)
{
	struct ring *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->view = (struct net_recorder_ring){
		.slots = r->bytes,
		.slot_bytes = sizeof(struct net_slot) + DATA,
		.n = SLOTS,
		.pos = &r->pos,
	};
	return r;
}

/* As on the kernel side: reserves the slot, clears the number, writes the bytes, sets the number. */
static void write_slot(struct ring *r, uint64_t ts_ns)
{
	uint64_t i = r->pos.n;
	struct net_slot *s = slot_at(r, i);
	uint8_t *data = s->data;

	__atomic_store_n(&r->pos.n, i + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&s->seq, 0, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	s->ts_ns = ts_ns;
	s->orig_len = 1500;
	s->cap_len = DATA;
	for (uint32_t k = 0; k < DATA; k++)
		((volatile uint8_t *)data)[k] = (uint8_t)i;
	__atomic_store_n(&s->seq, i + 1, __ATOMIC_RELEASE);
}

struct seen {
	uint64_t n, first, last;	/* numbers */
	bool in_order, whole;
	int stop;			/* what to return; 0 = go on */
};

static int take(void *ctx, const struct net_slot *s)
{
	struct seen *seen = ctx;

	if (!seen->n)
		seen->first = s->seq;
	else if (s->seq <= seen->last)
		seen->in_order = false;
	for (uint32_t k = 0; k < s->cap_len; k++)
		seen->whole &= s->data[k] == (uint8_t)(s->seq - 1);
	seen->last = s->seq;
	seen->n++;
	return seen->stop;
}

static struct seen read_all(struct ring *r, uint64_t from, uint64_t to, struct net_recorder_ring_stats *st)
{
	struct net_slot *scratch = malloc(r->view.slot_bytes);
	struct seen seen = { .in_order = true, .whole = true };

	assert_non_null(scratch);
	*st = (struct net_recorder_ring_stats){ 0 };
	assert_int_equal(net_recorder_ring_read(&r->view, from, to, scratch, take, &seen, st), 0);
	free(scratch);
	return seen;
}

static void test_all_that_is_there(void **state)
{
	struct ring *r = ring_new();
	struct net_recorder_ring_stats st;
	struct seen s = read_all(r, 0, UINT64_MAX, &st);

	(void)state;
	assert_int_equal(s.n, 0);
	assert_false(st.lapped);
	for (unsigned i = 0; i < 10; i++)
		write_slot(r, 1000 + i);
	s = read_all(r, 0, UINT64_MAX, &st);
	assert_int_equal(s.n, 10);
	assert_int_equal(s.first, 1);
	assert_int_equal(s.last, 10);
	assert_true(s.in_order && s.whole);
	assert_int_equal(st.oldest_ns, 1000);
	assert_int_equal(st.torn, 0);
	assert_false(st.lapped);
	s = read_all(r, 1003, 1005, &st);	/* both ends included */
	assert_int_equal(s.first, 4);
	assert_int_equal(s.n, 3);
	free(r);
}

/* Around the end of the ring, slots that the writer reaches next are left out, and the reader counts them. */
static void test_written_over(void **state)
{
	struct ring *r = ring_new();
	struct net_recorder_ring_stats st;
	struct seen s;

	(void)state;
	for (unsigned i = 0; i < 5 * SLOTS + 7; i++)
		write_slot(r, 1000 + i);
	s = read_all(r, 0, UINT64_MAX, &st);
	assert_int_equal(s.n, SLOTS - MARGIN);
	assert_int_equal(s.last, 5 * SLOTS + 7);
	assert_true(s.in_order && s.whole);
	assert_true(st.lapped);
	assert_int_equal(st.oldest_ns, 1000 + 4 * SLOTS + 7 + MARGIN);
	free(r);
}

static void test_what_is_not_whole(void **state)
{
	struct ring *r = ring_new();
	struct net_recorder_ring_stats st;
	struct seen s;

	(void)state;
	for (unsigned i = 0; i < 20; i++)
		write_slot(r, 1000 + i);
	slot_at(r, 3)->seq = 0;			/* being written */
	slot_at(r, 5)->seq = 6 + SLOTS;		/* of another round */
	slot_at(r, 7)->cap_len = DATA + 1;	/* longer than its slot */
	slot_at(r, 9)->orig_len = DATA - 1;	/* captured length above the original */
	s = read_all(r, 0, UINT64_MAX, &st);
	assert_int_equal(s.n, 16);
	assert_int_equal(st.torn, 1);
	free(r);
}

static void test_reader_may_stop(void **state)
{
	struct ring *r = ring_new();
	struct net_slot *scratch = malloc(r->view.slot_bytes);
	struct net_recorder_ring_stats st = { 0 };
	struct seen s = { .stop = -ENOMEM };

	(void)state;
	write_slot(r, 1);
	write_slot(r, 2);
	assert_int_equal(net_recorder_ring_read(&r->view, 0, 9, scratch, take, &s, &st), -ENOMEM);
	assert_int_equal(s.n, 1);
	free(scratch);
	free(r);
}

struct writer { struct ring *r; int stop; };

static void *write_on(void *ctx)
{
	struct writer *w = ctx;

	for (uint64_t i = 0; !__atomic_load_n(&w->stop, __ATOMIC_RELAXED); i++)
		write_slot(w->r, 1 + i);
	return NULL;
}

/* However the two threads interleave, no delivered packet mixes two. */
static void test_against_a_writer(void **state)
{
	struct writer w = { .r = ring_new() };
	struct net_recorder_ring_stats st;
	uint64_t n = 0;
	pthread_t t;

	(void)state;
	assert_int_equal(pthread_create(&t, NULL, write_on, &w), 0);
	while (__atomic_load_n(&w.r->pos.n, __ATOMIC_RELAXED) < 2 * SLOTS)
		sched_yield();
	for (unsigned i = 0; i < 2000; i++) {
		struct seen s = read_all(w.r, 0, UINT64_MAX, &st);

		assert_true(s.whole && s.in_order);
		n += s.n;
	}
	__atomic_store_n(&w.stop, 1, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
	n += read_all(w.r, 0, UINT64_MAX, &st).n;
	assert_true(n > 0 && st.torn == 0);
	free(w.r);
}

/* ---- the header of a dump ---- */

struct told { unsigned n; struct buf line; uint64_t missing_ns; };

static int take_event(void *ctx, struct event *ev)
{
	const struct line_opts o = { 0 };
	struct told *t = ctx;

	t->n++;
	t->missing_ns = ((const struct net_recorder_dump_event *)ev->body)->missing_ns;
	assert_string_equal(ev->desc->name, "net.dump");
	assert_int_equal(event_line(ev, &o, &t->line), 0);
	return 0;
}

static void test_head_of_a_dump(void **state)
{
	static const struct decoder_ops *const decoders[] = { &net_decoder, NULL };
	struct net_recorder_dump_rec r = {
		.hdr = { .ts_ns = 7000000000, .len = sizeof(r), .type = NET_EV_DUMP, .flags = SONDE_RF_KEPT },
		.from_ns = 2000000000,
		.to_ns = 8000000000,
		.held_from_ns = 2500000000,
		.packets = 812,
		.drops = 3,
		.torn = 1,
		.number = 1,
		.by = NET_RECORDER_DUMP_EVENT,
		.on = "drop.reason=\033X",
	};
	struct decode_set *d;
	struct told t = { 0 };

	(void)state;
	assert_int_equal(decode_set_new(decoders, &d), 0);
	assert_int_equal(decode_record(d, &r.hdr, sizeof(r), take_event, &t), 0);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.missing_ns, 500000000);
	assert_string_equal(buf_str(&t.line),
			    "== dump 1 by event drop.reason=\\eX: 812 packets, 3 drops, 5.000 s before and 1.000 s "
			    "after it; the first 0.500 s were overwritten; 1 packets torn\n");
	r.hdr.len = sizeof(r) - 1;
	assert_int_equal(decode_record(d, &r.hdr, sizeof(r) - 1, take_event, &t), -EBADMSG);
	memset(r.on, 'x', sizeof(r.on));	/* no NUL */
	r.hdr.len = sizeof(r);
	assert_int_equal(decode_record(d, &r.hdr, sizeof(r), take_event, &t), 0);
	buf_fini(&t.line);
	decode_set_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_that_is_there), cmocka_unit_test(test_written_over),
		cmocka_unit_test(test_what_is_not_whole), cmocka_unit_test(test_reader_may_stop),
		cmocka_unit_test(test_against_a_writer), cmocka_unit_test(test_head_of_a_dump),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
