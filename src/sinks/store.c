// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Raw records into a store: a directory of segments (src/store), each of which can be read alone.
 */

#include "base/err.h"
#include "event/redact/redact.h"
#include "sinks/outfile.h"
#include "sinks/sink.h"
#include "sonde/wire.h"
#include "store/store_writer.h"

struct store {
	struct store_writer *writer;	/* owned */
	uint8_t state[(UINT16_MAX + 1) / 8];	/* types that update tables, one bit each */
};

static bool is_state(void *ctx, uint16_t type)
{
	const struct store *st = ctx;

	return st->state[type / 8] >> type % 8 & 1;
}

static void list_state(struct store *st, const struct registry *reg)
{
	const struct event_desc *d;
	size_t pos = 0;

	while ((d = registry_next(reg, &pos)))
		if (d->class == EVENT_STATE && d->type != SONDE_EV_TICK)
			st->state[d->type / 8] |= (uint8_t)(1u << d->type % 8);
}

static int store_open(struct sink *s, struct err *err)
{
	struct store *st = s->state;
	struct store_writer_opts o = s->opts->store ? *s->opts->store : (struct store_writer_opts){ 0 };

	list_state(st, s->opts->reg);
	o.path = outfile_name(s->out);
	/* the arguments of a command behind -- are among them */
	o.options = s->opts->redact & REDACT_ARGS ? "<redacted>" : s->opts->cmdline;
	o.is_state = is_state;
	o.ctx = st;
	o.tells_owners = true;
	return store_writer_open(&o, &st->writer, err);
}

static int store_record(struct sink *s, const struct sonde_rec *r)
{
	const struct store *st = s->state;

	return store_writer_add(st->writer, r);
}

static void store_owner(struct sink *s, uint64_t ts_ns, uint32_t tgid)
{
	const struct store *st = s->state;

	store_writer_owner(st->writer, ts_ns, tgid);
}

static int store_flush(struct sink *s)
{
	const struct store *st = s->state;

	return store_writer_flush(st->writer);
}

static int store_trigger(struct sink *s)
{
	const struct store *st = s->state;

	return store_writer_trigger(st->writer);
}

static void store_dumps(const struct sink *s, uint64_t *ret_dumps, uint64_t *ret_more)
{
	const struct store *st = s->state;
	struct store_writer_stats stats;

	store_writer_stats(st->writer, &stats);
	*ret_dumps = stats.dumps;
	*ret_more = stats.more_triggers;
}

static bool store_part_is_due(const struct sink *s)
{
	const struct store *st = s->state;

	return store_writer_is_due(st->writer);
}

static int store_part(struct sink *s, enum sink_part part)
{
	static const enum store_phase phases[] = {
		[SINK_PART_STREAM] = STORE_DATA, [SINK_PART_NAMES] = STORE_NAMES, [SINK_PART_STATE] = STORE_STATE,
	};
	const struct store *st = s->state;

	_Static_assert(sizeof(phases) / sizeof(phases[0]) == SINK_PART__MAX, "a phase per part");
	return store_writer_phase(st->writer, phases[part]);
}

static int store_close(struct sink *s)
{
	struct store *st = s->state;
	struct store_writer_stats stats = { 0 };
	struct store_writer *w = st->writer;

	if (!w)
		return 0;
	st->writer = NULL;
	store_writer_stats(w, &stats);
	outfile_count_dropped(s->out, stats.lost);
	return store_writer_close(w, NULL);
}

const struct sink_ops store_sink = {
	.name = "store", .summary = "raw records in a directory of compressed segments, to be read with -r",
	.flags = SINK_BINARY | SINK_RAW | SINK_FOLDER, .state_size = sizeof(struct store), .open = store_open,
	.record = store_record, .owner = store_owner, .flush = store_flush, .part_is_due = store_part_is_due,
	.part = store_part, .trigger = store_trigger, .dumps = store_dumps, .close = store_close,
};
