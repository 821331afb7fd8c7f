// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/sys/stats/sys_stats.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/vec.h"
#include "loop/loop.h"
#include "probe/env.h"
#include "probe/probe.h"
#include "probes/sys/sys_plan_wire.h"
#include "probes/sys/sys_wire.h"

_Static_assert(ARRAY_SIZE(((struct sys_stats_cell *)0)->steps) == SYS_STEPS, "both sides count in the same steps");

static void add(struct sys_stats_cell *sum, const struct sys_stats_cell *s, struct sys_stats_rec *ret)
{
	sum->calls += s->calls;
	sum->errors += s->errors;
	sum->sure += s->sure;
	sum->sure_ns += s->sure_ns;
	sum->sampled += s->sampled;
	sum->sampled_ns += s->sampled_ns;
	sum->unknown += s->unknown;
	sum->max_ns = MAX(sum->max_ns, s->max_ns);
	sum->bytes += s->bytes;
	for (unsigned k = 0; k < SYS_STEPS; k++)
		ret->steps[k] += s->steps[k];
}

/* Scales @ns of @n calls to @calls. */
static uint64_t scaled(uint64_t ns, uint64_t n, uint64_t calls)
{
	return n ? (uint64_t)((__uint128_t)ns * calls / n) : 0;
}

/*
 * The exact times, and for the other calls the average of the sampled ones. The number of calls is exact, so only the
 * average is an estimate. Without a sample, the first calls supply the average.
 */
static uint64_t estimate(const struct sys_stats_cell *s)
{
	uint64_t rest = s->calls - MIN(s->sure + s->unknown, s->calls);

	if (!s->sampled)
		return s->sure_ns + scaled(s->sure_ns, s->sure, rest);
	return s->sure_ns + scaled(s->sampled_ns, s->sampled, rest);
}

static void fill(const struct sys_stats_cell *sum, struct sys_stats_rec *ret)
{
	ret->calls = sum->calls;
	ret->errors = sum->errors;
	ret->total_ns = estimate(sum);
	ret->max_ns = sum->max_ns;
	ret->bytes = sum->bytes;
	ret->timed = sum->sure + sum->sampled;
}

/* Sums a call over all CPUs. False if it was never made. */
static bool read_sum(int fd, uint32_t slot, struct sys_stats_cell *cpus, unsigned n_cpus, struct sys_stats_rec *ret)
{
	struct sys_stats_cell sum = { 0 };

	if (bpf_map_lookup_elem(fd, &slot, cpus) < 0)
		return false;
	*ret = (struct sys_stats_rec){ .hdr = { .type = SYS_REC_SUM } };
	for (unsigned i = 0; i < n_cpus; i++)
		add(&sum, &cpus[i], ret);
	fill(&sum, ret);
	return ret->calls > 0;
}

static void name_call(struct sys_stats_rec *r, const unsigned *abis, uint32_t slot)
{
	r->nr = (uint16_t)(slot % SYS_NR_MAX);
	r->abi = (uint8_t)abis[slot / SYS_NR_MAX];
}

/* Appends the rows by process or name to the @n rows in @ret. Returns the new number of rows. */
static size_t read_by(int fd, const unsigned *abis, unsigned n_abis, struct sys_stats_rec *sums, size_t n)
{
	struct sys_stats_key key, *before = NULL;
	struct sys_stats_cell sum;

	for (unsigned i = 0; i < SYS_BY_MOST && bpf_map_get_next_key(fd, before, &key) == 0; i++) {
		struct sys_stats_rec *r = &sums[n];

		before = &key;
		if (bpf_map_lookup_elem(fd, &key, &sum) < 0 || !sum.calls || key.slot >= n_abis * SYS_NR_MAX)
			continue;
		*r = (struct sys_stats_rec){ .hdr = { .type = SYS_REC_SUM }, .by_pid = key.tgid };
		memcpy(r->by_name, key.name, sizeof(r->by_name));
		for (unsigned k = 0; k < SYS_STEPS; k++)
			r->steps[k] = sum.steps[k];
		fill(&sum, r);
		name_call(r, abis, key.slot);
		n++;
	}
	return n;
}

static int by_whose(const void *a, const void *b)
{
	const struct sys_stats_rec *x = a, *y = b;

	return COMPARE(x->by_pid, y->by_pid) ?: memcmp(x->by_name, y->by_name, sizeof(x->by_name));
}

/* Most time first: by the total of the process, then of the call. */
static int by_time(const void *a, const void *b)
{
	const struct sys_stats_rec *x = a, *y = b;

	return COMPARE(y->all_ns, x->all_ns) ?: by_whose(x, y) ?: COMPARE(y->total_ns, x->total_ns) ?:
	       COMPARE(y->calls, x->calls);
}

/* Sets rank and total of the rows, which are grouped by process. */
static void arrange(struct sys_stats_rec *sums, size_t n)
{
	qsort(sums, n, sizeof(*sums), by_whose);
	for (size_t i = 0, end; i < n; i = end) {
		uint64_t all_ns = 0;

		for (end = i; end < n && !by_whose(&sums[i], &sums[end]); end++)
			all_ns += sums[end].total_ns;
		for (size_t k = i; k < end; k++)
			sums[k].all_ns = all_ns;
	}
	qsort(sums, n, sizeof(*sums), by_time);
	for (size_t i = 1; i < n; i++)
		sums[i].rank = by_whose(&sums[i - 1], &sums[i]) ? 0 : sums[i - 1].rank + 1;
}

