// SPDX-License-Identifier: GPL-2.0-or-later
#include "sinks/otlp/otlp_tables.h"

#include <errno.h>
#include <string.h>

#include "sinks/otlp/otlp_kv.h"
#include "sinks/otlp/otlp_span.h"
#include "base/protobuf/protobuf.h"

/* Field numbers by message. */
enum { KV_KEY = 1, KV_VALUE };
enum { F_NAME = 1, F_SYSTEM_NAME, F_FILE };
enum { LINK_TRACE = 1, LINK_SPAN };

int otlp_tables_init(struct otlp_tables *t)
{
	static const struct otlp_span_ids none;

	*t = (struct otlp_tables){ 0 };
	for (unsigned i = OTLP_TABLE_MAPPING; i < OTLP_TABLE__MAX; i++) {
		map_init(&t->of[i].by_hash, sizeof(uint64_t), sizeof(uint32_t));
		if (i != OTLP_TABLE_LINK)
			otlp_tables_add(t, i, "", 0);
	}
	otlp_tables_link(t, &none);
	return t->failed ? -ENOMEM : 0;
}

void otlp_tables_fini(struct otlp_tables *t)
{
	for (unsigned i = OTLP_TABLE_MAPPING; i < OTLP_TABLE__MAX; i++) {
		map_fini(&t->of[i].by_hash);
		vec_fini(&t->of[i].items);
		buf_fini(&t->of[i].bytes);
	}
	buf_fini(&t->message);
	buf_fini(&t->value);
}

uint32_t otlp_tables_add(struct otlp_tables *t, enum otlp_table table, const void *item, size_t len)
{
	__typeof__(&t->of[0]) o = &t->of[table];
	uint64_t hash = map_hash(item, len);
	uint32_t *first = map_find(&o->by_hash, &hash);
	struct otlp_table_item new = { .off = o->bytes.len, .len = len, .next = first ? *first : UINT32_MAX };

	for (uint32_t i = new.next; i != UINT32_MAX; i = o->items.items[i].next) {
		const struct otlp_table_item *old = &o->items.items[i];

		if (old->len == len && (!len || !memcmp(o->bytes.data + old->off, item, len)))
			return i;
	}
	first = map_add(&o->by_hash, &hash, NULL);
	if (!first || vec_grow(&o->items) < 0 || buf_add(&o->bytes, item, len) < 0) {
		t->failed = true;
		return 0;
	}
	o->items.items[o->items.len] = new;
	*first = (uint32_t)o->items.len;
	return (uint32_t)o->items.len++;
}

static uint32_t add_message(struct otlp_tables *t, enum otlp_table table)
{
	t->failed |= buf_error(&t->message) < 0;
	return otlp_tables_add(t, table, t->message.data, t->message.len);
}

uint32_t otlp_tables_string(struct otlp_tables *t, const char *text)
{
	return otlp_tables_add(t, OTLP_TABLE_STRING, text, strlen(text));
}

static uint32_t add_attribute(struct otlp_tables *t, const char *key)
{
	buf_reset(&t->message);
	protobuf_uint(&t->message, KV_KEY, otlp_tables_string(t, key));
	protobuf_bytes(&t->message, KV_VALUE, t->value.data, t->value.len);
	t->failed |= buf_error(&t->value) < 0;
	return add_message(t, OTLP_TABLE_ATTRIBUTE);
}

uint32_t otlp_tables_attribute(struct otlp_tables *t, const char *key, const char *text)
{
	if (!*text)
		return 0;
	buf_reset(&t->value);
	otlp_kv_any_text(&t->value, text, strlen(text));
	return add_attribute(t, key);
}

uint32_t otlp_tables_attribute_number(struct otlp_tables *t, const char *key, uint64_t number)
{
	buf_reset(&t->value);
	otlp_kv_any_number(&t->value, number);
	return add_attribute(t, key);
}

uint32_t otlp_tables_function(struct otlp_tables *t, const char *name, const char *system, const char *file)
{
	buf_reset(&t->message);
	protobuf_uint(&t->message, F_NAME, otlp_tables_string(t, name));
	protobuf_uint(&t->message, F_SYSTEM_NAME, otlp_tables_string(t, system));
	protobuf_uint(&t->message, F_FILE, otlp_tables_string(t, file));
	return add_message(t, OTLP_TABLE_FUNCTION);
}

uint32_t otlp_tables_link(struct otlp_tables *t, const struct otlp_span_ids *ids)
{
	buf_reset(&t->message);
	protobuf_bytes(&t->message, LINK_TRACE, ids->trace, sizeof(ids->trace));
	protobuf_bytes(&t->message, LINK_SPAN, ids->span, sizeof(ids->span));
	return add_message(t, OTLP_TABLE_LINK);
}

void otlp_tables_indices(struct buf *out, uint32_t field, const uint32_t *indices, size_t n)
{
	struct buf packed = { 0 };

	for (size_t i = 0; i < n; i++)
		if (indices[i])
			protobuf_varint(&packed, indices[i]);
	if (packed.len)
		protobuf_bytes(out, field, packed.data, packed.len);
	if (buf_error(&packed))
		out->error = buf_error(&packed);
	buf_fini(&packed);
}

void otlp_tables_put(const struct otlp_tables *t, struct buf *out)
{
	for (unsigned i = OTLP_TABLE_MAPPING; i < OTLP_TABLE__MAX; i++) {
		vec_each(item, &t->of[i].items) {
			const char *bytes = item->len ? t->of[i].bytes.data + item->off : "";

			if (i == OTLP_TABLE_STRING)
				protobuf_text(out, i, bytes, item->len);
			else
				protobuf_bytes(out, i, bytes, item->len);
		}
	}
	if (t->failed)
		out->error = -ENOMEM;
}
