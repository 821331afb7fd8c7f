/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The dictionary of a profile of OpenTelemetry: tables of messages that refer to each other by index
 * (opentelemetry/proto/profiles/v1development/profiles.proto 1.11, ProfilesDictionary). Equal items share an index;
 * index 0 of each table is the empty item.
 */
#ifndef SINKS_OTLP_TABLES_H
#define SINKS_OTLP_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"

struct otlp_span_ids;

/* Values are the field numbers. */
enum otlp_table {
	OTLP_TABLE_NONE, OTLP_TABLE_MAPPING, OTLP_TABLE_LOCATION, OTLP_TABLE_FUNCTION, OTLP_TABLE_LINK,
	OTLP_TABLE_STRING, OTLP_TABLE_ATTRIBUTE, OTLP_TABLE_STACK, OTLP_TABLE__MAX,
};

struct otlp_table_item { size_t off, len; uint32_t next; };

struct otlp_tables {
	struct {
		struct map by_hash;	/* u64 -> u32 index of the first with this hash */
		VEC(struct otlp_table_item) items;
		struct buf bytes;
	} of[OTLP_TABLE__MAX];
	struct buf message, value;	/* scratch */
	bool failed;			/* out of memory */
};

int otlp_tables_init(struct otlp_tables *t);	/* 0 or -ENOMEM */
void otlp_tables_fini(struct otlp_tables *t);

/* Index of the encoded item (of a string: its bytes), added if it is new. 0 without memory: t->failed. */
uint32_t otlp_tables_add(struct otlp_tables *t, enum otlp_table table, const void *item, size_t len);
uint32_t otlp_tables_string(struct otlp_tables *t, const char *text);
uint32_t otlp_tables_attribute(struct otlp_tables *t, const char *key, const char *text);
uint32_t otlp_tables_attribute_number(struct otlp_tables *t, const char *key, uint64_t number);
uint32_t otlp_tables_function(struct otlp_tables *t, const char *name, const char *system, const char *file);
uint32_t otlp_tables_link(struct otlp_tables *t, const struct otlp_span_ids *ids);

/* Adds a field of packed indices without those that are 0. */
void otlp_tables_indices(struct buf *out, uint32_t field, const uint32_t *indices, size_t n);

/* The content of the ProfilesDictionary message. */
void otlp_tables_put(const struct otlp_tables *t, struct buf *out);

#endif
