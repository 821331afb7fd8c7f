// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/sys/stats/sys_budget.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "loop/loop.h"
#include "base/macros.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "probes/sys/sys_plan_wire.h"
#include "probes/sys/sys_wire.h"

#define NS_PER_MS 1000000ull
#define PERIOD_NS (100 * NS_PER_MS)
#define ONE_IN_MOST 64u		/* leaves 1.5 ms of 100 ms */
#define QUIET_TICKS 2u		/* cheap ticks before the open part grows */

struct budget {
	struct probe *p;
	uint32_t *closed;	/* sys_closed in the programs' memory */
	unsigned permille;
	uint32_t one_in;	/* 1 = all calls */
	unsigned quiet;		/* cheap ticks so far */
	int stats_fd;		/* while it is open, the kernel measures programs */
	struct loop_source *period, *close;
	uint64_t wall_ns, cpu_ns;	/* at the last tick */
};

void sys_budget_free(struct budget *b)
{
	if (!b)
		return;
	sys_budget_stop(b);
	cleanup_close(&b->stats_fd);
	free(b);
}
DEFINE_CLEANUP(struct budget *, sys_budget_free)

struct budget *sys_budget_new(struct probe *p, struct bpf_object *obj, unsigned permille, struct err *err)
{
	_cleanup_(sys_budget_freep) struct budget *b = calloc(1, sizeof(*b));

	if (!b) {
		err_errno(err, -ENOMEM, "cannot limit the CPU time");
		return NULL;
	}
	b->stats_fd = -1;
	b->p = p;
	b->permille = permille;
	b->one_in = 1;
	b->closed = probe_rodata_var(obj, "sys_closed", sizeof(*b->closed));
	b->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (!b->closed || !p->loop) {
		err_set(err, -ENOTSUP, "--max-cpu is not available in an agent");
		return NULL;
	}
	if (b->stats_fd < 0) {
		err_errno(err, -errno, "cannot enable run time statistics of BPF programs (--max-cpu)");
		return NULL;
	}
	return TAKE_PTR(b);
}

/* ---- what it costs ---- */

static void add_program(void *ctx, _unused_ uint16_t instance, int prog_fd)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	if (!bpf_prog_get_info_by_fd(prog_fd, &info, &len))
		*(uint64_t *)ctx += info.run_time_ns;
}

static uint64_t timeval_ns(struct timeval tv)
{
	return (uint64_t)tv.tv_sec * 1000 * NS_PER_MS + (uint64_t)tv.tv_usec * 1000;
}

/* CPU time of this process and all its programs so far. */
static uint64_t cost_ns(const struct budget *b)
{
	struct rusage self;
	uint64_t ns = 0;

	probe_env_programs(b->p->env, add_program, &ns);
	return getrusage(RUSAGE_SELF, &self) < 0 ? ns : ns + timeval_ns(self.ru_utime) + timeval_ns(self.ru_stime);
}

/* ---- open and closed ---- */

static void set_closed(struct budget *b, bool closed)
{
	if (closed)
		__atomic_or_fetch(b->closed, SYS_CLOSED_BUDGET, __ATOMIC_RELAXED);
	else
		__atomic_and_fetch(b->closed, ~SYS_CLOSED_BUDGET, __ATOMIC_RELAXED);
}

static int on_close(void *ctx, _unused_ uint64_t now_ns)
{
	struct budget *b = ctx;

	set_closed(b, b->one_in > 1);
	return 0;
}

static int on_period(void *ctx, _unused_ uint64_t now_ns)
{
	struct budget *b = ctx;

	set_closed(b, false);
	return b->one_in > 1 ? loop_set_timer(b->close, PERIOD_NS / b->one_in, 0) : 0;
}

int sys_budget_start(struct budget *b)
{
	int r = loop_add_timer(b->p->loop, PERIOD_NS, PERIOD_NS, on_period, b, &b->period);

	if (r >= 0)
		r = loop_add_timer(b->p->loop, PERIOD_NS, 0, on_close, b, &b->close);
	if (r >= 0)
		loop_name(b->period, "CPU budget");
	b->wall_ns = clock_boot_ns();
	b->cpu_ns = cost_ns(b);
	return r;
}

void sys_budget_stop(struct budget *b)
{
	if (!b)
		return;
	loop_remove(TAKE_PTR(b->period));
	loop_remove(TAKE_PTR(b->close));
	if (b->closed)
		set_closed(b, false);
	b->closed = NULL;
}

/* ---- how much ---- */

/* Reports the rate as an event and as a message. */
static void say(struct budget *b, unsigned cost)
{
	struct sys_sampling_rec r = {
		.hdr = { .type = SYS_REC_SAMPLING, .flags = SONDE_RF_SUM }, .one_in = b->one_in,
	};
	char text[160];

	r.hdr.instance = b->p->instance;
	r.cost_permille = cost;
	r.budget_permille = b->permille;
	probe_env_inject(b->p->env, &r.hdr, sizeof(r));
	if (b->one_in > 1)
		snprintf(text, sizeof(text), "sonde took %u.%u %% of a CPU, the limit is %u.%u %%: "
			 "recording calls in 1/%u of the time", cost / 10, cost % 10, b->permille / 10,
			 b->permille % 10, b->one_in);
	else
		snprintf(text, sizeof(text), "recording all calls again");
	probe_env_note(b->p->env, text);
}

/* Raises the rate by the factor that the cost exceeds the limit; lowers it only after a quiet period. */
static uint32_t next_one_in(struct budget *b, unsigned cost)
{
	uint32_t one_in = b->one_in;

	for (uint64_t expect = cost; expect > b->permille && one_in < ONE_IN_MOST; expect /= 2)
		one_in *= 2;
	b->quiet = cost * 3 < b->permille ? b->quiet + 1 : 0;
	if (b->quiet < QUIET_TICKS || one_in == 1)
		return one_in;
	b->quiet = 0;
	return one_in / 2;
}

void sys_budget_tick(struct budget *b)
{
	uint64_t wall_ns = clock_boot_ns(), cpu_ns = cost_ns(b), cost;
	uint32_t one_in;

	if (!b->closed || wall_ns - b->wall_ns < PERIOD_NS)
		return;
	cost = (cpu_ns - b->cpu_ns) * 1000 / (wall_ns - b->wall_ns);
	b->wall_ns = wall_ns;
	b->cpu_ns = cpu_ns;
	one_in = next_one_in(b, (unsigned)cost);
	if (one_in == b->one_in)
		return;
	b->one_in = one_in;
	set_closed(b, one_in > 1);	/* until the next period */
	say(b, (unsigned)cost);
}
