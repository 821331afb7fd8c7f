// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/sys/stats/sys_gate.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "loop/loop.h"
#include "probe/rodata.h"
#include "probes/sys/sys_plan_wire.h"

#define PERIOD_NS (100 * NS_PER_MS) /* 1/64 of it is 1.5 ms */

struct sys_gate {
	struct loop *loop;
	uint32_t *closed;		    /* sys_closed in the programs' memory */
	uint32_t one_in;		    /* 1 = always open */
	struct loop_source *period, *close; /* NULL = always open */
};

struct sys_gate *sys_gate_new(struct bpf_object *obj, struct loop *loop)
{
	_cleanup_free_ struct sys_gate *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->loop = loop;
	g->one_in = 1;
	g->closed = probe_rodata_var(obj, "sys_closed", sizeof(*g->closed));
	return g->closed ? TAKE_PTR(g) : NULL;
}

static void set_closed(struct sys_gate *g, bool closed)
{
	if (closed)
		__atomic_or_fetch(g->closed, SYS_CLOSED_BUDGET, __ATOMIC_RELAXED);
	else
		__atomic_and_fetch(g->closed, ~SYS_CLOSED_BUDGET, __ATOMIC_RELAXED);
}

static void open_for_good(struct sys_gate *g)
{
	loop_remove(TAKE_PTR(g->period));
	loop_remove(TAKE_PTR(g->close));
	set_closed(g, false);
}

static int on_close(void *ctx, _unused_ uint64_t now_ns)
{
	set_closed(ctx, true);
	return 0;
}

static int on_period(void *ctx, _unused_ uint64_t now_ns)
{
	struct sys_gate *g = ctx;

	set_closed(g, false);
	return loop_set_timer(g->close, PERIOD_NS / g->one_in, 0);
}

static int start(struct sys_gate *g)
{
	int r = loop_add_timer(g->loop, PERIOD_NS, 0, on_close, g, &g->close);

	if (r >= 0)
		r = loop_set_timer(g->close, 0, 0); /* on_period() arms it */
	if (r >= 0)
		r = loop_add_timer(g->loop, PERIOD_NS, PERIOD_NS, on_period, g, &g->period);
	if (r < 0)
		return r;
	loop_name(g->period, "CPU budget");
	loop_name(g->close, "CPU budget");
	return 0;
}

int sys_gate_set(struct sys_gate *g, uint32_t one_in)
{
	int r = 0;

	g->one_in = one_in;
	if (one_in > 1 && !g->period)
		r = start(g);
	if (one_in == 1 || r < 0)
		open_for_good(g);
	else
		set_closed(g, true); /* until the next period */
	return r;
}

void sys_gate_free(struct sys_gate *g)
{
	if (!g)
		return;
	open_for_good(g);
	free(g);
}
