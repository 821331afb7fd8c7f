// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/budget/budget.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/macros.h"
#include "loop/loop.h"
#include "probe/budget/budget_control.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "sonde/sampling_wire.h"

#define PERIOD_NS NS_PER_S

/* Since the start, by instance. */
struct budget_counts {
	uint64_t user_ns;
	uint64_t kernel_ns[SONDE_INSTANCES], records[SONDE_INSTANCES];
};

struct budget {
	struct budget_opts o;
	int stats_fd; /* while it is open, the kernel measures programs */
	struct loop_source *timer;
	struct probe *probes; /* borrowed */
	size_t n_probes;
	uint64_t wall_ns;	     /* of the last period's end; 0 = none yet */
	struct budget_counts counts; /* at that time */
	struct budget_control control;
	struct budget_share shares[SONDE_INSTANCES];
	bool asked[SONDE_INSTANCES]; /* whether the probe can leave events out */
	unsigned cost_permille;	     /* of the last period */
	bool exceeded;		     /* reported since the last change: nothing is left to leave out */
};

int budget_parse(const char *text, unsigned *ret_permille, struct err *err)
{
	unsigned whole = 0, tenths = 0;
	int end = 0;

	if (*text >= '0' && *text <= '9' &&
	    (sscanf(text, "%3u.%1u%n", &whole, &tenths, &end) == 2 || sscanf(text, "%3u%n", &whole, &end) == 1) &&
	    (!text[end] || !strcmp(text + end, "%")) && whole * 10 + tenths) {
		*ret_permille = whole * 10 + tenths;
		return 0;
	}
	return err_set(err, -EINVAL, "--max-cpu %s: expected a percentage of one CPU, such as 5%%", text);
}

void budget_free(struct budget *b)
{
	if (!b)
		return;
	budget_stop(b);
	cleanup_close(&b->stats_fd);
	free(b);
}
DEFINE_CLEANUP(struct budget *, budget_free)

int budget_new(const struct budget_opts *o, struct budget **ret, struct err *err)
{
	_cleanup_(budget_freep) struct budget *b = calloc(1, sizeof(*b));

	if (!b)
		return err_errno(err, -ENOMEM, "cannot limit the CPU time");
	b->o = *o;
	b->stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (b->stats_fd < 0)
		return err_errno(err, -errno,
				 "--max-cpu needs run time statistics of BPF programs (Linux 5.8, "
				 "CAP_SYS_ADMIN), which this kernel refuses");
	if (!b->o.record)
		b->o.record = SONDE_EV_SAMPLING;
	for (size_t i = 0; i < SONDE_INSTANCES; i++)
		b->shares[i].one_in = 1;
	*ret = TAKE_PTR(b);
	return 0;
}

/* ---- what it costs ---- */

static void add_program(void *ctx, uint16_t instance, int prog_fd)
{
	struct budget_counts *c = ctx;
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	if (instance < SONDE_INSTANCES && !bpf_prog_get_info_by_fd(prog_fd, &info, &len))
		c->kernel_ns[instance] += info.run_time_ns;
}

static uint64_t timeval_ns(struct timeval tv)
{
	return (uint64_t)tv.tv_sec * NS_PER_S + (uint64_t)tv.tv_usec * 1000;
}

static void measure(const struct budget *b, struct budget_counts *ret)
{
	struct rusage self;

	*ret = (struct budget_counts){ 0 };
	if (getrusage(RUSAGE_SELF, &self) == 0)
		ret->user_ns = timeval_ns(self.ru_utime) + timeval_ns(self.ru_stime);
	probe_env_programs(b->o.env, add_program, ret);
	each_item(p, b->probes, b->n_probes) {
		struct sonde_ledger l;

		if (p->running && probe_env_ledger(b->o.env, p->instance, &l) == 0)
			ret->records[p->instance] = l.delivered;
	}
}

/* A counter of an instance whose number was reused begins anew. */
static uint64_t since(uint64_t now, uint64_t before)
{
	return now >= before ? now - before : now;
}

/* Puts the cost of the period into the shares; returns the part of this process. */
static uint64_t take_period(struct budget *b)
{
	struct budget_counts now;
	uint64_t user_ns;

	measure(b, &now);
	for (size_t i = 0; i < SONDE_INSTANCES; i++) {
		b->shares[i].kernel_ns = since(now.kernel_ns[i], b->counts.kernel_ns[i]);
		b->shares[i].records = since(now.records[i], b->counts.records[i]);
	}
	user_ns = now.user_ns - b->counts.user_ns;
	b->counts = now;
	return user_ns;
}

/* ---- rates ---- */

static struct sonde_sampling_rec record_of(const struct budget *b, uint16_t instance)
{
	return (struct sonde_sampling_rec){
		.hdr = { .type = b->o.record,
			 .len = sizeof(struct sonde_sampling_rec),
			 .flags = SONDE_RF_SUM,
			 .instance = instance },
		.one_in = b->shares[instance].one_in,
		.cost_permille = b->cost_permille,
		.budget_permille = b->o.permille,
	};
}

