// SPDX-License-Identifier: GPL-2.0-or-later
#include "clickhouse/clickhouse_schema.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "event/core.h"
#include "event/event.h"

struct fixed {
	const char *name;
	enum clickhouse_type type;
	enum clickhouse_from from;
};

/* The first columns of each table of events. */
static const struct fixed head[] = {
	{ "host", CLICKHOUSE_WORD, CLICKHOUSE_HOST },	{ "run", CLICKHOUSE_U64, CLICKHOUSE_RUN },
	{ "seq", CLICKHOUSE_U64, CLICKHOUSE_SEQ },	{ "ts_ns", CLICKHOUSE_TIME_NS, CLICKHOUSE_TS },
	{ "time", CLICKHOUSE_TIME, CLICKHOUSE_SECOND }, { "date", CLICKHOUSE_DATE, CLICKHOUSE_DAY },
};

/* Fields of all events that join tables, or that queries group by. */
static const char *const common[] = {
	"evt.cpu",    "evt.probe-instance", "proc.pid",	      "proc.start", "proc.name",  "proc.exe",
	"thread.tid", "container.id",	    "container.name", "k8s.pod",    "k8s.ns",	  "cgroup.id",
	"netns",      "sock.cookie",	    "file.id",	      "goid",	    "call",	  "rpc.conn",
	"rpc.stream", "conn.src",	    "conn.sport",     "conn.dst",   "conn.dport", "fd.l4proto",
};

#define OWN(name, type) \
	{ \
		name, type, CLICKHOUSE_OWN \
	}

static const struct fixed run_columns[] = {
	OWN("host", CLICKHOUSE_WORD),	  OWN("run", CLICKHOUSE_U64),	   OWN("seq", CLICKHOUSE_U64),
	OWN("ts_ns", CLICKHOUSE_TIME_NS), OWN("time", CLICKHOUSE_TIME),	   OWN("date", CLICKHOUSE_DATE),
	OWN("host_id", CLICKHOUSE_UUID),  OWN("boot_id", CLICKHOUSE_UUID), OWN("kernel", CLICKHOUSE_WORD),
	OWN("machine", CLICKHOUSE_WORD),  OWN("cpus", CLICKHOUSE_U32),	   OWN("version", CLICKHOUSE_WORD),
	OWN("command", CLICKHOUSE_TEXT),
};
static const struct fixed record_columns[] = {
	OWN("host", CLICKHOUSE_WORD),	  OWN("run", CLICKHOUSE_U64),	OWN("seq", CLICKHOUSE_U64),
	OWN("ts_ns", CLICKHOUSE_TIME_NS), OWN("time", CLICKHOUSE_TIME), OWN("date", CLICKHOUSE_DATE),
	OWN("type", CLICKHOUSE_U16),	  OWN("state", CLICKHOUSE_U8),	OWN("data", CLICKHOUSE_TEXT),
};
static const struct fixed ledger_columns[] = {
	OWN("host", CLICKHOUSE_WORD),	     OWN("run", CLICKHOUSE_U64),
	OWN("seq", CLICKHOUSE_U64),	     OWN("ts_ns", CLICKHOUSE_TIME_NS),
	OWN("time", CLICKHOUSE_TIME),	     OWN("date", CLICKHOUSE_DATE),
	OWN("of_run", CLICKHOUSE_U64),	     OWN("tbl", CLICKHOUSE_WORD),
	OWN("made", CLICKHOUSE_U64),	     OWN("delivered", CLICKHOUSE_U64),
	OWN("lost_queue", CLICKHOUSE_U64),   OWN("lost_spool", CLICKHOUSE_U64),
	OWN("lost_refused", CLICKHOUSE_U64), OWN("lost_unreached", CLICKHOUSE_U64),
	OWN("spooled", CLICKHOUSE_U64),	     OWN("final", CLICKHOUSE_U8),
};

static const struct {
	const char *name, *order;
	const struct fixed *columns;
	size_t n;
} own[] = {
	[CLICKHOUSE_TABLE_RUN] = { "run", "(host, run)", run_columns, ARRAY_SIZE(run_columns) },
	[CLICKHOUSE_TABLE_RECORD] = { "record", "(run, seq)", record_columns, ARRAY_SIZE(record_columns) },
	[CLICKHOUSE_TABLE_LEDGER] = { "ledger", "(host, run, tbl, ts_ns)", ledger_columns,
				      ARRAY_SIZE(ledger_columns) },
};
_Static_assert(ARRAY_SIZE(own) == CLICKHOUSE_TABLE__MAX, "a row per table");

