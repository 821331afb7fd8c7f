// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The live input: life of its probes (open, attach, snapshot, detach, close; all together at the start of a run, and
 * one by one in the agent) and their rings.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/process/heap.h"
#include "base/log.h"
#include "base/macros.h"
#include "loop/coop.h"
#include "loop/loop.h"
#include "pipeline/output.h"
#include "pipeline/pipeline.h"
#include "pipeline/pipeline_path.h"
#include "pipeline/pipeline_state.h"
#include "event/decode.h"
#include "probe/budget/budget.h"
#include "probe/env.h"
#include "ring/ring.h"
#include "state/state.h"
#include "state/state_event.h"
#include "worker/spawner.h"

#define READ_ROUND 512		     /* records between two checks of the clock */
#define READ_MOST_NS (5 * NS_PER_MS) /* between two checks of signals, timers and clients */
#define DRAIN_ROUND 1024	     /* records between two checks of the clock */
#define DRAIN_MOST_NS (2 * NS_PER_S) /* bound against a producer that never stops */
#define START_ROUND_MS 50	     /* between two reads of the rings */
#define QUIET_FILL_PCT 5	     /* after a wake-up below this fill level, wait for the deadline */
#define CLOSE_MOST_NS (2 * NS_PER_S) /* bound for programs that still run after the detach */
#define DEFAULT_LATENCY_NS (50 * NS_PER_MS)

/* ---- probes ---- */

static void close_probe(struct probe *probe)
{
	probe->ready = probe->running = false;
	if (probe->opened)
		probe->ops->close(probe);
	free(probe->state);
	*probe = (struct probe){ 0 };
}

void pipeline_live_free(struct pipeline *p)
{
	for (size_t i = p->n_probes; i-- > 0;)
		close_probe(&p->probes[i]);
	free(p->probes);
	p->probes = NULL;
	p->n_probes = 0;
}

/* The lowest free instance; NULL = all are taken. */
static struct probe *free_place(struct pipeline *p)
{
	for (size_t i = 0; i < p->n_probes; i++)
		if (!p->probes[i].ops)
			return &p->probes[i];
	return p->n_probes < SONDE_INSTANCES ? &p->probes[p->n_probes++] : NULL;
}

static int add_probe(struct pipeline *p, const struct pipeline_probe *which, struct probe *probe, struct err *err)
{
	*probe = (struct probe){
		.ops = which->ops,
		.conf = which->conf,
		.env = p->env,
		.loop = p->loop,
		.instance = (uint16_t)(probe - p->probes),
	};
	if (which->ops->wants_owners || p->set.tap.record) /* a later client of the agent may need them */
		probe_env_want_owners(p->env);
	if (probe->ops->state_size) {
		probe->state = calloc(1, probe->ops->state_size);
		if (!probe->state)
			return err_errno(err, -ENOMEM, "probe %s", probe->ops->name);
	}
	account_of(&p->accounts, probe->instance)->from_kernel = true;
	return 0;
}

static int open_probe(struct probe *probe, struct err *err)
{
	int r;

	probe->opened = true;
	coop_step(probe_env_coop(probe->env), "open", probe->ops->name);
	r = probe->ops->open(probe, err);
	probe->ready = r >= 0;
	return r < 0 ? err_prefix(err, "probe %s", probe->ops->name) : 0;
}

static int attach_probe(struct pipeline *p, struct probe *probe, struct err *err)
{
	int r;

	if (probe->ops->ahead && !p->since_ns)
		p->since_ns = clock_boot_ns();
	probe->attached = probe->attaching = true;
	coop_step(p->coop, "attach", probe->ops->name);
	r = probe->ops->attach(probe, err);
	probe->attaching = false;
	probe->running = r >= 0;
	return r < 0 ? err_prefix(err, "probe %s", probe->ops->name) : 0;
}

static int attach_with_snapshot(struct pipeline *p, struct probe *probe, struct err *err)
{
	int r = attach_probe(p, probe, err);

	coop_step(p->coop, "snapshot", probe->ops->name);
	if (r >= 0 && probe->ops->snapshot)
		r = probe->ops->snapshot(probe, err) < 0 ? err_prefix(err, "probe %s", probe->ops->name) : 0;
	return r;
}

