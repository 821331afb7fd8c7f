// SPDX-License-Identifier: GPL-2.0-or-later
#include "clickhouse/clickhouse_row.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "clickhouse/clickhouse_schema.h"
#include "event/event.h"
#include "event/value.h"

#define SECONDS_PER_DAY 86400

/* Bytes of a number; 0 = the type is none. */
static const uint8_t sizes[] = {
	[CLICKHOUSE_U8] = 1,	  [CLICKHOUSE_U16] = 2,	 [CLICKHOUSE_U32] = 4,	[CLICKHOUSE_U64] = 8,
	[CLICKHOUSE_I8] = 1,	  [CLICKHOUSE_I16] = 2,	 [CLICKHOUSE_I32] = 4,	[CLICKHOUSE_I64] = 8,
	[CLICKHOUSE_TIME_NS] = 8, [CLICKHOUSE_TIME] = 4, [CLICKHOUSE_DATE] = 2, [CLICKHOUSE__MAX] = 0,
};

static void put_number(struct buf *out, enum clickhouse_type type, uint64_t v)
{
	char *to = buf_reserve(out, sizeof(v));

	if (!to)
		return;
	memcpy(to, &v, sizeof(v)); /* little endian: see base/cursor.h */
	buf_commit(out, sizes[type]);
}

static void put_varint(struct buf *out, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		buf_add_char(out, (char)(v | 0x80));
	buf_add_char(out, (char)v);
}

static void put_text(struct buf *out, const void *text, size_t len)
{
	put_varint(out, len);
	if (len)
		buf_add(out, text, len);
}

static void put_ip(struct buf *out, const struct ipaddr *ip)
{
	static const char v4[12] = "\0\0\0\0\0\0\0\0\0\0\xff\xff", zero[16];

	if (ip->family == SONDE_IPV4) {
		buf_add(out, v4, sizeof(v4));
		buf_add(out, ip->addr, 4);
	} else {
		buf_add(out, ip->family == SONDE_IPV6 ? (const char *)ip->addr : zero, 16);
	}
}

/* The names of the set bits, unnamed ones as one number. */
static void put_flags(struct buf *out, const struct xlat *x, uint64_t bits)
{
	const char *names[64];
	char rest[32];
	size_t n = 0;

	for (uint32_t i = 0; x && i < x->n && n < ARRAY_SIZE(names); i++) {
		if (!x->vals[i].val || (bits & x->vals[i].val) != x->vals[i].val)
			continue;
		bits &= ~x->vals[i].val;
		names[n++] = x->vals[i].name;
	}
	put_varint(out, n + !!bits);
	for (size_t i = 0; i < n; i++)
		put_text(out, names[i], strlen(names[i]));
	if (bits)
		put_text(out, rest, (size_t)snprintf(rest, sizeof(rest), "0x%llx", (unsigned long long)bits));
}

static void put_printed(struct buf *out, const struct value *v)
{
	_cleanup_(buf_fini) struct buf text = { 0 };

	value_text(v, &text);
	if (buf_error(&text))
		out->error = buf_error(&text);
	put_text(out, text.data, text.len);
}

static void put_as_text(struct buf *out, const struct value *v)
{
	if (v->kind == VAL_STR || v->kind == VAL_BYTES)
		put_text(out, v->str, v->len);
	else
		put_printed(out, v);
}

static uint64_t as_number(const struct value *v)
{
	switch (v->kind) {
	case VAL_INT: return (uint64_t)v->i;
	case VAL_UINT:
	case VAL_BOOL:
	case VAL_FLAGS: return v->u;
	case VAL_STR: return v->has_number ? v->u : 0;
	default: return 0;
	}
}

/* Of a field that the event lacks: zeros, which of a text and of flags are a length. */
static void put_nothing(struct buf *out, enum clickhouse_type type)
{
	static const uint8_t bytes[] = { [CLICKHOUSE_IP] = 16, [CLICKHOUSE_MAC] = 6, [CLICKHOUSE_UUID] = 16,
					 [CLICKHOUSE__MAX] = 0 };
	static const char zero[16];
	char *to;

	if (sizes[type] || bytes[type]) {
		to = buf_reserve(out, sizeof(zero));
		if (to)
			memset(to, 0, sizeof(zero));
		buf_commit(out, to ? sizes[type] + bytes[type] : 0);
	} else {
		buf_add_char(out, '\0');
	}
}

