// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every event type of this build: its rows are sound, each of its fields works in a filter, and an event of arbitrary
 * bytes can be printed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "event/decode.h"
#include "event/event.h"
#include "event/filter/filter.h"
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

#define SECTION_BYTES 333

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
	m->ev.functions = NULL;
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

static void every_type_is_printed(void **state)
{
	struct made *m = aligned_alloc(8, sizeof(*m));
	struct registry *reg = all_types();
	const struct event_desc *d;
	size_t pos = 0, types = 0;

	(void)state;
	while ((d = registry_next(reg, &pos))) {
		for (int round = 0; round < 4; round++) {
			struct buf b = { 0 };

			make(m, d, round % 2);
			print(&m->ev, &b);
			assert_int_equal(buf_error(&b), 0);
			assert_non_null(strstr(buf_str(&b), d->name));
			buf_fini(&b);
		}
		types++;
	}
	assert_true(types > 7);	/* more than the core's own */
	registry_free(reg);
	free(m);
}

/* Rows that would trip a sink or filter. */
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

/* Each field of each type can be filtered on, and matches in an event of its type if present. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_is_printed),
		cmocka_unit_test(every_type_describes_itself),
		cmocka_unit_test(every_word_is_a_filter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
