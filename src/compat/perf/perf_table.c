// SPDX-License-Identifier: GPL-2.0-or-later
#include "compat/perf/perf_table.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "compat/perf/perf_rows.h"

#define NO_KEY (-1)

/* Columns with @width have one width, numbers to the right; others are as wide as their widest text. */
static const struct {
	const char *title, *names[3]; /* names: in --sort and --fields */
	int width, key;
} columns[] = {
	[PERF_COLUMN_CHILDREN] = { "Children", { "overhead_children" }, 8, NO_KEY },
	[PERF_COLUMN_OVERHEAD] = { "Overhead", { "overhead" }, 8, NO_KEY },
	[PERF_COLUMN_SAMPLES] = { "Samples", { "sample", "samples" }, 12, NO_KEY },
	[PERF_COLUMN_PERIOD] = { "Period", { "period" }, 12, NO_KEY },
	[PERF_COLUMN_PID] = { "    Pid:Command", { "pid", "tid" }, 0, PERF_KEY_PID },
	[PERF_COLUMN_COMM] = { "Command", { "comm" }, 0, PERF_KEY_COMM },
	[PERF_COLUMN_CPU] = { "CPU", { "cpu" }, 0, PERF_KEY_CPU },
	[PERF_COLUMN_DSO] = { "Shared Object", { "dso" }, 0, PERF_KEY_DSO },
	[PERF_COLUMN_SYM] = { "Symbol", { "symbol", "sym" }, 0, PERF_KEY_SYM },
};
_Static_assert(ARRAY_SIZE(columns) == PERF_COLUMN__MAX, "a title per column");

/* ---- --sort and --fields ---- */

static int column_named(const char *word, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		for (size_t n = 0; n < ARRAY_SIZE(columns[i].names) && columns[i].names[n]; n++)
			if (strlen(columns[i].names[n]) == len && !memcmp(columns[i].names[n], word, len))
				return (int)i;
	return -EINVAL;
}

static size_t count(const struct perf_table_opts *t)
{
	size_t n = 0;

	while (t->columns[n] < PERF_COLUMN__MAX)
		n++;
	return n;
}

bool perf_table_has(const struct perf_table_opts *t, enum perf_column column)
{
	return memchr(t->columns, (int)column, count(t));
}

static void append(struct perf_table_opts *t, enum perf_column column)
{
	size_t n = count(t);

	if (perf_table_has(t, column))
		return;
	t->columns[n] = (uint8_t)column;
	t->columns[n + 1] = PERF_COLUMN__MAX;
}

void perf_table_set(struct perf_table_opts *t, enum perf_column column, bool on)
{
	size_t n = count(t), at = 0;
	uint8_t *found = memchr(t->columns, (int)column, n);

	if (found && !on)
		memmove(found, found + 1, (size_t)(t->columns + n - found));
	if (found || !on)
		return;
	/* behind the other numbers, but for the first column */
	while (column != PERF_COLUMN_CHILDREN && at < n && columns[t->columns[at]].key == NO_KEY)
		at++;
	memmove(t->columns + at + 1, t->columns + at, n + 1 - at);
	t->columns[at] = (uint8_t)column;
}

static void drop_keys(struct perf_table_opts *t, struct perf_rows_opts *keys, bool all)
{
	size_t kept = 0, n = count(t);

	for (size_t i = 0; i < n; i++)
		if (!all && columns[t->columns[i]].key == NO_KEY)
			t->columns[kept++] = t->columns[i];
	t->columns[kept] = PERF_COLUMN__MAX;
	memset(keys->keys, 0, sizeof(keys->keys));
}

int perf_table_sort(const char *text, bool fields, struct perf_table_opts *t, struct perf_rows_opts *keys,
		    struct err *err)
{
	const bool adds = *text == '+';
	const char *word;
	size_t len;

	text += adds;
	if (!adds)
		drop_keys(t, keys, fields);
	while ((word = str_next_word(&text, &len))) {
		int column = column_named(word, len);

		if (column < 0)
			return err_set(err, -EINVAL,
				       "--%s %.*s is not supported: samples have comm, pid, cpu, dso and "
				       "symbol (sonde profile -o json has all)",
				       fields ? "fields" : "sort", (int)len, word);
		if (adds && columns[column].key == NO_KEY)
			perf_table_set(t, (enum perf_column)column, true);
		else
			append(t, (enum perf_column)column);
		if (columns[column].key != NO_KEY)
			keys->keys[columns[column].key] = true;
	}
	return 0;
}

/* ---- cells ---- */

static void put_percent(uint64_t part, uint64_t all, struct buf *out)
{
	buf_printf(out, "%.2f%%", all ? 100.0 * (double)part / (double)all : 0.0);
}

