// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every event type of this build survives the frame: header, keys, body, sections, and with them the text and the
 * JSON that are made of it.
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
#include "event/codec.h"
#include "event/decode.h"
#include "event/event.h"
#include "event/filter.h"
#include "event/json.h"

static uint64_t seed = 1;

static uint8_t random_byte(void)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint8_t)(seed >> 33);
}

static void fill(void *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		((uint8_t *)p)[i] = random_byte();
}

static struct registry *all_types(void)
{
	struct registry *reg = registry_new();

	for (const struct decoder_ops *const *d = all_decoders; *d; d++)
		assert_int_equal(registry_add(reg, (*d)->events), 0);
	return reg;
}

/* ---- an event with everything its type may have ---- */

#define SECTION_BYTES 333	/* no multiple of 8: padding is tested */

struct made {
	struct event ev;
	_Alignas(8) char body[65536];
	_Alignas(8) char sec[SEC__MAX][SECTION_BYTES + 3];
};

/* The two sections whose own lengths readers check. */
static void make_section_honest(enum sec_kind kind, char *data)
{
	if (kind == SEC_PACKET)
		((struct sec_packet *)data)->cap_len = SECTION_BYTES - sizeof(struct sec_packet);
	if (kind == SEC_PROC)
		((struct sec_proc *)data)->comm = (struct sec_str){ 3, 16 };
}

static void make(struct made *m, const struct event_desc *desc, bool sections)
{
	fill(m, sizeof(*m));
	m->ev.desc = desc;
	m->ev.n_sec = 0;
	m->ev.body = m->body;
	m->ev.body_len = desc->body_size + (sections ? 5 : 0);	/* bodies may be longer than their fixed part */
	m->ev.names = NULL;
	m->ev.view = NULL;
	m->ev.scratch = NULL;
	memset(m->ev.keys.conn.saddr.pad, 0, 3);
	for (int kind = 0; sections && kind < SEC__MAX && m->ev.n_sec < EVENT_MAX_SECTIONS; kind++) {
		if (!(desc->sections & 1u << kind))
			continue;
		make_section_honest(kind, m->sec[kind]);
		event_add_section(&m->ev, kind, m->sec[kind], SECTION_BYTES);
		m->ev.sec[m->ev.n_sec - 1].flags = (uint16_t)kind;
	}
}

static void print(const struct event *ev, struct buf *out)
{
	struct line_opts o = { .verbose = 2 };
	struct json j = { .out = out };

	event_line(ev, &o, out);
	json_open(&j, '{');
	json_event_fields(&j, ev);
	json_close(&j, '}');
	for (size_t i = 0; i < event_n_common_fields; i++) {
		struct value v;

		if (event_get(ev, &event_common_fields[i], &v) == 0)
			value_text(&v, out);
	}
}

static void check_same(const struct event *a, const struct event *b)
{
	struct buf ta = { 0 }, tb = { 0 };

	assert_ptr_equal(a->desc, b->desc);
	assert_true(a->ts_ns == b->ts_ns && a->seq == b->seq && a->start_ns == b->start_ns);
	assert_true(a->tgid == b->tgid && a->tid == b->tid && a->cpu == b->cpu && a->instance == b->instance);
	assert_true(a->flags == b->flags && a->clock_offset_ns == b->clock_offset_ns);
	assert_memory_equal(&a->keys, &b->keys, sizeof(a->keys));
	assert_int_equal(a->body_len, b->body_len);
	assert_memory_equal(a->body, b->body, a->body_len);
	assert_int_equal(a->n_sec, b->n_sec);
	for (unsigned i = 0; i < a->n_sec; i++) {
		assert_int_equal(a->sec[i].kind, b->sec[i].kind);
		assert_int_equal(a->sec[i].flags, b->sec[i].flags);
		assert_int_equal(a->sec[i].len, b->sec[i].len);
		assert_int_equal((uintptr_t)b->sec[i].data % 8, 0);
		assert_memory_equal(a->sec[i].data, b->sec[i].data, a->sec[i].len);
	}
	print(a, &ta);
	print(b, &tb);
	assert_string_equal(buf_str(&ta), buf_str(&tb));
	buf_fini(&ta);
	buf_fini(&tb);
}

static void check_round_trip(const struct registry *reg, const struct made *m)
{
	size_t len = event_frame_size(&m->ev);
	char *frame = malloc(len + 8);
	struct event back;

	memset(frame, 0xa5, len + 8);
	assert_int_equal(event_encode(&m->ev, frame, len - 1), -ENOSPC);
	assert_int_equal(event_encode(&m->ev, frame, len), len);
	assert_memory_equal(frame + len, "\xa5\xa5\xa5\xa5\xa5\xa5\xa5\xa5", 8);
	for (size_t cut = 0; cut < len; cut++)
		assert_int_equal(event_decode(reg, frame, cut, &back), -EAGAIN);
	assert_int_equal(event_decode(reg, frame, len + 8, &back), len);
	check_same(&m->ev, &back);
	free(frame);
}

static void every_type_survives_the_frame(void **state)
{
	struct made *m = aligned_alloc(8, sizeof(*m));
	struct registry *reg = all_types();
	const struct event_desc *d;
	size_t pos = 0, types = 0;

	(void)state;
	while ((d = registry_next(reg, &pos))) {
		for (int round = 0; round < 4; round++) {
			make(m, d, round % 2);
			check_round_trip(reg, m);
		}
		types++;
	}
	assert_true(types > 7);	/* more than the core's own */
	registry_free(reg);
	free(m);
}