int sys_stats_report(struct probe *p, struct bpf_object *obj, const unsigned *abis, unsigned n_abis, unsigned by,
		   bool sampled)
{
	int fd = bpf_object__find_map_fd_by_name(obj, "sys_stats_rows"), r = 0;
	int by_fd = by ? bpf_object__find_map_fd_by_name(obj, "sys_stats_rows_by") : -1;
	unsigned n_cpus = probe_env_n_cpus(p->env);
	size_t n = 0, most = (size_t)n_abis * SYS_NR_MAX + (by ? SYS_BY_MOST : 0);
	_cleanup_free_ struct sys_stats_cell *cpus = calloc(n_cpus, sizeof(*cpus));
	_cleanup_free_ struct sys_stats_rec *sums = calloc(most, sizeof(*sums));

	if (fd < 0 || !cpus || !sums)
		return fd < 0 ? fd : -ENOMEM;
	for (uint32_t slot = 0; slot < n_abis * SYS_NR_MAX; slot++)
		if (read_sum(fd, slot, cpus, n_cpus, &sums[n]))
			name_call(&sums[n++], abis, slot);
	if (by_fd >= 0)
		n = read_by(by_fd, abis, n_abis, sums, n);
	arrange(sums, n);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		sums[i].hdr.instance = p->instance;
		sums[i].by = by;
		sums[i].one_in = sampled ? SYS_SAMPLING_ONE_IN : 1;
		sums[i].first = sampled ? SYS_SAMPLING_AFTER : 0;
		sums[i].long_ns = sampled ? SYS_SAMPLING_LONG_TICKS * clock_tick_ns() : 0;
		r = probe_env_inject(p->env, &sums[i].hdr, sizeof(sums[i]));
	}
	return r;
}

/* ---- at intervals ---- */

#define FULL (SYS_BY_MOST / 4)	/* keys in the kernel's table: those without calls make room from here on */
#define LEAD 16u			/* a report comes 1 / LEAD of the interval early */

struct sys_stats_reports {
	struct probe *p;
	struct bpf_object *obj;		/* borrowed */
	const unsigned *abis;
	unsigned n_abis;
	uint64_t interval_ns;
	struct loop_source *timer;
	struct map reported;		/* struct sys_stats_key -> struct sys_stats_cell: as of the last report */
	VEC(struct sys_stats_rec) rows;
	VEC(struct sys_stats_key) idle;	/* keys without a call since */
	struct sys_stats_cell *cpus;	/* owned; a value per possible CPU */
	bool overflowed;		/* calls of further keys are in the rows of all */
};

/* The longest call since @was: exact if it is the longest of all, else the end of its step. */
static uint64_t max_since(const struct sys_stats_cell *was, const struct sys_stats_cell *now,
			  const struct sys_stats_rec *r)
{
	if (now->max_ns > was->max_ns)
		return now->max_ns;
	for (unsigned i = SYS_STEPS; i > 0; i--)
		if (r->steps[i - 1])
			return MIN(sys_stats_step_end(i - 1), now->max_ns);
	return 0;
}

static void subtract(const struct sys_stats_cell *was, const struct sys_stats_cell *now, struct sys_stats_rec *r)
{
	const struct sys_stats_cell since = {
		.calls = now->calls - was->calls, .errors = now->errors - was->errors, .sure = now->sure - was->sure,
		.sure_ns = now->sure_ns - was->sure_ns, .sampled = now->sampled - was->sampled,
		.sampled_ns = now->sampled_ns - was->sampled_ns, .unknown = now->unknown - was->unknown,
		.bytes = now->bytes - was->bytes,
	};

	for (unsigned i = 0; i < SYS_STEPS; i++)
		r->steps[i] = now->steps[i] - was->steps[i];	/* 32 bits, which may wrap */
	fill(&since, r);
	r->max_ns = max_since(was, now, r);
}

/* 1: the key had calls since, and has a row. 0: it had none. */
static int add_since(struct sys_stats_reports *s, const struct sys_stats_key *key, const struct sys_stats_cell *now)
{
	struct sys_stats_cell *was = map_add(&s->reported, key, NULL);
	struct sys_stats_rec *r;

	if (!was || vec_grow(&s->rows) < 0)
		return -ENOMEM;
	if (now->calls == was->calls)
		return 0;
	r = &s->rows.items[s->rows.len++];
	*r = (struct sys_stats_rec){ .hdr = { .type = SYS_REC_SUM, .tgid = key->tgid, .tid = key->tgid },
				     .by_pid = key->tgid };
	memcpy(r->by_name, key->name, sizeof(r->by_name));
	subtract(was, now, r);
	name_call(r, s->abis, key->slot);
	*was = *now;
	return 1;
}

