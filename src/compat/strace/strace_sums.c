// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A table of calls in strace's columns.
 */
#include "compat/strace/strace_sums.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "compat/strace/strace_opts.h"
#include "probes/sys/sys_body.h"

#define CELL 64

struct sum {
	uint32_t key; /* ABI << 16 | number */
	uint64_t calls, errors, total_ns, min_ns, max_ns;
};

void strace_sums_init(struct strace_sums *s)
{
	map_init(&s->rows, sizeof(uint32_t), sizeof(struct sum));
}

void strace_sums_fini(struct strace_sums *s)
{
	map_fini(&s->rows);
}

int strace_sums_add(struct strace_sums *s, const struct sys_body *b)
{
	uint32_t key = (uint32_t)b->abi << 16 | b->nr;
	bool is_new;
	struct sum *sum = map_add(&s->rows, &key, &is_new);

	if (!sum)
		return -ENOMEM;
	sum->key = key;
	sum->calls++;
	sum->errors += sys_failed(b->ret);
	sum->total_ns += b->latency_ns;
	sum->min_ns = is_new ? b->latency_ns : MIN(sum->min_ns, b->latency_ns);
	sum->max_ns = MAX(sum->max_ns, b->latency_ns);
	return 0;
}

/* ---- the order ---- */

static const char *name_of(const struct sum *s, char buf[static 24])
{
	return sys_table_call_name(s->key >> 16, s->key & 0xffff, buf);
}

static uint64_t number_of(const struct sum *s, unsigned column)
{
	switch ((enum strace_column)column) {
	case STRACE_COLUMN_PERCENT:
	case STRACE_COLUMN_TOTAL: return s->total_ns;
	case STRACE_COLUMN_MIN: return s->min_ns;
	case STRACE_COLUMN_MAX: return s->max_ns;
	case STRACE_COLUMN_AVG: return s->calls ? s->total_ns / s->calls : 0;
	case STRACE_COLUMN_CALLS: return s->calls;
	case STRACE_COLUMN_ERRORS: return s->errors;
	case STRACE_COLUMN_NONE:
	case STRACE_COLUMN_NAME:
	case STRACE_COLUMN__MAX: break;
	}
	return 0;
}

/* Largest first, names in order; then by number. */
static int compare(const void *a, const void *b, void *column)
{
	const struct sum *x = a, *y = b;
	unsigned by = *(const unsigned *)column;
	char first[24], second[24];

	if (by == STRACE_COLUMN_NAME)
		return strcmp(name_of(x, first), name_of(y, second));
	return COMPARE(number_of(y, by), number_of(x, by)) ?: COMPARE(x->key, y->key);
}

/* ---- the table ---- */

static const struct {
	const char *title;
	int width;
} columns[] = {
	[STRACE_COLUMN_NONE] = { "", 0 },	   [STRACE_COLUMN_PERCENT] = { "% time", 6 },
	[STRACE_COLUMN_TOTAL] = { "seconds", 11 }, [STRACE_COLUMN_MIN] = { "shortest", 8 },
	[STRACE_COLUMN_MAX] = { "longest", 8 },	   [STRACE_COLUMN_AVG] = { "usecs/call", 11 },
	[STRACE_COLUMN_CALLS] = { "calls", 9 },	   [STRACE_COLUMN_ERRORS] = { "errors", 9 },
	[STRACE_COLUMN_NAME] = { "syscall", 16 },
};
_Static_assert(ARRAY_SIZE(columns) == STRACE_COLUMN__MAX, "a title per column");

static void seconds(char cell[static CELL], uint64_t ns)
{
	snprintf(cell, CELL, "%" PRIu64 ".%06" PRIu64, ns / 1000000000, ns % 1000000000 / 1000);
}

