// SPDX-License-Identifier: GPL-2.0-or-later
#include "pipeline/pipeline_parts.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "pipeline/output.h"
#include "pipeline/pipeline_path.h"
#include "pipeline/pipeline_state.h"

static int to_part(void *ctx, const struct sonde_rec *r)
{
	const struct pipeline *p = ctx;

	output_record(p->part, r);
	return 0;
}

/*
 * The snapshot of the host goes to this output only: everything else in the process knows the state already. Records
 * of the rings that come meanwhile go to all outputs.
 */
static void turn(struct pipeline *p, struct output *o)
{
	struct err err = { 0 };

	p->part = o;
	output_part(o, SINK_PART_NAMES);
	pipeline_path_emit_symbols(p);
	pipeline_path_record_ledger(p, clock_boot_ns());
	output_part(o, SINK_PART_STATE);
	if (pipeline_tell_state(p, to_part, p) < 0 || pipeline_snapshot(p, ~0u, &err) < 0)
		log_warn("the next segment lacks state from before it: %s", err.msg[0] ? err.msg : "out of memory");
	output_part(o, SINK_PART_STREAM);
	p->part = NULL;
}

void pipeline_parts_turn(struct pipeline *p)
{
	if (!p->env || p->part || p->stopping)
		return;
	for (size_t i = 0; i < p->outputs.len; i++)
		if (output_part_is_due(p->outputs.items[i]))
			turn(p, p->outputs.items[i]);
}

void pipeline_parts_end(struct pipeline *p)
{
	for (size_t i = 0; i < p->outputs.len; i++)
		output_part(p->outputs.items[i], SINK_PART_NAMES);
}

int pipeline_trigger(struct pipeline *p)
{
	int n = 0;

	for (size_t i = 0; i < p->outputs.len; i++)
		n += output_trigger(p->outputs.items[i]);
	return n;
}

void pipeline_dumps(const struct pipeline *p, uint64_t *ret_dumps, uint64_t *ret_more)
{
	*ret_dumps = *ret_more = 0;
	for (size_t i = 0; i < p->outputs.len; i++) {
		uint64_t dumps, more;

		output_dumps(p->outputs.items[i], &dumps, &more);
		*ret_dumps += dumps;
		*ret_more += more;
	}
}