/* Memory that is scarce is left to the verifier. */
static void keep_heap(const struct pipeline *p)
{
	if (p->set.own_heap && !probe_env_scarce_bytes(p->env))
		heap_keep();
}

static void let_heap_go(const struct pipeline *p)
{
	if (p->set.own_heap)
		heap_let_go();
	else
		malloc_trim(0);
}

static int open_and_attach(struct pipeline *p, struct probe *probe, struct err *err)
{
	int r = open_probe(probe, err);

	if (r < 0)
		return r;
	probe_env_inject_name(p->env, SONDE_NAME_INSTANCE, probe->instance, probe->ops->name);
	r = attach_probe(p, probe, err);
	coop_step(p->coop, "settle", NULL);
	probe_env_settle(p->env);
	return r;
}

static int start_probe(struct pipeline *p, const struct pipeline_probe *which, struct probe *probe, struct err *err)
{
	int r = add_probe(p, which, probe, err);

	if (r < 0)
		return r;
	keep_heap(p);
	r = open_and_attach(p, probe, err);
	let_heap_go(p);
	return r;
}

static int add_probes(struct pipeline *p, const struct pipeline_probe *probes, size_t n_probes, struct err *err)
{
	const struct pipeline_probe proc = { .ops = probe_find("proc") };
	int r;

	p->probes = calloc(SONDE_INSTANCES, sizeof(*p->probes));
	if (!p->probes)
		return err_errno(err, -ENOMEM, "cannot set up the probes");
	r = add_probe(p, &proc, free_place(p), err);
	for (size_t i = 0; r >= 0 && i < n_probes; i++)
		r = add_probe(p, &probes[i], free_place(p), err);
	for (size_t i = 0; i < n_probes; i++)
		p->waited |= !probes[i].ops->ahead;
	return r;
}

static int open_all(struct pipeline *p, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < p->n_probes; i++)
		if (!p->probes[i].ops->ahead)
			r = open_probe(&p->probes[i], err);
	for (size_t i = 0; r >= 0 && i < p->n_probes; i++)
		probe_env_inject_name(p->env, SONDE_NAME_INSTANCE, p->probes[i].instance, p->probes[i].ops->name);
	return r;
}

/* Those that are not marked `ahead`. */
static int attach_all(struct pipeline *p, bool with_snapshot, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < p->n_probes; i++)
		if (!p->probes[i].ops->ahead && !!p->probes[i].ops->snapshot == with_snapshot)
			r = attach_with_snapshot(p, &p->probes[i], err);
	return r;
}

/*
 * Probes marked `ahead` start first. All others are loaded before any attaches, and proc attaches first: a process
 * created from then on has a record, an older one a snapshot, one in between both. The rings may be read once all
 * snapshots are in the stream, since attaching to every interface can take long.
 */
static int start_probes(struct pipeline *p, struct err *err)
{
	int r = 0;

	keep_heap(p);
	for (size_t i = 0; r >= 0 && i < p->n_probes; i++)
		if (p->probes[i].ops->ahead) {
			r = open_probe(&p->probes[i], err);
			r = r < 0 ? r : attach_with_snapshot(p, &p->probes[i], err);
		}
	if (r >= 0)
		r = open_all(p, err);
	if (r >= 0)
		r = attach_all(p, true, err);
	p->draining = r >= 0;
	if (r >= 0)
		r = attach_all(p, false, err);
	return r;
}

/* ---- one probe of a running pipeline ---- */

static struct probe *probe_of(struct pipeline *p, uint16_t instance)
{
	return instance < p->n_probes && p->probes[instance].ops ? &p->probes[instance] : NULL;
}

void pipeline_misses(struct pipeline *p, uint16_t instance, probe_miss_fn fn, void *ctx)
{
	struct probe *probe = probe_of(p, instance);

	if (probe && probe->ready && probe->ops->misses)
		probe->ops->misses(probe, fn, ctx);
}

