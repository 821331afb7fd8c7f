// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compiles rows and rules to a table, and looks rules up in a table. Equal neighbours merge into one row; a row has
 * four bytes: an offset in a page of 1 KB and the number of a rule.
 */
#include "elf/dwarf/ehframe_table.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"

#define PAGE_BYTES (1u << SONDE_UNWIND_PAGE_SHIFT)
#define PAGES_MAX (1u << 22)	/* 4 GB of code */
#define RULES_MAX (1u << 16)

int ehframe_table_init(struct cfi_table *t, size_t max_rows)
{
	const struct sonde_unwind_rule gap = { .cfa = SONDE_CFA_GAP };

	*t = (struct cfi_table){ .max_rows = max_rows };
	map_init(&t->numbers, sizeof(struct sonde_unwind_rule), sizeof(uint32_t));
	return map_note(&t->numbers, &gap) < 0 || vec_push(&t->rules, gap) < 0 ? -ENOMEM : 0;
}

void ehframe_table_fini(struct cfi_table *t)
{
	map_fini(&t->numbers);
	vec_fini(&t->rows);
	vec_fini(&t->rules);
}

/* The number of @rule, or -E2BIG, -ENOMEM. */
static int rule_number(struct cfi_table *t, const struct sonde_unwind_rule *rule, uint32_t *ret)
{
	bool is_new = false;
	uint32_t *number;

	if (t->rows.len && !memcmp(&t->rules.items[t->rows.items[t->rows.len - 1].rule], rule, sizeof(*rule))) {
		*ret = t->rows.items[t->rows.len - 1].rule;
		return 0;
	}
	number = map_add(&t->numbers, rule, &is_new);
	if (!number)
		return -ENOMEM;
	if (is_new) {
		if (t->rules.len == RULES_MAX)
			return -E2BIG;
		if (vec_push(&t->rules, *rule) < 0)
			return -ENOMEM;
		*number = (uint32_t)t->rules.len - 1;
	}
	*ret = *number;
	return 0;
}

static int add_row(struct cfi_table *t, uint64_t off, uint32_t rule)
{
	struct cfi_row *last = t->rows.len ? &t->rows.items[t->rows.len - 1] : NULL;

	if (last && last->rule == rule)
		return 0;
	if (last && last->off >= off) {
		last->rule = rule;
		return 0;
	}
	if (t->rows.len >= t->max_rows)
		return -E2BIG;
	return vec_push(&t->rows, (struct cfi_row){ .off = off, .rule = rule });
}

int ehframe_table_add(struct cfi_table *t, uint64_t off, const struct sonde_unwind_rule *rule)
{
	uint32_t number;
	int r = rule_number(t, rule, &number);

	return r < 0 ? r : add_row(t, off, number);
}

int ehframe_table_gap(struct cfi_table *t, uint64_t off)
{
	return add_row(t, off, CFI_GAP);
}

/* ---- writing ---- */

/* Writes the rows of one page; a page that begins within a row repeats that row. Returns how many were consumed. */
static size_t write_page(const struct cfi_table *t, size_t i, uint64_t page, uint32_t *rule, struct buf *rows)
{
	const struct cfi_row *all = t->rows.items;
	size_t first = i;
	uint32_t word;

	if (i == t->rows.len || all[i].off >> SONDE_UNWIND_PAGE_SHIFT != page || all[i].off % PAGE_BYTES) {
		word = SONDE_UNWIND_ROW(0u, *rule);
		buf_add(rows, &word, sizeof(word));
	}
	for (; i < t->rows.len && all[i].off >> SONDE_UNWIND_PAGE_SHIFT == page; i++) {
		*rule = all[i].rule;
		word = SONDE_UNWIND_ROW((uint32_t)(all[i].off % PAGE_BYTES), *rule);
		buf_add(rows, &word, sizeof(word));
	}
	return i - first;
}

static void write_pages(const struct cfi_table *t, struct sonde_unwind_head *h, struct buf *pages, struct buf *rows)
{
	uint32_t rule = CFI_GAP, first;
	size_t i = 0;

	for (uint32_t p = 0; p < h->n_pages; p++) {
		first = (uint32_t)(rows->len / sizeof(uint32_t));
		buf_add(pages, &first, sizeof(first));
		i += write_page(t, i, h->first_page + p, &rule, rows);
	}
	h->n_rows = (uint32_t)(rows->len / sizeof(uint32_t));
	buf_add(pages, &h->n_rows, sizeof(h->n_rows));
}

