// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows for ClickHouse: events in the table of their type (clickhouse/clickhouse_schema.h), all records in the table
 * `record`, from which -r clickhouse:// replays them, and a row about the run. Rows of a table leave as blocks
 * (clickhouse/clickhouse_block.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/macros.h"
#include "clickhouse/clickhouse_block.h"
#include "clickhouse/clickhouse_row.h"
#include "clickhouse/clickhouse_schema.h"
#include "event/event.h"
#include "sinks/outfile.h"
#include "sinks/sink.h"
#include "sonde/wire.h"

/* The open block of a table. */
struct open_block {
	struct clickhouse_block_maker maker;
	struct clickhouse_row_plan *plan; /* owned; NULL = no rows yet */
	struct buf bytes;
};

struct clickhouse {
	struct clickhouse_schema *schema; /* owned */
	struct open_block *blocks;	  /* owned; one per table */
	uint64_t run;
	struct sonde_host_rec host;	     /* of the recorded host */
	int64_t offset_ns;		     /* to wall-clock time; 0 = unknown */
	bool told;			     /* the row of the run is written */
	uint16_t tables[UINT16_MAX + 1];     /* by type of event; 0 = no table */
	uint8_t state[(UINT16_MAX + 1) / 8]; /* types that update tables, one bit each */
};

static void list_types(struct clickhouse *st, const struct registry *reg)
{
	const struct event_desc *d;
	size_t pos = 0;

	while ((d = registry_next(reg, &pos))) {
		const struct clickhouse_table *t = clickhouse_schema_table(st->schema, d);

		if (t && !t->absent)
			st->tables[d->type] = (uint16_t)(t - st->schema->tables.items);
		if (d->class == EVENT_STATE && d->type != SONDE_EV_TICK)
			st->state[d->type / 8] |= (uint8_t)(1u << d->type % 8);
	}
}

static int open_blocks(struct clickhouse *st)
{
	const size_t n = st->schema->tables.len;

	st->blocks = calloc(n, sizeof(*st->blocks));
	for (size_t i = 0; st->blocks && i < n; i++)
		st->blocks[i].maker = (struct clickhouse_block_maker){
			.table = &st->schema->tables.items[i],
			.run = st->run,
			.bytes = &st->blocks[i].bytes,
		};
	return st->blocks ? 0 : -ENOMEM;
}

static int clickhouse_open(struct sink *s, struct err *err)
{
	struct clickhouse *st = s->state;
	struct utsname u;
	int r;

	if (s->opts->redact)
		return err_set(err, -EINVAL,
			       "-o clickhouse: --redact does not reach the columns of events; "
			       "write a store, and send it with -r");
	st->run = clickhouse_block_new_run();
	if (uname(&u) == 0)
		memcpy(st->host.hostname, u.nodename, MIN(sizeof(st->host.hostname) - 1, strlen(u.nodename)));
	r = clickhouse_schema_new(s->opts->reg, &st->schema);
	if (r >= 0)
		r = clickhouse_schema_settle(st->schema, outfile_peer(s->out));
	if (r >= 0)
		r = open_blocks(st);
	if (r < 0) {
		clickhouse_schema_free(TAKE_PTR(st->schema));
		return err_errno(err, r, "cannot open output clickhouse");
	}
	list_types(st, s->opts->reg);
	return 0;
}

/* ---- blocks ---- */

static int put_block(struct sink *s, struct open_block *b)
{
	const struct clickhouse *st = s->state;
	const size_t n = b->maker.n_rows;
	int r;

	if (!n)
		return 0;
	b->maker.insert = b->plan ? clickhouse_row_plan_insert(b->plan) : NULL;
	r = b->plan && !b->maker.insert ? -ENOMEM : clickhouse_block_finish(&b->maker, st->host.hostname);
	if (r >= 0)
		r = outfile_batch(s->out, b->bytes.data, b->bytes.len, n);
	clickhouse_block_reset(&b->maker);
	return r;
}

static void read_id(const char *path, char *to, size_t cap)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, to, cap - 1);

	to[MAX(n, (ssize_t)0)] = '\0';
}

static void put_run(struct clickhouse_row_put *p, const struct sink *s, const struct clickhouse_row *row)
{
	const struct clickhouse *st = s->state;
	const char *command = s->opts->cmdline ? s->opts->cmdline : "";
	char host_id[64] = "", boot_id[64] = "";

	if (!s->opts->wait) { /* recordings do not have them */
		read_id("/etc/machine-id", host_id, sizeof(host_id));
		read_id("/proc/sys/kernel/random/boot_id", boot_id, sizeof(boot_id));
	}
	clickhouse_row_head(p, row);
	clickhouse_row_uuid(p, host_id);
	clickhouse_row_uuid(p, boot_id);
	clickhouse_row_text(p, st->host.release, strnlen(st->host.release, sizeof(st->host.release)));
	clickhouse_row_text(p, st->host.machine, strnlen(st->host.machine, sizeof(st->host.machine)));
	clickhouse_row_number(p, st->host.n_cpus);
	clickhouse_row_text(p, SONDE_VERSION, strlen(SONDE_VERSION));
	clickhouse_row_text(p, command, strlen(command));
}

/* Before the first block: readers find a run by this row. */
static int write_run_row(struct sink *s)
{
	struct clickhouse *st = s->state;
	struct open_block *b = &st->blocks[CLICKHOUSE_TABLE_RUN];
	const struct clickhouse_row row = {
		.host = st->host.hostname,
		.run = st->run,
		.ts_ns = (uint64_t)clock_boot_offset_ns() + clock_boot_ns(),
	};
	struct clickhouse_row_put p = { .table = b->maker.table, .out = &b->bytes };
	int r = clickhouse_block_begin_row(&b->maker, row.ts_ns, 1);

	st->told = true;
	if (r < 0 || b->maker.table->absent)
		return r;
	put_run(&p, s, &row);
	clickhouse_block_end_row(&b->maker, row.ts_ns);
	return put_block(s, b);
}

