// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tables and call graphs of sonde compat perf report, from samples that perf script 6.1 printed, against the tables
 * that perf report 6.1 printed of the same recording (tests/data/perf/README).
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
#include "base/vec.h"
#include "compat/perf/perf_opts.h"
#include "compat/perf/perf_rows.h"
#include "compat/perf/perf_table.h"

static void read_file(const char *name, struct buf *ret)
{
	char path[256];
	FILE *f;
	int c;

	snprintf(path, sizeof(path), TEST_DATA "/perf/%s", name);
	f = fopen(path, "re");
	assert_non_null(f);
	while ((c = getc(f)) != EOF)
		buf_add_char(ret, (char)c);
	fclose(f);
}

/* "\t 55d0 inner+0x12 (/srv/burn)" */
static void add_frame(struct perf_rows *r, char *line)
{
	char *sym = strchr(line + strspn(line, " \t"), ' ') + 1, *dso = strstr(sym, " ("), *end, *slash;
	struct perf_frame f = { .level = '.' };

	assert_non_null(dso);
	*dso = '\0';
	dso += 2;
	dso[strlen(dso) - 1] = '\0';
	end = strrchr(sym, '+');
	if (end && !strncmp(end, "+0x", 3))
		*end = '\0';
	slash = strrchr(dso, '/');
	f.level = *dso == '[' ? 'k' : '.';
	f.sym = perf_rows_text(r, sym);
	f.dso = perf_rows_text(r, slash ? slash + 1 : dso);
	assert_int_equal(perf_rows_add_frame(r, &f), 0);
}

/* Paragraphs of perf script -F comm,tid,period,ip,sym,dso. */
static void feed(struct perf_rows *r, char *text)
{
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n"))) {
		struct perf_cell c = { .count = 1, .first = (uint32_t)r->frames.len };
		char comm[32];

		if (!*line)
			continue;
		assert_int_equal(sscanf(line, "%31s %u %lu", comm, &c.tid, &c.value), 3);
		c.comm = perf_rows_text(r, comm);
		while ((line = strsep(&rest, "\n")) && *line == '\t')
			add_frame(r, line);
		c.n = (uint32_t)r->frames.len - c.first;
		assert_int_equal(perf_rows_add_cell(r, &c), 0);
	}
}

struct table_case {
	const char *file, *chain;
	bool children;
};

/* The lines of perf's table from the heading on, without the blanks at ends and the tip. */
static void trim(const struct buf *text, struct buf *ret)
{
	const char *from = text->data, *end = text->data + text->len, *next;

	for (; from < end; from = next) {
		size_t len;

		next = memchr(from, '\n', (size_t)(end - from));
		next = next ? next + 1 : end;
		len = (size_t)(next - from) - 1;
		while (len && from[len - 1] == ' ')
			len--;
		if (!ret->len && memcmp(from, "# Children", MIN(len, (size_t)10)) &&
		    memcmp(from, "# Overhead", MIN(len, (size_t)10)))
			continue;
		if (len > 5 && !memcmp(from, "# (", 3))
			break;
		if (len && !(len == 1 && *from == '#')) {
			buf_add(ret, from, len);
			buf_add_char(ret, '\n');
		}
	}
}

static void put(const struct table_case *c, struct buf *out)
{
	const struct perf_rows_opts o = {
		.keys = { [PERF_KEY_COMM] = true, [PERF_KEY_DSO] = true, [PERF_KEY_SYM] = true },
		.children = c->children,
	};
	struct perf_table_opts t = {
		.columns = { PERF_COLUMN_OVERHEAD, PERF_COLUMN_COMM, PERF_COLUMN_DSO, PERF_COLUMN_SYM,
			     PERF_COLUMN__MAX },
		.min_percent = 3,
		.chain = { .form = PERF_CHAIN_GRAPH, .min_percent = 3, .callee = !c->children },
	};
	struct perf_rows r = { .has_chains = true };
	struct buf text = { 0 };
	struct err err;

	if (c->children)
		perf_table_set(&t, PERF_COLUMN_CHILDREN, true);
	assert_int_equal(perf_chain_parse(c->chain, &t.chain, &err), 0);
	read_file("script.txt", &text);
	perf_rows_init(&r, &o);
	feed(&r, (char *)buf_str(&text));
	assert_int_equal(perf_rows_finish(&r), 0);
	assert_int_equal(perf_table_put(&r, &t, out), 0);
	perf_rows_fini(&r);
	buf_fini(&text);
}

static void a_table_is_that_of_perf(void **state)
{
	const struct table_case *c = *state;
	struct buf theirs = { 0 }, theirs_lines = { 0 }, ours = { 0 }, ours_lines = { 0 };

	read_file(c->file, &theirs);
	trim(&theirs, &theirs_lines);
	put(c, &ours);
	trim(&ours, &ours_lines);
	assert_string_equal(buf_str(&ours_lines), buf_str(&theirs_lines));
	assert_true(ours_lines.len > 200);
	buf_fini(&theirs);
	buf_fini(&theirs_lines);
	buf_fini(&ours);
	buf_fini(&ours_lines);
}

static struct table_case cases[] = {
	{ "report-children.txt", "graph", true },	    { "report-callee.txt", "graph", false },
	{ "report-fractal.txt", "fractal,3,caller", true }, { "report-flat.txt", "flat", false },
	{ "report-folded.txt", "folded", false },	    { "report-none.txt", "none", false },
};

#define CASE(n) cmocka_unit_test_prestate(a_table_is_that_of_perf, &cases[n])

/* A size behind dwarf is not the least percentage of the graph. */
static void modes_of_call_graphs(void **state)
{
	static const struct {
		const char *arg, *rest;
	} rows[] = {
		{ "fp", "" }, { "lbr", "" }, { "dwarf", "" }, { "dwarf,8192", "" }, { "dwarf,8192,caller", "caller" },
		{ "dwarf,graph,0.5", "graph,0.5" }, { "fp,8", "8" }, { "dwarf,0.5", "0.5" }, { "dwarves", "dwarves" },
		{ "caller", "caller" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(perf_opts_after_mode(rows[i].arg), rows[i].rest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(0), CASE(1), CASE(2), CASE(3), CASE(4), CASE(5), cmocka_unit_test(modes_of_call_graphs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