static void put_cell(const struct perf_rows *h, const struct perf_row *row, enum perf_column column, struct buf *out)
{
	switch (column) {
	case PERF_COLUMN_CHILDREN: put_percent(row->total.value, h->all.value, out); break;
	case PERF_COLUMN_OVERHEAD: put_percent(row->self.value, h->all.value, out); break;
	case PERF_COLUMN_SAMPLES: buf_add_u64(out, row->self.count); break;
	case PERF_COLUMN_PERIOD: buf_add_u64(out, row->self.value); break;
	case PERF_COLUMN_PID: buf_printf(out, "%7u:%s", row->tid, row->comm); break;
	case PERF_COLUMN_COMM: buf_add_str(out, row->comm); break;
	case PERF_COLUMN_CPU: buf_printf(out, "%03u", row->cpu); break;
	case PERF_COLUMN_DSO: buf_add_str(out, row->frame.dso); break;
	case PERF_COLUMN_SYM: buf_printf(out, "[%c] %s", row->frame.level, row->frame.sym); break;
	case PERF_COLUMN__MAX: break;
	}
}

static const char *title_of(const struct perf_table_opts *t, enum perf_column column)
{
	return column == PERF_COLUMN_OVERHEAD && perf_table_has(t, PERF_COLUMN_CHILDREN) ? "Self"
											 : columns[column].title;
}

struct widths {
	int of[PERF_COLUMN__MAX];
};

static void measure(const struct perf_rows *h, const struct perf_table_opts *t, struct widths *ret)
{
	_cleanup_(buf_fini) struct buf cell = { 0 };

	for (size_t i = 0; t->columns[i] < PERF_COLUMN__MAX; i++) {
		const enum perf_column c = (enum perf_column)t->columns[i];

		ret->of[c] = columns[c].width ? columns[c].width : (int)strlen(columns[c].title);
		for (size_t r = 0; !columns[c].width && r < h->rows.len; r++) {
			buf_reset(&cell);
			put_cell(h, &h->rows.items[r], c, &cell);
			ret->of[c] = MAX(ret->of[c], (int)cell.len);
		}
	}
}

/* ---- lines ---- */

static bool is_number(enum perf_column c)
{
	return columns[c].width != 0;
}

static void put_heading(const struct perf_table_opts *t, const struct widths *w, struct buf *out)
{
	const char *sep = t->separator ? t->separator : "  ";

	buf_add_str(out, "# ");
	for (size_t i = 0; t->columns[i] < PERF_COLUMN__MAX; i++) {
		const enum perf_column c = (enum perf_column)t->columns[i];
		const int width = t->separator ? 0 : w->of[c];

		buf_printf(out, is_number(c) ? "%s%*s" : "%s%-*s", i ? sep : "", width, title_of(t, c));
	}
	buf_add_char(out, '\n');
	if (t->separator)
		return;
	buf_add_str(out, "# ");
	for (size_t i = 0; t->columns[i] < PERF_COLUMN__MAX; i++) {
		buf_add_str(out, i ? sep : "");
		for (int n = 0; n < w->of[t->columns[i]]; n++)
			buf_add_char(out, '.');
	}
	buf_add_str(out, "\n#\n");
}

static void put_row(const struct perf_rows *h, const struct perf_table_opts *t, const struct widths *w,
		    const struct perf_row *row, struct buf *out)
{
	_cleanup_(buf_fini) struct buf cell = { 0 };

	for (size_t i = 0; t->columns[i] < PERF_COLUMN__MAX; i++) {
		const enum perf_column c = (enum perf_column)t->columns[i];
		const bool last = t->columns[i + 1] == PERF_COLUMN__MAX;

		buf_reset(&cell);
		put_cell(h, row, c, &cell);
		if (t->separator)
			buf_printf(out, "%s%s", i ? t->separator : "", buf_str(&cell));
		else if (is_number(c))
			buf_printf(out, "  %*s", w->of[c], buf_str(&cell));
		else
			buf_printf(out, "  %-*s", last ? 0 : w->of[c], buf_str(&cell));
	}
	buf_add_char(out, '\n');
}

static bool is_small(const struct perf_rows *h, const struct perf_table_opts *t, const struct perf_row *row)
{
	const uint64_t value = perf_table_has(t, PERF_COLUMN_CHILDREN) ? row->total.value : row->self.value;

	return 100.0 * (double)value < t->min_percent * (double)h->all.value;
}

int perf_table_put(const struct perf_rows *h, const struct perf_table_opts *t, struct buf *out)
{
	struct widths w = { 0 };
	uint32_t rows = 0;
	int r = 0;

	measure(h, t, &w);
	if (!t->quiet)
		put_heading(t, &w, out);
	for (size_t i = 0; r >= 0 && i < h->rows.len && (!t->rows || rows < t->rows); i++) {
		if (is_small(h, t, &h->rows.items[i]))
			continue;
		put_row(h, t, &w, &h->rows.items[i], out);
		r = perf_chain_put(h, &h->rows.items[i], &t->chain, out);
		rows++;
	}
	return r < 0 ? r : buf_error(out);
}