int pipeline_add_probe(struct pipeline *p, const struct pipeline_probe *which, const struct probe_select *select,
		       uint16_t *ret_instance, struct err *err)
{
	struct probe *probe = free_place(p);
	uint16_t instance;
	int r = 0;

	if (!probe)
		return err_set(err, -ENOSPC, "%d probes run already, the maximum", SONDE_INSTANCES);
	instance = (uint16_t)(probe - p->probes);
	if (select)
		r = probe_env_set_select(p->env, instance, select, err);
	if (r >= 0)
		r = start_probe(p, which, probe, err);
	if (r < 0) {
		pipeline_remove_probe(p, instance);
		return r;
	}
	*ret_instance = instance;
	return 0;
}

static struct probe *probe_called(struct pipeline *p, const char *name)
{
	return FIND_ITEM(it, p->probes, p->n_probes, it->ops && !strcmp(it->ops->name, name));
}

int pipeline_call(struct pipeline *p, const char *probe, uint16_t instance, const char *verb,
		  const struct opt_strv *args, struct err *err)
{
	struct probe *to = probe ? probe_called(p, probe) : probe_of(p, instance);

	if (!to || !to->running)
		return err_set(err, -ENOENT, "no such probe runs");
	if (!to->ops->call)
		return err_set(err, -ENOTSUP, "probe %s has no verbs", to->ops->name);
	return to->ops->call(to, verb, args, err);
}

static void wait_for_programs(struct pipeline *p)
{
	bool left = coop_leave(p->coop);

	probe_env_wait_for_programs();
	coop_return(p->coop, left);
}

void pipeline_quiet_probe(struct pipeline *p, uint16_t instance)
{
	struct probe *probe = probe_of(p, instance);

	if (!probe)
		return;
	probe->running = false;
	coop_step(p->coop, "detach", probe->ops->name);
	if (probe->ops->detach)
		probe->ops->detach(probe);
	wait_for_programs(p);
	coop_step(p->coop, "drain", NULL);
	pipeline_drain(p);
	coop_step(p->coop, "finish", probe->ops->name);
	if (probe->ops->finish)
		probe->ops->finish(probe);
	pipeline_path_emit_losses(p);
}

void pipeline_remove_probe(struct pipeline *p, uint16_t instance)
{
	if (instance >= p->n_probes)
		return;
	coop_step(p->coop, "close", p->probes[instance].ops ? p->probes[instance].ops->name : NULL);
	close_probe(&p->probes[instance]);
	p->accounts.of[instance] = (struct account){ 0 };
	failed_hooks_forget(&p->failed, 1ull << instance);
	probe_env_forget(p->env, instance);
}

static int tell_known(void *ctx, const struct event *ev)
{
	struct probe *probe = ctx;

	return probe->ops->snapshot_known(probe, ev);
}

static int snapshot_of(struct pipeline *p, struct probe *probe, struct err *err)
{
	const uint64_t now_ns = clock_boot_ns();
	int r;

	coop_step(p->coop, "snapshot", probe->ops->name);
	r = probe->ops->snapshot(probe, err);
	if (r < 0 || !probe->ops->snapshot_known)
		return r;
	r = state_event_known(p->state, decode_set_names(p->decode), now_ns - MIN(now_ns, STATE_KEEP_NS), tell_known,
			      probe);
	return r < 0 ? err_errno(err, r, "cannot show the processes that ended lately") : 0;
}

int pipeline_snapshot(struct pipeline *p, uint32_t mask, struct err *err)
{
	int r = 0;

	for (uint16_t i = 0; r >= 0 && i < SONDE_INSTANCES; i++) {
		struct probe *probe = mask & 1u << i ? probe_of(p, i) : NULL;

		if (probe && probe->running && probe->ops->snapshot)
			r = snapshot_of(p, probe, err);
	}
	return r;
}

void pipeline_status(struct pipeline *p, uint16_t instance, struct buf *out)
{
	const struct probe *probe = probe_of(p, instance);

	if (probe && probe->ready && probe->ops->status)
		probe->ops->status(probe, out);
}

/* ---- rings ---- */

void pipeline_drain(struct pipeline *p)
{
	uint64_t end_ns = clock_boot_ns() + DRAIN_MOST_NS;

	while (ring_reader_drain(probe_env_reader(p->env), DRAIN_ROUND, pipeline_path_from_ring, p) > 0 &&
	       clock_boot_ns() < end_ns)
		coop_yield(p->coop);
}