static int read_keys(struct sys_stats_reports *s, int fd, size_t *ret_n)
{
	struct sys_stats_key key, *before = NULL;
	struct sys_stats_cell cell;
	int r = 0;

	*ret_n = 0;
	for (unsigned i = 0; r >= 0 && i < SYS_BY_MOST && bpf_map_get_next_key(fd, before, &key) == 0; i++) {
		before = &key;
		if (bpf_map_lookup_elem(fd, &key, &cell) < 0 || key.slot >= s->n_abis * SYS_NR_MAX)
			continue;
		++*ret_n;
		r = add_since(s, &key, &cell);
		if (r == 0)
			vec_push(&s->idle, key);
	}
	return r;
}

/* Calls of keys that the table has no room for, by number. */
static int read_rest(struct sys_stats_reports *s)
{
	int fd = bpf_object__find_map_fd_by_name(s->obj, "sys_stats_rows"), r = 0;
	const unsigned n_cpus = probe_env_n_cpus(s->p->env);

	for (uint32_t slot = 0; r >= 0 && slot < s->n_abis * SYS_NR_MAX; slot++) {
		const struct sys_stats_key key = { .slot = slot };
		struct sys_stats_cell sum = { 0 };
		struct sys_stats_rec steps = { 0 };

		if (bpf_map_lookup_elem(fd, &slot, s->cpus) < 0)
			continue;
		for (unsigned i = 0; i < n_cpus; i++)
			add(&sum, &s->cpus[i], &steps);
		for (unsigned i = 0; i < SYS_STEPS; i++)
			sum.steps[i] = (uint32_t)steps.steps[i];
		r = add_since(s, &key, &sum);
	}
	return r;
}

/* The last calls of a key are reported with the others: kernels before 5.14 cannot read and remove at once. */
static int make_room(struct sys_stats_reports *s, int fd)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < s->idle.len; i++) {
		const struct sys_stats_key *key = &s->idle.items[i];
		struct sys_stats_cell last;

		if (bpf_map_lookup_and_delete_elem(fd, key, &last) == 0)
			r = add_since(s, key, &last);
		else
			bpf_map_delete_elem(fd, key);
		map_remove(&s->reported, key);
	}
	return r;
}

int sys_stats_emit(struct sys_stats_reports *s)
{
	int fd = bpf_object__find_map_fd_by_name(s->obj, "sys_stats_rows_by"), r;
	size_t n;

	s->rows.len = s->idle.len = 0;
	r = read_keys(s, fd, &n);
	s->overflowed |= n + SYS_BY_MOST / 16 >= SYS_BY_MOST;
	if (r >= 0 && s->overflowed)
		r = read_rest(s);
	if (r >= 0 && n >= FULL)
		r = make_room(s, fd);
	if (s->rows.len)
		arrange(s->rows.items, s->rows.len);
	for (size_t i = 0; r >= 0 && i < s->rows.len; i++) {
		struct sys_stats_rec *row = &s->rows.items[i];

		row->hdr.instance = s->p->instance;
		row->by = SYS_BY_PROCESS;
		row->one_in = 1;
		r = probe_env_inject(s->p->env, &row->hdr, sizeof(*row));
	}
	return r < 0 ? r : 0;
}

static int on_interval(void *ctx, _unused_ uint64_t now_ns)
{
	sys_stats_emit(ctx);	/* without memory the next report has the calls */
	return 0;
}

/* Time to the next report. */
static uint64_t first_ns(uint64_t interval_ns)
{
	const uint64_t lead_ns = interval_ns / LEAD, phase_ns = (clock_boot_ns() + lead_ns) % interval_ns;

	return interval_ns - phase_ns;
}

int sys_stats_start(struct sys_stats_reports *s)
{
	int r;

	if (!s->p->loop)
		return 0;
	r = loop_add_timer(s->p->loop, first_ns(s->interval_ns), s->interval_ns, on_interval, s, &s->timer);
	if (r >= 0)
		loop_name(s->timer, "sums");
	return r < 0 ? r : 0;
}

int sys_stats_set_interval(struct sys_stats_reports *s, uint64_t interval_ns)
{
	s->interval_ns = interval_ns;
	return s->timer ? loop_set_timer(s->timer, first_ns(interval_ns), interval_ns) : 0;
}

struct sys_stats_reports *sys_stats_new(struct probe *p, struct bpf_object *obj, const unsigned *abis,
					unsigned n_abis, uint64_t interval_ns)
{
	struct sys_stats_reports *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct sys_stats_reports){ .p = p, .obj = obj, .abis = abis, .n_abis = n_abis,
					 .interval_ns = interval_ns };
	map_init(&s->reported, sizeof(struct sys_stats_key), sizeof(struct sys_stats_cell));
	s->cpus = calloc(probe_env_n_cpus(p->env), sizeof(*s->cpus));
	if (!s->cpus) {
		sys_stats_free(s);
		return NULL;
	}
	return s;
}

void sys_stats_free(struct sys_stats_reports *s)
{
	if (!s)
		return;
	loop_remove(s->timer);
	map_fini(&s->reported);
	vec_fini(&s->rows);
	vec_fini(&s->idle);
	free(s->cpus);
	free(s);
}