static int write_all(const struct cfi_table *t, struct sonde_unwind_head *h, const struct buf *pages,
		     const struct buf *rows, size_t max_bytes, struct buf *ret)
{
	size_t rules = t->rules.len * sizeof(t->rules.items[0]);
	int r = buf_error(pages) ? buf_error(pages) : buf_error(rows);

	if (r < 0)
		return r;
	if (sizeof(*h) + rules + pages->len + rows->len > max_bytes)
		return -E2BIG;
	buf_add(ret, h, sizeof(*h));
	buf_add(ret, t->rules.items, rules);
	buf_add(ret, pages->data, pages->len);
	return buf_add(ret, rows->data, rows->len);
}

int ehframe_table_write(struct cfi_table *t, uint64_t end_off, size_t max_bytes, struct buf *ret)
{
	struct sonde_unwind_head h = { .magic = SONDE_UNWIND_MAGIC, .n_rules = (uint32_t)t->rules.len,
		.n_fdes = t->n_fdes, .n_skipped = t->n_skipped };
	_cleanup_(buf_fini) struct buf pages = { 0 }, rows = { 0 };
	uint64_t first = t->rows.len ? t->rows.items[0].off >> SONDE_UNWIND_PAGE_SHIFT : 0;
	uint64_t n = t->rows.len ? ((end_off - 1) >> SONDE_UNWIND_PAGE_SHIFT) + 1 - first : 0;

	if (n > PAGES_MAX || n * sizeof(uint32_t) * 2 > max_bytes)	/* every page has at least one row */
		return -E2BIG;
	h.first_page = first;
	h.n_pages = (uint32_t)n;
	write_pages(t, &h, &pages, &rows);
	return write_all(t, &h, &pages, &rows, max_bytes, ret);
}

int ehframe_table_empty(struct buf *ret)
{
	struct cfi_table t;
	int r = ehframe_table_init(&t, 0);

	if (r == 0)
		r = ehframe_table_write(&t, 0, SIZE_MAX, ret);
	ehframe_table_fini(&t);
	return r;
}

/* ---- reading ---- */

static const uint32_t *table_pages(const void *table, const struct sonde_unwind_head *h)
{
	return (const uint32_t *)((const char *)table + sizeof(*h) + h->n_rules * sizeof(struct sonde_unwind_rule));
}

static bool check_pages(const uint32_t *pages, const struct sonde_unwind_head *h)
{
	if (pages[0] != 0 || pages[h->n_pages] != h->n_rows)
		return false;
	for (uint32_t i = 0; i < h->n_pages; i++)
		if (pages[i] >= pages[i + 1])
			return false;
	return true;
}

int ehframe_table_check(const void *table, size_t len, struct sonde_unwind_head *ret)
{
	struct sonde_unwind_head h;
	const uint32_t *pages, *rows;
	uint64_t want;

	if (len < sizeof(h))
		return -EBADMSG;
	memcpy(&h, table, sizeof(h));
	if (h.magic != SONDE_UNWIND_MAGIC || !h.n_rules || h.n_rules > RULES_MAX || h.n_pages > PAGES_MAX)
		return -EBADMSG;
	want = sizeof(h) + (uint64_t)h.n_rules * sizeof(struct sonde_unwind_rule) + (h.n_pages + 1ull) * 4 +
	       (uint64_t)h.n_rows * 4;
	if (want != len)
		return -EBADMSG;
	pages = table_pages(table, &h);
	rows = pages + h.n_pages + 1;
	if (!check_pages(pages, &h))
		return -EBADMSG;
	for (uint32_t i = 0; i < h.n_rows; i++)
		if (SONDE_UNWIND_ROW_RULE(rows[i]) >= h.n_rules)
			return -EBADMSG;
	*ret = h;
	return 0;
}

struct sonde_unwind_rule ehframe_table_find(const void *table, uint64_t off)
{
	const struct sonde_unwind_head *h = table;
	const struct sonde_unwind_rule *rules = (const void *)(h + 1);
	const uint32_t *pages = table_pages(table, h), *rows = pages + h->n_pages + 1;
	uint64_t page = (off >> SONDE_UNWIND_PAGE_SHIFT) - h->first_page;
	uint32_t low = off % PAGE_BYTES, a, b;

	if (off >> SONDE_UNWIND_PAGE_SHIFT < h->first_page || page >= h->n_pages)
		return rules[CFI_GAP];
	a = pages[page];
	b = pages[page + 1];
	while (b - a > 1) {
		uint32_t mid = a + (b - a) / 2;

		if (SONDE_UNWIND_ROW_LOW(rows[mid]) <= low)
			a = mid;
		else
			b = mid;
	}
	return rules[SONDE_UNWIND_ROW_RULE(rows[a])];
}