/* Reads up to one budget of records. Their number, or -errno. */
static int read_rings(struct pipeline *p)
{
	uint64_t end_ns = clock_boot_ns() + READ_MOST_NS;
	int n = 0, r;

	do {
		r = ring_reader_drain(probe_env_reader(p->env), READ_ROUND, pipeline_path_from_ring, p);
		n += MAX(r, 0);
	} while (r == READ_ROUND && clock_boot_ns() < end_ns);
	pipeline_path_release_late(p);
	return r < 0 ? r : n;
}

/* Reads what programs wrote until the detach; bounded against a producer that never stops. */
static void drain_rest(struct pipeline *p)
{
	uint64_t end_ns = clock_boot_ns() + 10 * NS_PER_S;
	int n;

	probe_env_wait_for_programs();
	do {
		n = read_rings(p);
		pipeline_run_flush(p);
	} while (n > 0 && clock_boot_ns() < end_ns);
}

/*
 * A program may still run for a moment after the detach. A reader of our entries in /proc/PID/fd holds its
 * descriptor, and so does a child we forked until it closes them; at the exit of a system call a task may be
 * preempted between looking up the programs and running them (since 6.13). Their records are read, or the ledger
 * would not close.
 */
static void close_ledger(struct pipeline *p)
{
	uint64_t end_ns = clock_boot_ns() + CLOSE_MOST_NS;
	bool open = true;

	while (open) {
		pipeline_path_emit_losses(p);
		open = false;
		for (uint16_t i = 0; i < p->n_probes; i++)
			open |= p->accounts.of[i].used && account_gap(&p->accounts.of[i]) > 0;
		open &= clock_boot_ns() < end_ns;
		if (open)
			drain_rest(p);
	}
}

/* ---- outputs in parts: a store's segments ---- */

static int to_part(void *ctx, const struct sonde_rec *r)
{
	const struct pipeline *p = ctx;

	output_record(p->part, r);
	return 0;
}

/*
 * A part ends with its names and ledgers, the next one begins with the state that its records need. The snapshot of
 * the host goes to this output only: everything else in the process knows the state already. Records of the rings
 * that come meanwhile go to all outputs.
 */
static void begin_part(struct pipeline *p, struct output *o)
{
	struct err err = { 0 };

	p->part = o;
	output_part(o, SINK_PART_NAMES);
	pipeline_path_emit_symbols(p);
	pipeline_path_record_ledger(p, clock_boot_ns());
	output_part(o, SINK_PART_STATE);
	if (pipeline_path_tell_state(p, to_part, p) < 0 || pipeline_snapshot(p, ~0u, &err) < 0)
		log_warn("the next segment lacks state from before it: %s", err.msg[0] ? err.msg : "out of memory");
	output_part(o, SINK_PART_STREAM);
	p->part = NULL;
}

static void live_pause(struct pipeline *p)
{
	if (p->part || p->stopping)
		return;
	for (size_t i = 0; i < p->outputs.len; i++)
		if (output_part_is_due(p->outputs.items[i]))
			begin_part(p, p->outputs.items[i]);
}

/* ---- the input ---- */

static int live_begin(struct pipeline *p, _unused_ struct err *err)
{
	p->flush_ns = p->set.limits.latency_ns ? p->set.limits.latency_ns : DEFAULT_LATENCY_NS;
	return p->budget ? budget_start(p->budget, p->probes, p->n_probes) : 0;
}

static int live_fd(const struct pipeline *p)
{
	return ring_reader_fd(probe_env_reader(p->env));
}

static bool live_quiet(const struct pipeline *p)
{
	return ring_reader_fill_pct(probe_env_reader(p->env)) < QUIET_FILL_PCT;
}

static int live_read(struct pipeline *p, _unused_ struct err *err)
{
	return MIN(read_rings(p), 0);
}

static void live_tick(struct pipeline *p, uint64_t now_ns)
{
	for (struct probe *probe = p->probes; probe < p->probes + p->n_probes; probe++) {
		if (!probe->running || !probe->ops->tick)
			continue;
		loop_step(p->loop, "tick", probe->ops->name);
		probe->ops->tick(probe, now_ns);
	}
	loop_step(p->loop, "clients", NULL);
	if (p->set.tap.tick)
		p->set.tap.tick(p->set.tap.ctx, now_ns);
}

