// SPDX-License-Identifier: GPL-2.0-or-later
#include "clickhouse/clickhouse_rows.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/cursor.h"

#define VARINT_MAX 3 /* bytes: longer ones exceed CLICKHOUSE_ROWS_DATA_MAX */

/* 1 and the length of a text, 0 if more input is needed, -EBADMSG. */
static int read_length(struct cursor *c, size_t *ret)
{
	*ret = 0;
	for (unsigned i = 0; i < VARINT_MAX; i++) {
		const uint8_t b = cur_u8(c);

		if (!cur_ok(c))
			return 0;
		*ret |= (size_t)(b & 0x7f) << 7 * i;
		if (!(b & 0x80))
			return *ret > CLICKHOUSE_ROWS_DATA_MAX ? -EBADMSG : 1;
	}
	return -EBADMSG;
}

/* Takes one row. 1, 0 if more input is needed, or an error. */
static int take_row(struct clickhouse_rows *r, struct cursor *c)
{
	struct cursor look = *c;
	const uint64_t seq = cur_u64(&look);
	const void *data;
	size_t len;
	int ret = read_length(&look, &len);

	if (ret <= 0)
		return ret;
	data = cur_bytes(&look, len);
	if (!cur_ok(&look))
		return 0;
	buf_reset(&r->aligned);
	buf_add(&r->aligned, data, len);
	if (!buf_reserve(&r->aligned, 8)) /* an address for an empty text */
		return buf_error(&r->aligned);
	*c = look;
	r->n_rows++;
	ret = r->fn(r->ctx, seq, r->aligned.data, len);
	return ret < 0 ? ret : 1;
}

int clickhouse_rows_feed(struct clickhouse_rows *r, const void *data, size_t len)
{
	const bool direct = !r->pending.len; /* the input itself, without a copy */
	struct cursor c;
	int ret;

	if (!direct && buf_add(&r->pending, data, len) < 0)
		return buf_error(&r->pending);
	c = direct ? cur_init(data, len) : cur_init(r->pending.data, r->pending.len);
	do
		ret = take_row(r, &c);
	while (ret > 0);
	if (ret < 0)
		return ret;
	if (!direct) {
		buf_consume(&r->pending, r->pending.len - cur_left(&c));
		return 0;
	}
	return buf_add(&r->pending, c.pos, cur_left(&c));
}

void clickhouse_rows_fini(struct clickhouse_rows *r)
{
	buf_fini(&r->pending);
	buf_fini(&r->aligned);
}
