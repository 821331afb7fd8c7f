// SPDX-License-Identifier: GPL-2.0-or-later
/* Counters: tables of names, and Prometheus' text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/macros.h"
#include "event/event.h"
#include "probes/net/datapath/net_dpnames.h"
#include "sinks/outfile.h"
#include "sinks/sink.h"
#include "sonde/wire.h"

/* ---- tables ---- */

struct rows {
	struct net_dpname rows[8];
	size_t n;
};

static int keep(void *ctx, const struct net_dpname *n)
{
	struct rows *r = ctx;

	assert_true(r->n < ARRAY_SIZE(r->rows));
	r->rows[r->n++] = *n;
	return 0;
}

static void expect_row(const struct net_dpname *n, enum net_dpname_kind kind, uint32_t number, const char *text)
{
	assert_int_equal(n->kind, kind);
	assert_int_equal(n->number, number);
	assert_int_equal(n->len, strlen(text));
	assert_memory_equal(n->text, text, n->len);
}

static void a_table_has_files_drops_and_points(void **state)
{
	static const char table[] = "# of an example\n\nfile\t1\ta.c\n drop 133 denied  Policy denied \t\r\n"
				    "point 64 l3_fwd Forwarded # here\ndrop 140 bare";
	struct rows r = { .n = 0 };

	(void)state;
	assert_int_equal(net_dpnames_parse(table, strlen(table), keep, &r, NULL), 0);
	assert_int_equal(r.n, 4);
	expect_row(&r.rows[0], NET_DPNAME_FILE, 1, "a.c");
	expect_row(&r.rows[1], NET_DPNAME_DROP, 133, "Policy denied");
	expect_row(&r.rows[2], NET_DPNAME_POINT, 64, "l3_fwd");
	expect_row(&r.rows[3], NET_DPNAME_DROP, 140, "bare");
}

static void a_wrong_row_is_named_by_line_and_column(void **state)
{
	static const struct { const char *text, *says; } wrong[] = {
		{ "file 1 a.c\nfeil 2 b.c\n", "2:1: a row begins with file, drop or point" },
		{ "drop 12 x", "1:6: the number of a drop is from 130 to 255" },
		{ "point 130 x", "1:7: the number of a point is from 16 to 129" },
		{ "\n\n  file 0 x", "3:8: the number of a file is from 1 to 255" },
		{ "file one x", "1:6: the number of a file is from 1 to 255" },
		{ "file 99999999999999 x", "1:6: the number of a file is from 1 to 255" },
		{ "file", "1:5: the number of a file is from 1 to 255" },
		{ "file 1", "1:7: a name is missing" },
		{ "file 1 # a.c", "1:8: a name is missing" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct rows r = { .n = 0 };
		struct err err = { 0 };

		assert_int_equal(net_dpnames_parse(wrong[i].text, strlen(wrong[i].text), keep, &r, &err), -EINVAL);
		assert_string_equal(err.msg, wrong[i].says);
	}
}

/* ---- Prometheus ---- */

struct toy {
	uint64_t sum;
	uint32_t now;
	char who[24];
};

static const struct field toy_fields[] = {
	FIELD_ROW(struct toy, who, "toy.who", FIELD_STR, "whose", .flags = FIELD_LABEL | FIELD_OPTIONAL),
	FIELD_ROW(struct toy, now, "toy.now", FIELD_UINT, "of the moment"),
	FIELD_ROW(struct toy, sum, "toy.total_things", FIELD_UINT, "things since the start", .flags = FIELD_TOTAL),
};
static const struct event_desc toy_desc = {
	.type = SONDE_EV(0x70, 1), .name = "toy.some-thing", .fields = toy_fields, .n_fields = ARRAY_SIZE(toy_fields),
	.body_size = sizeof(struct toy),
};

static void the_last_sums_are_written_sorted_and_escaped(void **state)
{
	static const struct toy bodies[] = {
		{ .sum = 7, .who = "z" }, { .sum = 1, .who = "a\"b\\c\n\xff" }, { .sum = UINT64_MAX, .who = "z" },
		{ .sum = 3 },
	};
	const struct sink_opts opts = { 0 };
	struct outfile *out;
	const char *data;
	struct sink s;
	size_t len;

	(void)state;
	assert_int_equal(outfile_open_mem(&out), 0);
	assert_int_equal(sink_open(&s, sink_find("prometheus"), &opts, out, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		const struct event ev = { .desc = &toy_desc, .body = &bodies[i], .body_len = sizeof(bodies[i]),
					  .keys.netns = i == 3 ? 0 : 5 };

		assert_int_equal(sink_event(&s, &ev), 0);
	}
	assert_int_equal(sink_close(&s), 0);
	data = outfile_mem(out, &len);
	static const char want[] =
		"# HELP sonde_toy_some_thing_things_total things since the start\n"
		"# TYPE sonde_toy_some_thing_things_total counter\n"
		"sonde_toy_some_thing_things_total{who=\"a\\\"b\\\\\\\\c\\\\n\\\\xff\",netns=\"5\"} 1\n"
		"sonde_toy_some_thing_things_total{who=\"z\",netns=\"5\"} 18446744073709551615\n"
		"sonde_toy_some_thing_things_total 3\n";
	assert_int_equal(len, strlen(want));
	assert_memory_equal(data, want, len);
	outfile_free(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_has_files_drops_and_points),
		cmocka_unit_test(a_wrong_row_is_named_by_line_and_column),
		cmocka_unit_test(the_last_sums_are_written_sorted_and_escaped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