/* Rows that a sink or filter would stumble over. */
static void every_type_describes_itself(void **state)
{
	struct registry *reg = all_types();
	const struct event_desc *d;
	size_t pos = 0;

	(void)state;
	while ((d = registry_next(reg, &pos))) {
		assert_true(d->doc && *d->doc);
		assert_ptr_equal(registry_find(reg, d->type), d);
		assert_ptr_equal(registry_find_name(reg, d->name), d);
		for (unsigned i = 0; i < d->n_fields; i++) {
			const struct field *f = &d->fields[i];

			if (!f->doc || !*f->doc || f->kind >= FIELD__MAX)
				fail_msg("%s: no documentation or no kind", f->name);
			if ((f->kind == FIELD_ENUM || f->kind == FIELD_FLAGS) && !f->xlat)
				fail_msg("%s: no table of names", f->name);
			if (f->kind == FIELD_GET ? !d->get : !f->size || f->off + f->size > d->body_size)
				fail_msg("%s: outside the body", f->name);
		}
	}
	registry_free(reg);
}

/* Each word of each type can be asked for, and matches in an event of its own type if it is there. */
static void every_word_is_a_filter(void **state)
{
	struct made *m = aligned_alloc(8, sizeof(*m));
	struct registry *reg = all_types();
	const struct event_desc *d;
	size_t pos = 0;

	(void)state;
	while ((d = registry_next(reg, &pos))) {
		make(m, d, true);
		for (unsigned i = 0; i < d->n_fields; i++) {
			struct filter *f = NULL;
			struct err e = { 0 };
			struct value v;
			char text[128];

			snprintf(text, sizeof(text), "%s exists", d->fields[i].name);
			if (filter_parse(reg, text, &f, &e) < 0)
				fail_msg("%s", e.msg);
			if (d->class != EVENT_META)
				assert_int_equal(filter_match(f, &m->ev), event_get(&m->ev, &d->fields[i], &v) == 0);
			filter_free(f);
		}
	}
	registry_free(reg);
	free(m);
}

/* ---- bytes that are no frame ---- */

struct patched {
	size_t len;
	_Alignas(8) char bytes[4096];
};

static void frame_of_packet_name(const struct registry *reg, struct patched *p)
{
	struct made *m = aligned_alloc(8, sizeof(*m));
	int n;

	make(m, registry_find(reg, SONDE_EV_NAME), true);
	n = event_encode(&m->ev, p->bytes, sizeof(p->bytes));
	assert_true(n > 0);
	p->len = (size_t)n;
	free(m);
}

static int decode_with(const struct registry *reg, const struct patched *p, size_t off, uint32_t val, size_t size)
{
	struct patched q = *p;
	struct event ev;

	memcpy(q.bytes + off, &val, size);
	return event_decode(reg, q.bytes, q.len, &ev);
}

static void contradictions_are_refused(void **state)
{
	enum { LEN = 0, TYPE = 4, N_SEC = 6, BODY_LEN = 56, FIRST_SEC = 152 };	/* offsets in a frame */
	struct registry *reg = all_types();
	struct patched p;
	uint32_t body;

	(void)state;
	frame_of_packet_name(reg, &p);
	memcpy(&body, p.bytes + BODY_LEN, sizeof(body));
	assert_int_equal(body, 16 + 5);
	assert_int_equal(decode_with(reg, &p, LEN, 8, 4), -EBADMSG);
	assert_int_equal(decode_with(reg, &p, LEN, 151, 4), -EBADMSG);
	assert_int_equal(decode_with(reg, &p, LEN, (uint32_t)p.len - 4, 4), -EBADMSG);
	assert_int_equal(decode_with(reg, &p, LEN, (uint32_t)p.len - 8, 4), -EBADMSG);
	assert_int_equal(decode_with(reg, &p, LEN, (uint32_t)p.len + 8, 4), -EAGAIN);
	assert_int_equal(decode_with(reg, &p, LEN, FRAME_MAX_BYTES + 8, 4), -EBADMSG);
	assert_int_equal(decode_with(reg, &p, TYPE, 0xfffe, 2), -EPROTONOSUPPORT);
	assert_int_equal(decode_with(reg, &p, N_SEC, 0xffff, 2), -EBADMSG);
	assert_int_equal(decode_with(reg, &p, N_SEC, 0, 2), -EBADMSG);
	assert_int_equal(decode_with(reg, &p, BODY_LEN, 15, 4), -EBADMSG);	/* shorter than the type's body */
	assert_int_equal(decode_with(reg, &p, BODY_LEN, 0xfffffff0, 4), -EBADMSG);
	assert_int_equal(decode_with(reg, &p, FIRST_SEC + 4, 0xffffffff, 4), -EBADMSG);
	assert_int_equal(decode_with(reg, &p, FIRST_SEC + 4, 0, 4), -EBADMSG);
	assert_int_equal(decode_with(reg, &p, FIRST_SEC, SEC__MAX, 2), p.len);	/* a newer peer's section: skipped */
	registry_free(reg);
}

static void too_large_is_refused(void **state)
{
	static char big[FRAME_MAX_BYTES];
	struct event ev = { .desc = NULL };
	struct registry *reg = all_types();

	(void)state;
	ev.desc = registry_find(reg, SONDE_EV_TICK);
	event_add_section(&ev, SEC_TEXT, big, sizeof(big));
	assert_int_equal(event_encode(&ev, big, SIZE_MAX), -E2BIG);
	registry_free(reg);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_survives_the_frame),
		cmocka_unit_test(every_type_describes_itself),
		cmocka_unit_test(every_word_is_a_filter),
		cmocka_unit_test(contradictions_are_refused),
		cmocka_unit_test(too_large_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
