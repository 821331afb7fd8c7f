// SPDX-License-Identifier: GPL-2.0-or-later
#include "clickhouse/clickhouse_block.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/crc32.h"
#include "base/cursor.h"
#include "base/macros.h"
#include "clickhouse/clickhouse_schema.h"

#define NS_PER_DAY (86400 * NS_PER_S)

uint64_t clickhouse_block_new_run(void)
{
	const uint64_t now_ns = (uint64_t)clock_boot_offset_ns() + clock_boot_ns();
	uint16_t low;

	if (getrandom(&low, sizeof(low), 0) != sizeof(low))
		low = (uint16_t)getpid();
	return (now_ns & ~(uint64_t)UINT16_MAX) | low;
}

bool clickhouse_block_is_full(const struct clickhouse_block_maker *m, uint64_t ts_ns)
{
	return m->n_rows && (m->n_rows >= CLICKHOUSE_BLOCK_ROWS || m->bytes->len >= CLICKHOUSE_BLOCK_BYTES ||
			     ts_ns / NS_PER_DAY != m->min_ns / NS_PER_DAY);
}

int clickhouse_block_begin_row(struct clickhouse_block_maker *m, uint64_t ts_ns, uint64_t now_ns)
{
	if (m->n_rows)
		return 0;
	buf_reset(m->bytes);
	if (!buf_reserve(m->bytes, sizeof(struct clickhouse_block_head)))
		return buf_error(m->bytes);
	buf_commit(m->bytes, sizeof(struct clickhouse_block_head));
	m->first_seq = m->seq;
	m->min_ns = m->max_ns = ts_ns;
	m->since_ns = now_ns;
	return 0;
}

void clickhouse_block_end_row(struct clickhouse_block_maker *m, uint64_t ts_ns)
{
	m->min_ns = MIN(m->min_ns, ts_ns);
	m->max_ns = MAX(m->max_ns, ts_ns);
	m->n_rows++;
	m->seq++;
}

uint32_t clickhouse_block_sum(const void *data, size_t len)
{
	const size_t from = offsetof(struct clickhouse_block_head, run);

	return crc32_add(0, (const char *)data + from, len - from);
}

static void put_where(struct clickhouse_block_maker *m, const char *host)
{
	buf_printf(m->bytes, "date = toDate(%llu) AND ", (unsigned long long)(m->min_ns / NS_PER_DAY));
	buf_add_str(m->bytes, "host = ");
	clickhouse_target_add_literal(m->bytes, host, strlen(host));
	buf_printf(m->bytes, " AND ts_ns BETWEEN %llu AND %llu AND run = %llu AND seq BETWEEN %llu AND %llu",
		   (unsigned long long)m->min_ns, (unsigned long long)m->max_ns, (unsigned long long)m->run,
		   (unsigned long long)m->first_seq, (unsigned long long)(m->seq - 1));
	buf_add_char(m->bytes, '\0');
}

int clickhouse_block_finish(struct clickhouse_block_maker *m, const char *host)
{
	struct clickhouse_block_head h = {
		.run = m->run,
		.rows_len = m->bytes->len - sizeof(h),
		.n_rows = m->n_rows,
	};
	const char *insert = m->insert ? m->insert : m->table->insert;
	struct buf *b = m->bytes;

	memcpy(h.magic, CLICKHOUSE_BLOCK_MAGIC, sizeof(h.magic));
	buf_add(b, m->table->name, strlen(m->table->name) + 1);
	buf_add(b, insert, strlen(insert) + 1);
	put_where(m, host);
	buf_printf(b, "%016llx-%s-%llu%c", (unsigned long long)m->run, m->table->name,
		   (unsigned long long)m->first_seq, 0);
	buf_add(b, host, strlen(host) + 1);
	if (buf_error(b))
		return buf_error(b);
	h.texts_len = (uint32_t)(b->len - sizeof(h) - h.rows_len);
	memcpy(b->data, &h, sizeof(h));
	h.crc = clickhouse_block_sum(b->data, b->len);
	memcpy(b->data, &h, sizeof(h));
	return 0;
}

void clickhouse_block_reset(struct clickhouse_block_maker *m)
{
	buf_reset(m->bytes);
	m->n_rows = 0;
	m->since_ns = 0;
}

static const char *take_text(struct cursor *c)
{
	const char *text = (const char *)c->pos;
	const char *end = cur_left(c) ? memchr(c->pos, '\0', cur_left(c)) : NULL;

	if (!end) {
		c->bad = true;
		return NULL;
	}
	cur_skip(c, (size_t)(end - text) + 1);
	return text;
}

int clickhouse_block_look(const void *data, size_t len, struct clickhouse_block *ret)
{
	struct cursor c = cur_init(data, len);
	struct clickhouse_block b = { 0 };

	cur_copy(&c, &b.head, sizeof(b.head));
	if (memcmp(b.head.magic, CLICKHOUSE_BLOCK_MAGIC, sizeof(b.head.magic)) != 0)
		return -EBADMSG;
	b.rows = cur_bytes(&c, b.head.rows_len);
	b.table = take_text(&c);
	b.insert = take_text(&c);
	b.where = take_text(&c);
	b.id = take_text(&c);
	b.host = take_text(&c);
	if (!cur_ok(&c) || cur_left(&c) || !b.head.n_rows || !clickhouse_target_is_name(b.table))
		return -EBADMSG;
	*ret = b;
	return 0;
}

int clickhouse_block_parse(const void *data, size_t len, struct clickhouse_block *ret)
{
	struct clickhouse_block b;
	int r = clickhouse_block_look(data, len, &b);

	if (r < 0)
		return r;
	if (clickhouse_block_sum(data, len) != b.head.crc)
		return -EBADMSG;
	*ret = b;
	return 0;
}

void clickhouse_block_set_again(void *data)
{
	uint32_t flags = CLICKHOUSE_BLOCK_AGAIN;

	memcpy((char *)data + offsetof(struct clickhouse_block_head, flags), &flags, sizeof(flags));
}
