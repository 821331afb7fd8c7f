// SPDX-License-Identifier: GPL-2.0-or-later
#include "clickhouse/clickhouse_ledger.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "clickhouse/clickhouse_block.h"
#include "clickhouse/clickhouse_row.h"
#include "clickhouse/clickhouse_schema.h"

void clickhouse_ledger_fini(struct clickhouse_ledger *l)
{
	vec_fini(&l->entries);
}

size_t clickhouse_ledger_index(const struct clickhouse_ledger *l, uint64_t run, const char *table)
{
	size_t i = 0;

	while (i < l->entries.len &&
	       (l->entries.items[i].run != run || strcmp(l->entries.items[i].table, table) != 0))
		i++;
	return i;
}

struct clickhouse_ledger_count *clickhouse_ledger_of(struct clickhouse_ledger *l, uint64_t run, const char *table)
{
	const size_t i = clickhouse_ledger_index(l, run, table);
	struct clickhouse_ledger_entry *e;

	if (i < l->entries.len)
		return &l->entries.items[i].count;
	if (vec_grow(&l->entries) < 0)
		return NULL;
	e = &l->entries.items[l->entries.len++];
	*e = (struct clickhouse_ledger_entry){ .run = run };
	snprintf(e->table, sizeof(e->table), "%s", table);
	return &e->count;
}

void clickhouse_ledger_sum(const struct clickhouse_ledger *l, struct clickhouse_ledger_count *ret)
{
	*ret = (struct clickhouse_ledger_count){ 0 };
	for (size_t i = 0; i < l->entries.len; i++) {
		const struct clickhouse_ledger_count *c = &l->entries.items[i].count;

		ret->made += c->made;
		ret->delivered += c->delivered;
		ret->lost_queue += c->lost_queue;
		ret->lost_spool += c->lost_spool;
		ret->lost_refused += c->lost_refused;
		ret->lost_unreached += c->lost_unreached;
		ret->spooled += c->spooled;
	}
}

/* In the order of the table's columns. */
static void put_row(struct clickhouse_row_put *p, const struct clickhouse_row *row,
		    const struct clickhouse_ledger_entry *e, bool final)
{
	const struct clickhouse_ledger_count *c = &e->count;
	const uint64_t numbers[] = { c->made,	      c->delivered,	 c->lost_queue, c->lost_spool,
				     c->lost_refused, c->lost_unreached, c->spooled,	final };

	clickhouse_row_head(p, row);
	clickhouse_row_number(p, e->run);
	clickhouse_row_text(p, e->table, strlen(e->table));
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		clickhouse_row_number(p, numbers[i]);
}

static int put_rows(const struct clickhouse_ledger *l, const struct clickhouse_table *t, struct clickhouse_row *row,
		    bool final, struct clickhouse_block_maker *m)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < l->entries.len; i++) {
		struct clickhouse_row_put p = { .table = t, .out = m->bytes };

		r = clickhouse_block_begin_row(m, row->ts_ns, 1);
		if (r < 0)
			return r;
		row->seq = m->seq;
		put_row(&p, row, &l->entries.items[i], final);
		clickhouse_block_end_row(m, row->ts_ns);
		r = buf_error(m->bytes);
	}
	return r;
}

int clickhouse_ledger_block(const struct clickhouse_ledger *l, const char *host, uint64_t run, uint64_t ts_ns,
			    bool final, uint64_t *seq, struct buf *ret)
{
	struct clickhouse_row row = { .host = host, .run = run, .ts_ns = ts_ns };
	struct clickhouse_block_maker m = { .run = run, .seq = *seq, .bytes = ret };
	struct clickhouse_schema *s = NULL;
	int r;

	buf_reset(ret);
	if (!l->entries.len)
		return 0;
	r = clickhouse_schema_new(NULL, &s);
	if (r >= 0) {
		m.table = &s->tables.items[CLICKHOUSE_TABLE_LEDGER];
		r = put_rows(l, m.table, &row, final, &m);
	}
	if (r >= 0)
		r = clickhouse_block_finish(&m, host);
	clickhouse_schema_free(s);
	*seq = m.seq;
	return r;
}
