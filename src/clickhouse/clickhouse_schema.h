/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables, made from the rows that describe events: a table per event type, a column per field. A column has the
 * name of the field's filter word, with "_" for "." and "-". Besides, `run` (a row per run), `record` (the records of
 * a run, as a recording has them) and `ledger` (rows made, delivered, lost, by table).
 *
 * Later versions only add columns, at the end.
 */
#ifndef CLICKHOUSE_CLICKHOUSE_SCHEMA_H
#define CLICKHOUSE_CLICKHOUSE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "clickhouse/clickhouse_target.h"

struct registry;

/* Types as both profiles encode them; clickhouse_schema_ddl() has their names. */
enum clickhouse_type {
	CLICKHOUSE_U8,
	CLICKHOUSE_U16,
	CLICKHOUSE_U32,
	CLICKHOUSE_U64,
	CLICKHOUSE_I8,
	CLICKHOUSE_I16,
	CLICKHOUSE_I32,
	CLICKHOUSE_I64,
	CLICKHOUSE_WORD,  /* LowCardinality(String) */
	CLICKHOUSE_TEXT,  /* String */
	CLICKHOUSE_FLAGS, /* Array(String), Array(LowCardinality(String)) */
	CLICKHOUSE_IP,	  /* 16 bytes, IPv4 mapped */
	CLICKHOUSE_MAC,	  /* 6 bytes */
	CLICKHOUSE_UUID,
	CLICKHOUSE_TIME_NS, /* UInt64, wall clock */
	CLICKHOUSE_TIME,    /* DateTime */
	CLICKHOUSE_DATE,
	CLICKHOUSE__MAX,
};

/* Where a column's value comes from. */
enum clickhouse_from {
	CLICKHOUSE_HOST,
	CLICKHOUSE_RUN,
	CLICKHOUSE_SEQ,
	CLICKHOUSE_TS,
	CLICKHOUSE_SECOND,
	CLICKHOUSE_DAY,
	CLICKHOUSE_FIELD, /* of the event */
	CLICKHOUSE_OWN,	  /* tables without an event type: in the order of the columns */
	CLICKHOUSE_FROM__MAX,
};

struct clickhouse_column {
	char name[CLICKHOUSE_NAME_MAX];
	enum clickhouse_type type;
	enum clickhouse_from from;
	const struct field *field; /* CLICKHOUSE_FIELD */
	bool absent;		   /* the server's table lacks it */
};

struct clickhouse_table {
	char name[CLICKHOUSE_NAME_MAX];
	const struct event_desc *desc; /* NULL = one of the three tables without a type */
	const char *order;	       /* ORDER BY */
	VEC(struct clickhouse_column) columns;
	bool absent;  /* the server lacks it */
	char *insert; /* owned; "INSERT INTO ..."; clickhouse_schema_settle() makes it */
};

struct clickhouse_schema {
	VEC(struct clickhouse_table) tables; /* the first three are those of the next enum */
	size_t n_absent;		     /* columns and tables that the server lacks */
};

enum clickhouse_own { CLICKHOUSE_TABLE_RUN, CLICKHOUSE_TABLE_RECORD, CLICKHOUSE_TABLE_LEDGER, CLICKHOUSE_TABLE__MAX };

/* 0 or -ENOMEM. The rows of @reg are borrowed; NULL: the tables without an event type only. */
int clickhouse_schema_new(const struct registry *reg, struct clickhouse_schema **ret);
void clickhouse_schema_free(struct clickhouse_schema *s); /* NULL is fine */

/* Table of events of @desc; NULL = none. */
struct clickhouse_table *clickhouse_schema_table(struct clickhouse_schema *s, const struct event_desc *desc);

/*
 * Columns of the server: lines "table\tcolumn", what follows does not matter, of system.columns, which are untrusted.
 * NULL: assume all. Afterwards the inserts name the columns that are there. 0 or -ENOMEM.
 */
#define CLICKHOUSE_SCHEMA_ASK \
	"SELECT table, name, type, version() FROM system.columns WHERE database = currentDatabase() FORMAT TSV"
int clickhouse_schema_settle(struct clickhouse_schema *s, const char *lines);

struct clickhouse_ddl {
	unsigned profile;  /* 18, or 26: codecs, IPv6, TTL, deduplication of inserts */
	unsigned ttl_days; /* profile 26; 0 = none */
};

/* Appends the statements that make all tables, each ends in ";\n\n". */
void clickhouse_schema_ddl(const struct clickhouse_schema *s, const struct clickhouse_ddl *o, struct buf *out);
/* For a server whose columns clickhouse_schema_settle() has: new tables, new columns, the TTL of all tables. */
void clickhouse_schema_upgrade(const struct clickhouse_schema *s, const struct clickhouse_ddl *o, struct buf *out);

/* Appends the statements that make the views over the tables, or replace them. */
void clickhouse_schema_views(const struct clickhouse_schema *s, struct buf *out);

/*
 * Appends the query of the view call_sides for calls whose later side is in a span of the wall clock, both ends
 * included; 0 = no bound. The server reads the rows of the span and of a minute around it. A condition on the view
 * would be applied to the joined calls, of all rows.
 */
void clickhouse_schema_sides(int64_t since_ns, int64_t until_ns, struct buf *out);

/*
 * Appends the statements that make the tables of a database over all servers of a cluster: they read the tables of
 * the database @db on each.
 */
void clickhouse_schema_distributed(const struct clickhouse_schema *s, const char *db, const char *cluster,
				   struct buf *out);

/* Setting that the server needs for the statements under profile 18. */
#define CLICKHOUSE_SCHEMA_SETTING "allow_experimental_low_cardinality_type"

#endif