/* proc last: packets, samples and calls have processes as long as others see them. */
static int live_finish(struct pipeline *p, _unused_ struct err *err)
{
	coop_stop(p->coop);
	for (size_t i = p->n_probes; i-- > 0;)
		if (p->probes[i].attached && p->probes[i].ops->detach)
			p->probes[i].ops->detach(&p->probes[i]);
	drain_rest(p);
	for (size_t i = 0; i < p->n_probes; i++)
		if (p->probes[i].running && p->probes[i].ops->finish)
			p->probes[i].ops->finish(&p->probes[i]);
	close_ledger(p);
	return 0;
}

static const struct input_ops live_input = {
	.failure = "cannot read the rings", .timed = true, .begin = live_begin, .fd = live_fd, .quiet = live_quiet,
	.read = live_read, .pause = live_pause, .tick = live_tick, .finish = live_finish,
};

/* ---- the start ---- */

struct start {
	struct pipeline *p;
	struct err *err;
	int result;
};

static void run_start(void *ctx)
{
	struct start *s = ctx;

	s->result = start_probes(s->p, s->err);
}

/*
 * The loop runs while the job does. Until the rings may be read, life-cycle records wait beside them. A stop
 * cancels the job, which is not an error.
 */
static int start_aside(struct pipeline *p, struct err *err)
{
	struct start s = { .p = p, .err = err };
	struct coop_job job = { .name = "start", .run = run_start, .ctx = &s };
	int r = 0;

	coop_submit(p->coop, &job);
	while (r >= 0 && job.state != COOP_IDLE && !p->stopping) {
		r = loop_once(p->loop, START_ROUND_MS);
		if (r >= 0 && p->draining)
			r = pipeline_run_read(p);
		else
			ring_reader_stash(probe_env_reader(p->env));
	}
	if (job.state != COOP_IDLE)
		coop_stop(p->coop);
	if (p->stopping)
		return 0;
	return r < 0 ? err_errno(err, r, "cannot wait for the probes") : s.result;
}

/* The cost of the start, which takes a second more for its tables, is not measured. */
static int limit_cpu(struct pipeline *p, unsigned permille, struct err *err)
{
	const struct budget_opts o = {
		.env = p->env, .loop = p->loop, .permille = permille, .settle_ns = NS_PER_S,
	};

	return permille ? budget_new(&o, &p->budget, err) : 0;
}

static void on_failed_hook(void *ctx, unsigned instance, const char *hook, const struct err *err)
{
	pipeline_run_hook_fails(ctx, 1ull << instance, hook, err->msg);
}

static void on_note(const char *text)
{
	log_info("sonde: %s", text);
}

static void catch_up(void *ctx)
{
	pipeline_drain(ctx);
}

int pipeline_open_live(struct pipeline *p, const struct probe_env_opts *env, const struct pipeline_probe *probes,
		       size_t n_probes, struct err *err)
{
	struct probe_env_opts o = *env;
	int r;

	if (n_probes + 1 > SONDE_INSTANCES)
		return err_set(err, -E2BIG, "at most %d probes can run at once", SONDE_INSTANCES - 1);
	spawner_start(NULL);	/* while this process is small; without it workers are forked from this one */
	o.spawner = (uint32_t)spawner_pid();
	r = probe_env_new(&o, &p->env, err);
	if (r < 0)
		return r;
	p->input = &live_input;
	probe_env_set_coop(p->env, p->coop);
	probe_env_set_sink(p->env, pipeline_path_from_probe, catch_up, p);
	probe_env_set_complain(p->env, on_failed_hook, p);
	probe_env_set_note(p->env, on_note);
	r = limit_cpu(p, env->max_cpu_permille, err);
	if (r >= 0)
		r = add_probes(p, probes, n_probes, err);
	if (r < 0)
		return r;
	pipeline_path_emit_host(p);
	pipeline_path_emit_clock(p);
	r = start_aside(p, err);
	if (r >= 0)
		probe_env_settle(p->env);
	let_heap_go(p);
	return r < 0 ? r : 0;
}
