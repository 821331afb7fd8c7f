// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/tables.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "clickhouse/clickhouse_reader.h"
#include "sonde/wire.h"
#include "source/source_ops.h"
#include "source/worker_reply.h"

#define ANSWER_BYTES (64u << 10)

struct work {
	struct buf out;
	int out_fd;
	uint64_t ts_ns; /* of the last record */
};

static int add(struct work *w, const struct sonde_rec *r)
{
	w->ts_ns = r->ts_ns;
	worker_reply_add_record(&w->out, r);
	return w->out.len >= ANSWER_BYTES ? worker_reply_send(&w->out, w->out_fd) : buf_error(&w->out);
}

static int on_record(void *ctx, const void *data, size_t len)
{
	const struct sonde_rec *r = data;

	if (len < sizeof(*r) || r->len != len || len > SOURCE_RECORD_MAX_BYTES)
		return -EBADMSG;
	return add(ctx, r);
}

static int on_missing(void *ctx, uint64_t n)
{
	struct work *w = ctx;
	const struct sonde_lost_rec lost = {
		.hdr = { .ts_ns = w->ts_ns, .len = sizeof(lost), .type = SONDE_EV_LOST },
		.cause = SONDE_LOST_SINK,
		.count = n,
	};

	return add(w, &lost.hdr);
}

static uint32_t own_format(void)
{
	uint32_t i = 0;

	while (strcmp(all_sources[i]->name, "clickhouse") != 0)
		i++;
	return i;
}

int tables_work(void *ctx, _unused_ int in_fd, int out_fd)
{
	const struct tables *t = ctx;
	struct work w = { .out_fd = out_fd };
	const struct clickhouse_reader_opts o = {
		.target = &t->target,
		.since_ns = t->since_ns,
		.until_ns = t->until_ns,
		.record = on_record,
		.missing = on_missing,
		.ctx = &w,
	};
	struct err err = { 0 };
	int r = worker_reply_add_format(&w.out, own_format());

	if (r >= 0)
		r = worker_reply_send(&w.out, w.out_fd);
	if (r >= 0)
		r = clickhouse_reader_run(&o, &err);
	if (r < 0 && !err.code)
		err_errno(&err, r, "cannot read the table of records");
	worker_reply_add_end(&w.out, r, err.msg);
	r = worker_reply_send(&w.out, w.out_fd);
	buf_fini(&w.out);
	return r < 0;
}