/* ---- columns ---- */

/* "drop.reason" is drop_reason. */
static void to_name(char to[CLICKHOUSE_NAME_MAX], const char *from)
{
	size_t i = 0;

	for (; from[i] && i < CLICKHOUSE_NAME_MAX - 1; i++)
		to[i] = strchr(".-", from[i]) ? '_' : from[i];
	to[i] = '\0';
}

static const enum clickhouse_type of_kind[] = {
	[FIELD_UINT] = CLICKHOUSE_U64,	[FIELD_INT] = CLICKHOUSE_I64,	[FIELD_HEX] = CLICKHOUSE_U64,
	[FIELD_BOOL] = CLICKHOUSE_U8,	[FIELD_ENUM] = CLICKHOUSE_WORD, [FIELD_FLAGS] = CLICKHOUSE_FLAGS,
	[FIELD_NAME] = CLICKHOUSE_WORD, [FIELD_IP] = CLICKHOUSE_IP,	[FIELD_MAC] = CLICKHOUSE_MAC,
	[FIELD_STR] = CLICKHOUSE_TEXT,	[FIELD_NS] = CLICKHOUSE_U64,	[FIELD_IFACE] = CLICKHOUSE_WORD,
	[FIELD_GET] = CLICKHOUSE_TEXT,
};
_Static_assert(ARRAY_SIZE(of_kind) == FIELD__MAX, "a type per kind");

/* A number of the body has its size. */
static enum clickhouse_type sized(enum clickhouse_type type, unsigned size)
{
	const enum clickhouse_type first = type == CLICKHOUSE_U64 ? CLICKHOUSE_U8 : CLICKHOUSE_I8;

	if (type != CLICKHOUSE_U64 && type != CLICKHOUSE_I64)
		return type;
	return size == 1 ? first : size == 2 ? first + 1 : size == 4 ? first + 2 : type;
}

static enum clickhouse_type type_of(const struct field *f)
{
	const unsigned kind = f->kind != FIELD_GET ? f->kind : f->like ? f->like - 1u : FIELD_GET;
	enum clickhouse_type type = of_kind[kind < FIELD__MAX ? kind : FIELD_GET];

	if (type == CLICKHOUSE_TEXT && f->flags & FIELD_OPEN)
		return CLICKHOUSE_WORD;
	return f->kind == FIELD_GET ? type : sized(type, f->size);
}

static bool has_column(const struct clickhouse_table *t, const char *name)
{
	return vec_find(it, &t->columns, !strcmp(it->name, name));
}

static int add_column(struct clickhouse_table *t, const char *name, enum clickhouse_type type,
		      enum clickhouse_from from, const struct field *f)
{
	struct clickhouse_column c = { .type = type, .from = from, .field = f };

	to_name(c.name, name);
	if (has_column(t, c.name))
		return 0;
	if (vec_grow(&t->columns) < 0)
		return -ENOMEM;
	t->columns.items[t->columns.len++] = c;
	return 0;
}

static int add_fixed(struct clickhouse_table *t, const struct fixed *f, size_t n)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < n; i++)
		r = add_column(t, f[i].name, f[i].type, f[i].from, NULL);
	return r;
}

#define WITHOUT_COLUMN (FIELD_ALIAS | FIELD_SILENT | FIELD_ARGUMENT | FIELD_EITHER)

/* The type's own fields take precedence over common ones of the same name. */
static int add_fields(struct clickhouse_table *t, const struct event_desc *d)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < d->n_fields; i++)
		if (!(d->fields[i].flags & WITHOUT_COLUMN))
			r = add_column(t, d->fields[i].name, type_of(&d->fields[i]), CLICKHOUSE_FIELD, &d->fields[i]);
	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(common); i++) {
		const struct field *f =
			event_field_named(event_common_fields, event_n_common_fields, common[i]);

		if (f)
			r = add_column(t, f->name, type_of(f), CLICKHOUSE_FIELD, f);
	}
	return r;
}

/* ---- tables ---- */

static struct clickhouse_table *add_table(struct clickhouse_schema *s, const char *name, const char *order)
{
	struct clickhouse_table *t;

	if (vec_grow(&s->tables) < 0)
		return NULL;
	t = &s->tables.items[s->tables.len++];
	*t = (struct clickhouse_table){ .order = order };
	to_name(t->name, name);
	return t;
}

/* The stream's own state is in the records. */
static bool has_table(const struct event_desc *d)
{
	return d->class != EVENT_STATE || d->type >> 8;
}