static int ask(struct probe *p, uint32_t one_in, char *ret_what, size_t size)
{
	return p->running && p->ops->sample ? p->ops->sample(p, one_in, ret_what, size) : -ENOTSUP;
}

/* Probes that started since the last period. */
static void ask_new(struct budget *b)
{
	each_item(p, b->probes, b->n_probes) {
		char what[128] = "";

		if (p->running && !b->asked[p->instance]) {
			b->asked[p->instance] = true;
			b->shares[p->instance].steered = ask(p, 1, what, sizeof(what)) >= 0;
		}
	}
}

/* A probe that fails to change its rate keeps the old one from now on. */
static void change(struct budget *b, struct probe *p, uint32_t before, struct buf *text)
{
	struct sonde_sampling_rec r;
	char what[128] = "";

	if (ask(p, b->shares[p->instance].one_in, what, sizeof(what)) < 0) {
		b->shares[p->instance].one_in = before;
		b->shares[p->instance].steered = false;
		return;
	}
	r = record_of(b, p->instance);
	probe_env_inject(b->o.env, &r.hdr, sizeof(r));
	buf_printf(text, "%s%s", text->len ? ", " : "", what);
}

static void say(struct budget *b, const char *what)
{
	char text[512];

	snprintf(text, sizeof(text), "sonde took %u.%u %% of a CPU, the limit is %u.%u %%: %s", b->cost_permille / 10,
		 b->cost_permille % 10, b->o.permille / 10, b->o.permille % 10, what);
	probe_env_note(b->o.env, text);
}

static void change_all(struct budget *b, const uint32_t *before)
{
	_cleanup_(buf_fini) struct buf text = { 0 };
	bool less = false;

	each_item(p, b->probes, b->n_probes) {
		const uint32_t one_in = b->shares[p->instance].one_in;

		if (!p->running || one_in == before[p->instance])
			continue;
		change(b, p, before[p->instance], &text);
		less |= one_in > 1;
	}
	if (text.len && less)
		say(b, buf_str(&text));
	else if (text.len)
		probe_env_note(b->o.env, buf_str(&text));
}

/* ---- the timer ---- */

static void step(struct budget *b, uint64_t limit_ns, uint64_t user_ns)
{
	uint32_t before[SONDE_INSTANCES];

	for (size_t i = 0; i < SONDE_INSTANCES; i++)
		before[i] = b->shares[i].one_in;
	if (budget_control_step(&b->control, limit_ns, user_ns, b->shares, SONDE_INSTANCES)) {
		change_all(b, before);
		b->exceeded = false;
	} else if (b->cost_permille > b->o.permille && !b->exceeded) {
		say(b, "nothing more can be left out");
		b->exceeded = true;
	}
}

static int on_period(void *ctx, _unused_ uint64_t now_ns)
{
	struct budget *b = ctx;
	const uint64_t wall_ns = clock_boot_ns(), passed_ns = wall_ns - b->wall_ns, first = !b->wall_ns;
	uint64_t user_ns;

	ask_new(b);
	if (!first && passed_ns < PERIOD_NS / 2)
		return 0; /* the loop was held: too short to measure */
	user_ns = take_period(b);
	b->wall_ns = wall_ns;
	if (first)
		return 0;
	b->cost_permille = (unsigned)(budget_control_cost(b->shares, SONDE_INSTANCES, user_ns) * 1000 / passed_ns);
	step(b, passed_ns / 1000 * b->o.permille, user_ns);
	return 0;
}

int budget_start(struct budget *b, struct probe *probes, size_t n)
{
	const uint64_t first_ns = b->o.settle_ns ? b->o.settle_ns : PERIOD_NS;
	int r = loop_add_timer(b->o.loop, first_ns, PERIOD_NS, on_period, b, &b->timer);

	if (r < 0)
		return r;
	loop_name(b->timer, "CPU budget");
	b->probes = probes;
	b->n_probes = n;
	if (!b->o.settle_ns)
		on_period(b, 0);
	return 0;
}

void budget_stop(struct budget *b)
{
	if (!b)
		return;
	loop_remove(TAKE_PTR(b->timer));
	b->n_probes = 0;
}

int budget_emit(const struct budget *b, int (*fn)(void *ctx, const struct sonde_rec *r), void *ctx)
{
	int r = 0;

	for (uint16_t i = 0; r >= 0 && b && i < SONDE_INSTANCES; i++) {
		struct sonde_sampling_rec rec = record_of(b, i);

		rec.hdr.ts_ns = clock_boot_ns();
		if (rec.one_in > 1)
			r = fn(ctx, &rec.hdr);
	}
	return r;
}