static int put_all(struct sink *s, uint64_t before_ns)
{
	struct clickhouse *st = s->state;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < st->schema->tables.len; i++) {
		struct open_block *b = &st->blocks[i];

		if (!b->maker.n_rows || b->maker.since_ns > before_ns)
			continue;
		if (!st->told)
			r = write_run_row(s);
		if (r >= 0)
			r = put_block(s, b);
	}
	return r;
}

/* Room for a row at the wall-clock time @ts_ns. */
static int begin_row(struct sink *s, struct open_block *b, uint64_t ts_ns)
{
	struct clickhouse *st = s->state;
	int r = 0;

	if (clickhouse_block_is_full(&b->maker, ts_ns)) {
		if (!st->told)
			r = write_run_row(s);
		if (r >= 0)
			r = put_block(s, b);
	}
	return r < 0 ? r : clickhouse_block_begin_row(&b->maker, ts_ns, b->maker.n_rows ? 0 : clock_boot_ns());
}

/* ---- events and records ---- */

static int clickhouse_event(struct sink *s, const struct event *ev)
{
	struct clickhouse *st = s->state;
	struct open_block *b = &st->blocks[st->tables[ev->desc->type]];
	struct clickhouse_row row = { .host = st->host.hostname, .run = st->run };
	int r;

	if (b == st->blocks)
		return 0;
	if (!b->plan)
		b->plan = clickhouse_row_plan_new(b->maker.table);
	if (!b->plan)
		return -ENOMEM;
	row.ts_ns = event_wall_ns(ev);
	r = begin_row(s, b, row.ts_ns);
	if (r < 0)
		return r;
	row.seq = b->maker.seq;
	r = clickhouse_row_put(b->plan, &row, ev, &b->bytes, sizeof(struct clickhouse_block_head));
	if (r < 0)
		return r;
	clickhouse_block_end_row(&b->maker, row.ts_ns);
	return 0;
}

/* Blocks are of one host. */
static int learn(struct sink *s, const struct sonde_rec *rec)
{
	struct clickhouse *st = s->state;
	int r = 0;

	if (rec->type == SONDE_EV_CLOCK && rec->len >= sizeof(struct sonde_clock_rec)) {
		struct sonde_clock_rec c;

		memcpy(&c, rec, sizeof(c));
		st->offset_ns = c.offset_ns;
	}
	if (rec->type == SONDE_EV_HOST && rec->len >= sizeof(struct sonde_host_rec)) {
		const struct sonde_host_rec *h = (const void *)rec;

		if (memcmp(h->hostname, st->host.hostname, sizeof(h->hostname)) != 0)
			r = put_all(s, UINT64_MAX);
		memcpy(&st->host, rec, sizeof(st->host));
		st->host.hostname[sizeof(st->host.hostname) - 1] = '\0';
	}
	return r;
}

static int clickhouse_record(struct sink *s, const struct sonde_rec *rec)
{
	struct clickhouse *st = s->state;
	struct open_block *b = &st->blocks[CLICKHOUSE_TABLE_RECORD];
	struct clickhouse_row_put p = { .table = b->maker.table, .out = &b->bytes };
	struct clickhouse_row row = { .run = st->run };
	int r = learn(s, rec);

	/* the first records are older than the clock's: the table has them by number */
	row.ts_ns = st->offset_ns ? rec->ts_ns + (uint64_t)st->offset_ns
				  : (uint64_t)clock_boot_offset_ns() + clock_boot_ns();
	row.host = st->host.hostname;
	if (r >= 0)
		r = begin_row(s, b, row.ts_ns);
	if (r < 0)
		return r;
	row.seq = b->maker.seq;
	clickhouse_row_head(&p, &row);
	clickhouse_row_number(&p, rec->type);
	clickhouse_row_number(&p, st->state[rec->type / 8] >> rec->type % 8 & 1);
	clickhouse_row_text(&p, rec, rec->len);
	if (buf_error(&b->bytes))
		return buf_error(&b->bytes);
	clickhouse_block_end_row(&b->maker, row.ts_ns);
	return 0;
}

/* A server should not have to wait for the next event. */
static int clickhouse_flush(struct sink *s)
{
	const uint64_t now_ns = clock_boot_ns();

	if (!outfile_is_remote(s->out) || now_ns < CLICKHOUSE_BLOCK_NS)
		return 0;
	return put_all(s, now_ns - CLICKHOUSE_BLOCK_NS);
}

static int clickhouse_close(struct sink *s)
{
	struct clickhouse *st = s->state;
	int r = put_all(s, UINT64_MAX);

	for (size_t i = 0; i < st->schema->tables.len; i++) {
		clickhouse_row_plan_free(st->blocks[i].plan);
		buf_fini(&st->blocks[i].bytes);
	}
	free(st->blocks);
	clickhouse_schema_free(st->schema);
	return r;
}

const struct sink_ops clickhouse_sink = {
	.name = "clickhouse",
	.summary = "a ClickHouse database: a table per event type, and the records for -r "
		   "(-o clickhouse:http://HOST:8123/DB)",
	.flags = SINK_BINARY | SINK_RAW | SINK_BLOCKS,
	.post_things = "rows",
	.state_size = sizeof(struct clickhouse),
	.open = clickhouse_open,
	.event = clickhouse_event,
	.record = clickhouse_record,
	.flush = clickhouse_flush,
	.close = clickhouse_close,
};