static int add_event_table(struct clickhouse_schema *s, const struct event_desc *d)
{
	struct clickhouse_table *t = add_table(s, d->name, "(host, ts_ns)");
	int r = t ? add_fixed(t, head, ARRAY_SIZE(head)) : -ENOMEM;

	if (r < 0)
		return r;
	t->desc = d;
	return add_fields(t, d);
}

int clickhouse_schema_new(const struct registry *reg, struct clickhouse_schema **ret)
{
	struct clickhouse_schema *s = calloc(1, sizeof(*s));
	const struct event_desc *d;
	size_t pos = 0;
	int r = s ? 0 : -ENOMEM;

	for (size_t i = 0; r >= 0 && i < CLICKHOUSE_TABLE__MAX; i++) {
		struct clickhouse_table *t = add_table(s, own[i].name, own[i].order);

		r = t ? add_fixed(t, own[i].columns, own[i].n) : -ENOMEM;
	}
	while (r >= 0 && reg && (d = registry_next(reg, &pos)))
		if (has_table(d))
			r = add_event_table(s, d);
	if (r >= 0)
		r = clickhouse_schema_settle(s, NULL);
	if (r < 0) {
		clickhouse_schema_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void clickhouse_schema_free(struct clickhouse_schema *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->tables.len; i++) {
		vec_fini(&s->tables.items[i].columns);
		free(s->tables.items[i].insert);
	}
	vec_fini(&s->tables);
	free(s);
}

struct clickhouse_table *clickhouse_schema_table(struct clickhouse_schema *s, const struct event_desc *desc)
{
	return vec_find(it, &s->tables, it->desc == desc);
}

/* ---- what the server has ---- */

static bool says(const char *lines, const char *table, const char *column)
{
	const size_t n_table = strlen(table), n_column = strlen(column);

	for (const char *at = lines; *at; at += at[0] == '\n') {
		const size_t len = strcspn(at, "\n");
		const char *name = at + n_table + 1;

		if (len >= n_table + 1 && !memcmp(at, table, n_table) && at[n_table] == '\t' &&
		    (!n_column || (strcspn(name, "\t\n") == n_column && !memcmp(name, column, n_column))))
			return true;
		at += len;
	}
	return false;
}

static char *insert_text(const struct clickhouse_table *t)
{
	struct buf b = { 0 };
	const char *before = " (";

	buf_printf(&b, "INSERT INTO %s", t->name);
	for (size_t i = 0; i < t->columns.len; i++) {
		if (t->columns.items[i].absent)
			continue;
		buf_printf(&b, "%s%s", before, t->columns.items[i].name);
		before = ", ";
	}
	buf_add(&b, ") FORMAT RowBinary", sizeof(") FORMAT RowBinary"));
	if (!buf_error(&b))
		return b.data;
	buf_fini(&b);
	return NULL;
}

int clickhouse_schema_settle(struct clickhouse_schema *s, const char *lines)
{
	s->n_absent = 0;
	vec_each(t, &s->tables) {
		t->absent = lines && !says(lines, t->name, "");
		s->n_absent += t->absent;
		for (size_t k = 0; k < t->columns.len; k++) {
			t->columns.items[k].absent =
				lines && !t->absent && !says(lines, t->name, t->columns.items[k].name);
			s->n_absent += t->columns.items[k].absent;
		}
		free(t->insert);
		t->insert = insert_text(t);
		if (!t->insert)
			return -ENOMEM;
	}
	return 0;
}

/* ---- statements ---- */

/* 18.16 cannot send arrays of LowCardinality to another server. */
#define FLAGS_NAME "Array(String)"
#define NEW_FLAGS_NAME "Array(LowCardinality(String))"

static const struct {
	const char *name, *new_name, *codec;
} type_names[] = {
	[CLICKHOUSE_U8] = { "UInt8", NULL, "CODEC(T64, ZSTD(1))" },
	[CLICKHOUSE_U16] = { "UInt16", NULL, "CODEC(T64, ZSTD(1))" },
	[CLICKHOUSE_U32] = { "UInt32", NULL, "CODEC(T64, ZSTD(1))" },
	[CLICKHOUSE_U64] = { "UInt64", NULL, "CODEC(T64, ZSTD(1))" },
	[CLICKHOUSE_I8] = { "Int8", NULL, "CODEC(T64, ZSTD(1))" },
	[CLICKHOUSE_I16] = { "Int16", NULL, "CODEC(T64, ZSTD(1))" },
	[CLICKHOUSE_I32] = { "Int32", NULL, "CODEC(T64, ZSTD(1))" },
	[CLICKHOUSE_I64] = { "Int64", NULL, "CODEC(T64, ZSTD(1))" },
	[CLICKHOUSE_WORD] = { "LowCardinality(String)", NULL, NULL },
	[CLICKHOUSE_TEXT] = { "String", NULL, "CODEC(ZSTD(3))" },
	[CLICKHOUSE_FLAGS] = { FLAGS_NAME, NEW_FLAGS_NAME, NULL },
	[CLICKHOUSE_IP] = { "FixedString(16)", "IPv6", "CODEC(ZSTD(1))" },
	[CLICKHOUSE_MAC] = { "FixedString(6)", NULL, NULL },
	[CLICKHOUSE_UUID] = { "UUID", NULL, NULL },
	[CLICKHOUSE_TIME_NS] = { "UInt64", NULL, "CODEC(DoubleDelta, ZSTD(1))" },
	[CLICKHOUSE_TIME] = { "DateTime", NULL, "CODEC(DoubleDelta, ZSTD(1))" },
	[CLICKHOUSE_DATE] = { "Date", NULL, NULL },
};
_Static_assert(ARRAY_SIZE(type_names) == CLICKHOUSE__MAX, "a name per type");

static void add_definition(const struct clickhouse_column *c, const struct clickhouse_ddl *o, struct buf *out)
{
	const bool is_new = o->profile > 18;
	const char *type =
		is_new && type_names[c->type].new_name ? type_names[c->type].new_name : type_names[c->type].name;

	buf_printf(out, "%s %s", c->name, type);
	if (is_new && type_names[c->type].codec)
		buf_printf(out, " %s", type_names[c->type].codec);
}

static bool has_ttl(const struct clickhouse_ddl *o)
{
	return o->profile > 18 && o->ttl_days;
}

static void add_create(const struct clickhouse_table *t, const struct clickhouse_ddl *o, struct buf *out)
{
	buf_printf(out, "CREATE TABLE IF NOT EXISTS %s\n(\n", t->name);
	for (size_t i = 0; i < t->columns.len; i++) {
		buf_add_str(out, "    ");
		add_definition(&t->columns.items[i], o, out);
		buf_add_str(out, i + 1 < t->columns.len ? ",\n" : "\n");
	}
	buf_printf(out, ") ENGINE = MergeTree() PARTITION BY date ORDER BY %s", t->order);
	if (has_ttl(o))
		buf_printf(out, " TTL date + INTERVAL %u DAY", o->ttl_days);
	buf_add_str(out, o->profile > 18 ? " SETTINGS index_granularity = 8192, "
					   "non_replicated_deduplication_window = 1000;\n\n"
					 : " SETTINGS index_granularity = 8192;\n\n");
}

void clickhouse_schema_ddl(const struct clickhouse_schema *s, const struct clickhouse_ddl *o, struct buf *out)
{
	for (size_t i = 0; i < s->tables.len; i++)
		add_create(&s->tables.items[i], o, out);
}

void clickhouse_schema_upgrade(const struct clickhouse_schema *s, const struct clickhouse_ddl *o, struct buf *out)
{
	vec_each(t, &s->tables) {
		if (t->absent)
			add_create(t, o, out);
		else if (has_ttl(o))
			buf_printf(out, "ALTER TABLE %s MODIFY TTL date + INTERVAL %u DAY;\n\n", t->name,
				   o->ttl_days);
		for (size_t k = 0; !t->absent && k < t->columns.len; k++) {
			if (!t->columns.items[k].absent)
				continue;
			buf_printf(out, "ALTER TABLE %s ADD COLUMN ", t->name);
			add_definition(&t->columns.items[k], o, out);
			buf_add_str(out, ";\n\n");
		}
	}
}

/* ---- views ---- */

/*
 * Both sides of a call in one row, without a join: they have the connection and the number on it in common, else the
 * caller's span. A side that has neither is a row of its own. Only durations are compared: clocks need not agree.
 */
static const char sides_of[] =
	"SELECT until AS time, kind, method, path, operation, resource, client_host, client_process, server_host,\n"
	"    server_process, server_address, server_port, client_ns, server_ns,\n"
	"    multiIf(clients > 1 OR servers > 1, 'several calls have this connection and number',\n"
	"        clients + servers = 1 AND NOT numbered AND NOT traced,\n"
	"        'the number of the call on its connection is not known',\n"
	"        servers = 0, 'the side of the server was not seen',\n"
	"        clients = 0, 'the side of the client was not seen',\n"
	"        client_ns = 0 OR server_ns = 0, 'the latency of a side is not known',\n"
	"        server_ns > client_ns, 'the side of the server took longer', '') AS unknown,\n"
	"    if(unknown = '', client_ns - server_ns, NULL) AS network_ns\n"
	"FROM\n(\n"
	"    SELECT max(time) AS until, rpc_kind AS kind, any(rpc_method) AS method, any(rpc_path) AS path,\n"
	"        any(rpc_operation) AS operation, any(rpc_resource) AS resource,\n"
	"        conn_sport > 0 AND conn_dport > 0 AND rpc_ordinal > 0 AS numbered,\n"
	"        NOT numbered AND rpc_span != '' AS traced,\n"
	"        countIf(rpc_side = 'client') AS clients, countIf(rpc_side = 'server') AS servers,\n"
	"        anyIf(host, rpc_side = 'client') AS client_host, anyIf(host, rpc_side = 'server') AS server_host,\n"
	"        anyIf(proc_name, rpc_side = 'client') AS client_process,\n"
	"        anyIf(proc_name, rpc_side = 'server') AS server_process,\n"
	"        IPv6NumToString(any(conn_dst)) AS server_address, any(conn_dport) AS server_port,\n"
	"        maxIf(rpc_latency, rpc_side = 'client') AS client_ns,\n"
	"        maxIf(rpc_latency, rpc_side = 'server') AS server_ns\n"
	"    FROM rpc_call\n";
static const char sides_by[] =
	"    GROUP BY kind, numbered, traced, multiIf(\n"
	"        numbered, cityHash64(conn_src, conn_sport, conn_dst, conn_dport, rpc_ordinal),\n"
	"        traced, cityHash64(rpc_trace, rpc_span), cityHash64(run, seq))\n";

#define SIDES_APART_NS (60 * NS_PER_S) /* of the times of a call's sides, whose clocks differ */
#define DATES_END_NS (65534ll * 86400 * (int64_t)NS_PER_S) /* a Date has 16 bits */

void clickhouse_schema_sides(int64_t since_ns, int64_t until_ns, struct buf *out)
{
	const int64_t apart_ns = SIDES_APART_NS, day_ns = 86400 * (int64_t)NS_PER_S;
	const int64_t first_ns = MIN(since_ns, DATES_END_NS);
	const int64_t last_ns = until_ns ? MIN(until_ns, DATES_END_NS) : DATES_END_NS;
	const int64_t from_ns = MAX(first_ns - apart_ns, (int64_t)0), to_ns = MIN(last_ns + apart_ns, DATES_END_NS);
	const bool all = !since_ns && !until_ns;

	buf_add_str(out, sides_of);
	if (!all)
		buf_printf(out,
			   "    WHERE date BETWEEN toDate(%" PRId64 ") AND toDate(%" PRId64 ")\n"
			   "        AND ts_ns BETWEEN %" PRId64 " AND %" PRId64 "\n",
			   from_ns / day_ns, to_ns / day_ns, from_ns, to_ns);
	buf_add_str(out, sides_by);
	if (!all)
		buf_printf(out, "    HAVING max(ts_ns) BETWEEN %" PRId64 " AND %" PRId64 "\n", first_ns, last_ns);
	buf_add_str(out, ")");
}

/* The tables have no rows of their own: they are made again whenever columns may be new. */
void clickhouse_schema_distributed(const struct clickhouse_schema *s, const char *db, const char *cluster,
				   struct buf *out)
{
	for (size_t i = 0; i < s->tables.len; i++) {
		const char *name = s->tables.items[i].name;

		buf_printf(out, "DROP TABLE IF EXISTS %s;\n\n", name);
		buf_printf(out, "CREATE TABLE %s AS %s.%s ENGINE = Distributed(%s, %s, %s);\n\n", name, db, name,
			   cluster, db, name);
	}
}

void clickhouse_schema_views(const struct clickhouse_schema *s, struct buf *out)
{
	for (size_t i = 0; i < s->tables.len; i++)
		if (!strcmp(s->tables.items[i].name, "rpc_call")) {
			buf_add_str(out, "DROP TABLE IF EXISTS call_sides;\n\nCREATE VIEW call_sides AS\n");
			clickhouse_schema_sides(0, 0, out);
			buf_add_str(out, ";\n\n");
		}
}
