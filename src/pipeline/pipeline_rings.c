// SPDX-License-Identifier: GPL-2.0-or-later
/* Reading the rings of live probes, and flushing outputs after a batch of records. */
#include "pipeline/pipeline_rings.h"

#include "base/clock.h"
#include "base/macros.h"
#include "base/units.h"
#include "loop/coop.h"
#include "loop/loop.h"
#include "pipeline/output.h"
#include "pipeline/pipeline_path.h"
#include "pipeline/pipeline_state.h"
#include "probe/env.h"
#include "ring/ring.h"

#define READ_ROUND 512		     /* records between two checks of the clock */
#define READ_MOST_NS (5 * NS_PER_MS) /* between two checks of signals, timers and clients */
#define DRAIN_ROUND 1024	     /* records between two checks of the clock */
#define DRAIN_MOST_NS (2 * NS_PER_S) /* bound against a producer that never stops */

bool pipeline_stopping(const struct pipeline *p)
{
	return p->stopping;
}

void pipeline_stop(struct pipeline *p)
{
	p->stopping = true;
	loop_stop(p->loop, 0);
}

/* Stops the run when all outputs failed or are full, or when standard output lost its reader (as SIGPIPE would). */
void pipeline_rings_flush(struct pipeline *p)
{
	bool unread = false;
	size_t failed = 0, aside = 0;

	for (size_t i = 0; i < p->outputs.len; i++) {
		output_flush(p->outputs.items[i]);
		aside += output_is_aside(p->outputs.items[i]);
		failed += output_error(p->outputs.items[i]) < 0 || output_done(p->outputs.items[i]);
		unread |= output_unread(p->outputs.items[i]);
	}
	if (p->tap.flush)
		p->tap.flush(p->tap.ctx);
	if (unread || (failed && failed + aside == p->outputs.len))
		pipeline_stop(p);
}

int pipeline_rings_read(struct pipeline *p)
{
	uint64_t end_ns = clock_boot_ns() + READ_MOST_NS;
	int n = 0, r;

	do {
		r = ring_reader_drain(probe_env_reader(p->env), READ_ROUND, pipeline_path_from_ring, p);
		n += MAX(r, 0);
	} while (r == READ_ROUND && clock_boot_ns() < end_ns);
	pipeline_path_release_late(p);
	pipeline_rings_flush(p);
	if (p->stopping)
		loop_stop(p->loop, 0);
	return r < 0 ? r : n;
}

void pipeline_drain(struct pipeline *p)
{
	uint64_t end_ns = clock_boot_ns() + DRAIN_MOST_NS;

	while (ring_reader_drain(probe_env_reader(p->env), DRAIN_ROUND, pipeline_path_from_ring, p) > 0 &&
	       clock_boot_ns() < end_ns)
		coop_yield(p->coop);
}