/* A value of another kind than the column's is 0 or "". */
static void put_value(struct buf *out, enum clickhouse_type type, const struct value *v)
{
	switch (type) {
	case CLICKHOUSE_WORD:
	case CLICKHOUSE_TEXT: put_as_text(out, v); break;
	case CLICKHOUSE_FLAGS: put_flags(out, v->xlat, v->kind == VAL_FLAGS ? v->u : 0); break;
	case CLICKHOUSE_IP:
		if (v->kind == VAL_IP)
			put_ip(out, &v->ip);
		else
			put_nothing(out, type);
		break;
	case CLICKHOUSE_MAC:
		if (v->kind == VAL_MAC)
			buf_add(out, v->str, 6);
		else
			put_nothing(out, type);
		break;
	case CLICKHOUSE_UUID: put_nothing(out, type); break;
	default: put_number(out, type, as_number(v));
	}
}

static void put_field(const struct clickhouse_column *c, const struct event *ev, struct buf *out)
{
	const struct field *f = c->field;
	const bool plain = f->kind == FIELD_UINT || f->kind == FIELD_HEX || f->kind == FIELD_NS;
	struct value v;
	uint64_t u;

	if (plain && sizes[c->type] && !ev->hide && !(f->flags & FIELD_ALSO))
		put_number(out, c->type, event_get_number(ev, f, &u) < 0 ? 0 : u);
	else if (event_get(ev, f, &v) < 0)
		put_nothing(out, c->type);
	else
		put_value(out, c->type, &v);
}

int clickhouse_row_put(const struct clickhouse_table *t, const struct clickhouse_row *row, const struct event *ev,
		       struct buf *out)
{
	for (size_t i = 0; i < t->columns.len; i++) {
		const struct clickhouse_column *c = &t->columns.items[i];

		if (c->absent)
			continue;
		switch (c->from) {
		case CLICKHOUSE_HOST: put_text(out, row->host, strlen(row->host)); break;
		case CLICKHOUSE_RUN: put_number(out, c->type, row->run); break;
		case CLICKHOUSE_SEQ: put_number(out, c->type, row->seq); break;
		case CLICKHOUSE_TS: put_number(out, c->type, row->ts_ns); break;
		case CLICKHOUSE_SECOND: put_number(out, c->type, row->ts_ns / NS_PER_S); break;
		case CLICKHOUSE_DAY: put_number(out, c->type, row->ts_ns / NS_PER_S / SECONDS_PER_DAY); break;
		case CLICKHOUSE_FIELD: put_field(c, ev, out); break;
		case CLICKHOUSE_OWN:
		case CLICKHOUSE_FROM__MAX: break;
		}
	}
	return buf_error(out);
}

/* ---- tables without a type ---- */

/* The next column; NULL if the server lacks it. */
static const struct clickhouse_column *next(struct clickhouse_row_put *p)
{
	const struct clickhouse_column *c = &p->table->columns.items[p->column++];

	return c->absent ? NULL : c;
}

void clickhouse_row_number(struct clickhouse_row_put *p, uint64_t value)
{
	const struct clickhouse_column *c = next(p);

	if (c)
		put_number(p->out, c->type, value);
}

void clickhouse_row_text(struct clickhouse_row_put *p, const void *text, size_t len)
{
	if (next(p))
		put_text(p->out, text, len);
}

static int digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* Two numbers of 64 bits, the first digits in the first one. */
void clickhouse_row_uuid(struct clickhouse_row_put *p, const char *text)
{
	uint64_t halves[2] = { 0 };
	unsigned n = 0;

	for (; *text && n < 32; text++)
		if (digit(*text) >= 0) {
			halves[n / 16] = halves[n / 16] << 4 | (unsigned)digit(*text);
			n++;
		}
	if (n < 32)
		halves[0] = halves[1] = 0;
	if (next(p))
		buf_add(p->out, halves, sizeof(halves));
}

void clickhouse_row_head(struct clickhouse_row_put *p, const struct clickhouse_row *row)
{
	clickhouse_row_text(p, row->host, strlen(row->host));
	clickhouse_row_number(p, row->run);
	clickhouse_row_number(p, row->seq);
	clickhouse_row_number(p, row->ts_ns);
	clickhouse_row_number(p, row->ts_ns / NS_PER_S);
	clickhouse_row_number(p, row->ts_ns / NS_PER_S / SECONDS_PER_DAY);
}