static void fill_cell(unsigned column, const struct sum *s, uint64_t all_ns, const char *name, char cell[static CELL])
{
	*cell = '\0';
	switch ((enum strace_column)column) {
	case STRACE_COLUMN_PERCENT:
		snprintf(cell, CELL, "%.2f",
			 all_ns ? 100.0 * (double)s->total_ns / (double)all_ns
			 : name ? 0.0
				: 100.0);
		break;
	case STRACE_COLUMN_TOTAL: seconds(cell, s->total_ns); break;
	case STRACE_COLUMN_MIN: seconds(cell, s->min_ns); break;
	case STRACE_COLUMN_MAX: seconds(cell, s->max_ns); break;
	case STRACE_COLUMN_AVG: snprintf(cell, CELL, "%" PRIu64, s->calls ? s->total_ns / s->calls / 1000 : 0); break;
	case STRACE_COLUMN_CALLS: snprintf(cell, CELL, "%" PRIu64, s->calls); break;
	case STRACE_COLUMN_ERRORS:
		if (s->errors)
			snprintf(cell, CELL, "%" PRIu64, s->errors);
		break;
	case STRACE_COLUMN_NAME: snprintf(cell, CELL, "%s", name ? name : "total"); break;
	case STRACE_COLUMN_NONE:
	case STRACE_COLUMN__MAX: break;
	}
}

static bool is_last(const struct strace_opts *o, size_t i)
{
	return i + 1 >= STRACE_COLUMN__MAX || !o->columns[i + 1];
}

static void add_cell(const struct strace_opts *o, size_t i, const char *text, struct buf *out)
{
	unsigned column = o->columns[i];

	buf_add_str(out, i ? " " : "");
	if (column == STRACE_COLUMN_NAME)
		buf_printf(out, "%-*s", is_last(o, i) ? 0 : columns[column].width, text);
	else
		buf_printf(out, "%*s", columns[column].width, text);
	buf_add_str(out, is_last(o, i) ? "\n" : "");
}

static void add_rule(const struct strace_opts *o, struct buf *out)
{
	static const char dashes[] = "----------------";

	for (size_t i = 0; i < STRACE_COLUMN__MAX && o->columns[i]; i++)
		buf_printf(out, "%s%.*s", i ? " " : "", columns[o->columns[i]].width, dashes);
	buf_add_char(out, '\n');
}

/* @name NULL: the line of sums. */
static void add_row(const struct strace_opts *o, const struct sum *s, uint64_t all_ns, const char *name,
		    struct buf *out)
{
	char cell[CELL];

	for (size_t i = 0; i < STRACE_COLUMN__MAX && o->columns[i]; i++) {
		fill_cell(o->columns[i], s, all_ns, name, cell);
		add_cell(o, i, cell, out);
	}
}

static struct sum add_up(const struct sum *rows, size_t n)
{
	struct sum all = { .min_ns = n ? UINT64_MAX : 0 };

	for (size_t i = 0; i < n; i++) {
		all.calls += rows[i].calls;
		all.errors += rows[i].errors;
		all.total_ns += rows[i].total_ns;
		all.min_ns = MIN(all.min_ns, rows[i].min_ns);
		all.max_ns = MAX(all.max_ns, rows[i].max_ns);
	}
	return all;
}

int strace_sums_print(const struct strace_sums *s, const struct strace_opts *o, struct buf *out)
{
	_cleanup_free_ struct sum *rows = calloc(s->rows.len + 1, sizeof(*rows));
	unsigned sort = o->sort;
	size_t n = 0, pos = 0;
	void *key, *val;
	struct sum all;
	char name[24];

	if (!rows)
		return -ENOMEM;
	while (map_next(&s->rows, &pos, &key, &val))
		rows[n++] = *(struct sum *)val;
	qsort_r(rows, n, sizeof(*rows), compare, &sort);
	all = add_up(rows, n);
	for (size_t i = 0; i < STRACE_COLUMN__MAX && o->columns[i]; i++)
		add_cell(o, i, columns[o->columns[i]].title, out);
	add_rule(o, out);
	for (size_t i = 0; i < n; i++)
		add_row(o, &rows[i], all.total_ns, name_of(&rows[i], name), out);
	add_rule(o, out);
	add_row(o, &all, all.total_ns, NULL, out);
	return buf_error(out);
}
