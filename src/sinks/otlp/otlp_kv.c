// SPDX-License-Identifier: GPL-2.0-or-later
#include "sinks/otlp/otlp_kv.h"

#include <errno.h>
#include <string.h>

#include "base/protobuf/protobuf.h"

/* Field numbers by message. */
enum { KV_KEY = 1, KV_VALUE };
enum { ANY_STRING = 1, ANY_BOOL, ANY_INT, ANY_ARRAY = 5 };
enum { ARRAY_VALUES = 1 };

void otlp_kv_fini(struct otlp_kv *s)
{
	buf_fini(&s->kv);
	buf_fini(&s->any);
	buf_fini(&s->list);
}

static void add(struct otlp_kv *s, struct buf *out, uint32_t field, const char *key)
{
	buf_reset(&s->kv);
	protobuf_text(&s->kv, KV_KEY, key, strlen(key));
	protobuf_bytes(&s->kv, KV_VALUE, s->any.data, s->any.len);
	if (buf_error(&s->any) || buf_error(&s->kv))
		out->error = -ENOMEM;
	protobuf_bytes(out, field, s->kv.data, s->kv.len);
}

void otlp_kv_any_text(struct buf *out, const char *text, size_t len)
{
	protobuf_text(out, ANY_STRING, text, len);
}

/* Encodes 0 as well: in a oneof it selects the member. */
static void any_varint(struct buf *out, uint32_t field, uint64_t v)
{
	buf_add_char(out, (char)(field << 3));
	protobuf_varint(out, v);
}

void otlp_kv_any_number(struct buf *out, uint64_t v)
{
	any_varint(out, ANY_INT, v);
}

void otlp_kv_text(struct otlp_kv *s, struct buf *out, uint32_t field, const char *key, const char *text, size_t len)
{
	buf_reset(&s->any);
	otlp_kv_any_text(&s->any, text, len);
	add(s, out, field, key);
}

void otlp_kv_str(struct otlp_kv *s, struct buf *out, uint32_t field, const char *key, const char *text)
{
	otlp_kv_text(s, out, field, key, text, strlen(text));
}

void otlp_kv_number(struct otlp_kv *s, struct buf *out, uint32_t field, const char *key, uint64_t v)
{
	buf_reset(&s->any);
	otlp_kv_any_number(&s->any, v);
	add(s, out, field, key);
}

void otlp_kv_bool(struct otlp_kv *s, struct buf *out, uint32_t field, const char *key, int v)
{
	buf_reset(&s->any);
	any_varint(&s->any, ANY_BOOL, v ? 1 : 0);
	add(s, out, field, key);
}

void otlp_kv_list(struct otlp_kv *s, struct buf *out, uint32_t field, const char *key, const char *text, size_t len)
{
	buf_reset(&s->list);
	buf_reset(&s->any);
	otlp_kv_any_text(&s->any, text, len);
	protobuf_bytes(&s->list, ARRAY_VALUES, s->any.data, s->any.len);
	if (buf_error(&s->any))
		s->list.error = -ENOMEM;
	buf_reset(&s->any);
	protobuf_bytes(&s->any, ANY_ARRAY, s->list.data, s->list.len);
	if (buf_error(&s->list))
		out->error = -ENOMEM;
	add(s, out, field, key);
}

size_t otlp_kv_unhex(const char *text, size_t len, uint8_t *ret, size_t n)
{
	if (len != 2 * n)
		return 0;
	for (size_t i = 0; i < len; i++) {
		char ch = text[i];
		int d = ch >= '0' && ch <= '9' ? ch - '0' : ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : -1;

		if (d < 0)
			return 0;
		ret[i / 2] = (uint8_t)(i % 2 ? ret[i / 2] | d : d << 4);
	}
	return n;
}
