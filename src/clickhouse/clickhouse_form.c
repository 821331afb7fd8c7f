// SPDX-License-Identifier: GPL-2.0-or-later
#include "clickhouse/clickhouse_form.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "clickhouse/clickhouse_block.h"
#include "clickhouse/clickhouse_target.h"

#define VERSION "18."
#define WORD "LowCardinality("
#define WORDS_LEAST 3	/* columns */
#define ROWS_LEAST 64	/* the temporary table has a price, too */

/* A line "table\tname\ttype\tversion". */
struct line {
	const char *part[4];
	size_t len[4];
};

/* False at the end, and of a line with fewer parts. */
static bool read_line(const char *at, struct line *ret)
{
	for (size_t i = 0; i < 4; i++) {
		ret->part[i] = at;
		ret->len[i] = strcspn(at, "\t\n");
		at += ret->len[i];
		if (*at++ != (i < 3 ? '\t' : '\n'))
			return false;
	}
	return true;
}

static bool is_slow_with_words(const char *lines)
{
	struct line l;

	return lines && read_line(lines, &l) && !strncmp(l.part[3], VERSION, strlen(VERSION));
}

static bool is(const struct line *l, size_t part, const char *text, size_t len)
{
	return l->len[part] == len && !memcmp(l->part[part], text, len);
}

static const char *next(const struct line *l)
{
	return l->part[3] + l->len[3] + 1;
}

/* The lines of a table follow each other: its first one. NULL: the server has no such table. */
static const char *find_table(const char *lines, const char *table)
{
	struct line l;

	for (; read_line(lines, &l); lines = next(&l))
		if (is(&l, 0, table, strlen(table)))
			return lines;
	return NULL;
}

/* Among the lines of @table. False: it has no such column. */
static bool find_column(const char *lines, const char *table, const char *name, size_t len, struct line *ret)
{
	for (; read_line(lines, ret) && is(ret, 0, table, strlen(table)); lines = next(ret))
		if (is(ret, 1, name, len))
			return true;
	return false;
}

/* "name type, " with the type inside of LowCardinality, as rows have it; counts these. */
static bool add_column(const struct line *l, struct buf *structure, unsigned *words)
{
	const bool word = l->len[2] > strlen(WORD) && !strncmp(l->part[2], WORD, strlen(WORD));
	const size_t skip = word ? strlen(WORD) : 0;

	if (memchr(l->part[2], '\\', l->len[2]) || memchr(l->part[2], ' ', l->len[2]))
		return false;
	*words += word;
	buf_printf(structure, "%s%.*s %.*s", structure->len ? ", " : "", (int)l->len[1], l->part[1],
		   (int)(l->len[2] - skip - word), l->part[2] + skip);
	return true;
}

/* Of the columns of "INSERT INTO table (a, b) FORMAT RowBinary"; *ret_names: as they stand there. */
static bool read_columns(const char *lines, const struct clickhouse_block *b, struct buf *structure,
			 const char **ret_names, size_t *ret_len)
{
	const char *at = strchr(b->insert, '('), *end = at ? strchr(at, ')') : NULL;
	const char *own = find_table(lines, b->table);
	unsigned words = 0;
	struct line l;

	if (!end || !own)
		return false;
	*ret_names = ++at;
	*ret_len = (size_t)(end - at);
	for (size_t len; at < end; at += len + strspn(at + len, ", ")) {
		len = strcspn(at, ",)");
		if (!find_column(own, b->table, at, len, &l) || !add_column(&l, structure, &words))
			return false;
	}
	return words >= WORDS_LEAST;
}

bool clickhouse_form_add_url(const char *lines, const struct clickhouse_block *b, struct buf *out)
{
	_cleanup_(buf_fini) struct buf structure = { 0 }, query = { 0 };
	const char *names;
	size_t len;

	if (b->head.n_rows < ROWS_LEAST || !is_slow_with_words(lines) ||
	    !read_columns(lines, b, &structure, &names, &len))
		return false;
	buf_printf(&query, "INSERT INTO %s (%.*s) SELECT %.*s FROM sonde_rows", b->table, (int)len, names, (int)len,
		   names);
	if (buf_error(&structure) || buf_error(&query))
		return false;
	/* one thread: the order of the rows stays */
	buf_add_str(out, "&max_threads=1&sonde_rows_format=RowBinary&sonde_rows_structure=");
	clickhouse_target_add_escaped(out, buf_str(&structure));
	buf_add_str(out, "&query=");
	clickhouse_target_add_escaped(out, buf_str(&query));
	return !buf_error(out);
}

/* Random, since rows have texts from outside. */
static void make_boundary(char ret[33])
{
	uint64_t bits[2] = { 0 };

	if (getrandom(bits, sizeof(bits), 0) != sizeof(bits))
		bits[0] = (uintptr_t)ret;
	snprintf(ret, 33, "%016" PRIx64 "%016" PRIx64, bits[0], bits[1]);
}

void clickhouse_form_add_body(const struct clickhouse_block *b, struct buf *out, char ret_type[CLICKHOUSE_FORM_TYPE])
{
	char boundary[33];

	make_boundary(boundary);
	snprintf(ret_type, CLICKHOUSE_FORM_TYPE, "Content-Type: multipart/form-data; boundary=%s", boundary);
	buf_printf(out,
		   "--%s\r\nContent-Disposition: form-data; name=\"sonde_rows\"; filename=\"rows\"\r\n"
		   "Content-Type: application/octet-stream\r\n\r\n",
		   boundary);
	buf_add(out, b->rows, b->head.rows_len);
	buf_printf(out, "\r\n--%s--\r\n", boundary);
}
