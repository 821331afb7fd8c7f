// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Assembly and the path of a record. Every record takes the same way, whether it came from a ring, from a
 * file or from a probe's live half: control of the probes, raw outputs, decode, enrich, filter, bus.
 */
#include "agent/pipeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "agent/account.h"
#include "agent/output.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/vec.h"
#include "bus/bus.h"
#include "enrich/enrich.h"
#include "event/decode.h"
#include "event/names.h"
#include "ring/ring.h"
#include "source/source.h"

#define NS_PER_MS 1000000ULL
#define NS_PER_S 1000000000ULL
#define DEFAULT_LATENCY_NS (50 * NS_PER_MS)
#define TICK_NS NS_PER_S
#define DRAIN_BUDGET 16384	/* records between two looks at signals and timers */
#define REPLAY_BUDGET 4096
#define QUIET_FILL_PCT 5	/* below this a wake-up was not worth its cost: sleep to the deadline */
#define CLOCK_STEP_NS NS_PER_MS	/* tell a change of the wall clock beyond this */

struct pipeline {
	struct loop *loop;		/* borrowed */
	struct decode_set *decode;
	struct enrich *enrich;
	struct bus *bus;
	struct arena scratch;		/* what enrich adds, per event */
	VEC(struct output *) outputs;

	bool (*pass)(void *ctx, const struct event *ev);
	void *pass_ctx;

	struct probe_env *env;		/* live */
	struct probe *probes;
	size_t n_probes;
	struct source *source;		/* file */
	uint64_t replayed_ns;		/* latest time in it: its run ends there, whenever it is replayed */
	bool input_ready;		/* source has something to read */

	struct accounts accounts;
	struct pipeline_limits limits;
	uint64_t shown;			/* events that passed the filter */
	int64_t clock_offset_ns;	/* last one told */
	struct loop_source *ring_io;
	bool ring_muted;		/* ring_io sleeps until the next deadline */
	bool stopping;
	bool injecting;			/* the record at hand comes from a live half */
	int error;			/* that ended the run */

	/* Outcome of the record at hand. */
	struct { unsigned passed, refused; int error; } now;
};

/* ---- the path of a record ---- */

static int take_event(void *ctx, struct event *ev)
{
	struct pipeline *p = ctx;
	int r;

	arena_reset(&p->scratch);
	r = enrich_event(p->enrich, ev, &p->scratch);
	if (r < 0) {
		p->now.error = r;
		return 0;
	}
	if (ev->desc->class != EVENT_META) {
		if (p->pass && !p->pass(p->pass_ctx, ev)) {
			p->now.refused += ev->desc->class == EVENT_DATA;
			return 0;
		}
		if (p->limits.max_events && p->shown >= p->limits.max_events) {
			p->now.refused++;
			return 0;
		}
		p->shown++;
		p->now.passed++;
	}
	r = bus_publish(p->bus, ev);
	if (r < 0)
		p->now.error = r;
	if (p->limits.max_events && p->shown >= p->limits.max_events)
		p->stopping = true;
	return 0;
}

static bool is_core(const struct sonde_rec *r)
{
	return r->type >> 8 == 0 && r->type != SONDE_EV_PACKET;
}

/* Snapshots are state, not something that happened: no ledger counts them. */
static void count_record(struct pipeline *p, const struct sonde_rec *r, int decoded)
{
	struct account *a;

	if (is_core(r) || (r->flags & SONDE_RF_SNAPSHOT))
		return;
	a = account_of(&p->accounts, r->instance);
	if (!a)
		return;
	a->records++;
	a->injected += p->injecting;
	if (decoded < 0)
		a->lost[SONDE_LOST_DECODE]++;
	else if (p->now.error)
		a->lost[SONDE_LOST_MEMORY]++;
	else if (p->now.refused && !p->now.passed)
		a->filtered++;
	else
		a->delivered++;
}

/* A recording's own ledger is the origin of ours; it is not an event of this run. */
static bool take_recorded_ledger(struct pipeline *p, const struct sonde_rec *r)
{
	const struct sonde_ledger_rec *l = (const struct sonde_ledger_rec *)r;
	struct account *a;

	if (!p->source || r->type != SONDE_EV_LEDGER || r->len < sizeof(*l))
		return false;
	a = account_of(&p->accounts, r->instance);
	if (a) {
		a->origin = (struct sonde_ledger){
			.seen = l->seen, .delivered = l->delivered, .filtered = l->filtered, .sampled = l->sampled,
		};
		memcpy(a->origin.lost, l->lost, sizeof(l->lost));
	}
	return true;
}

static void record_outputs(struct pipeline *p, const struct sonde_rec *r)
{
	for (size_t i = 0; i < p->outputs.len; i++)
		output_record(p->outputs.items[i], r);
}

static void handle_record(struct pipeline *p, const struct sonde_rec *r, size_t len)
{
	int decoded;

	if (len < sizeof(*r) || r->len > len || r->len < sizeof(*r)) {
		struct account *a = account_of(&p->accounts, 0);

		a->records++;
		a->lost[SONDE_LOST_DECODE]++;
		return;
	}
	if (!is_core(r))
		for (size_t i = 0; i < p->n_probes; i++)
			if (p->probes[i].ops->control)
				p->probes[i].ops->control(&p->probes[i], r);
	record_outputs(p, r);
	if (take_recorded_ledger(p, r))
		return;
	p->now.passed = p->now.refused = 0;
	p->now.error = 0;
	decoded = decode_record(p->decode, r, len, take_event, p);
	count_record(p, r, decoded);
}

static int from_ring(void *ctx, const struct ring_rec *rec)
{
	struct pipeline *p = ctx;

	if (rec->data)
		handle_record(p, rec->data, rec->len);
	return 0;
}

static int from_source(void *ctx, const struct sonde_rec *r)
{
	struct pipeline *p = ctx;

	p->replayed_ns = MAX(p->replayed_ns, r->ts_ns);
	handle_record(p, r, r->len);
	return p->stopping ? -ECANCELED : 0;
}

static void on_failed_hook(void *ctx, const char *hook, const struct err *err)
{
	(void)ctx;
	log_warn("%s does not work here: %s", hook, err->msg);
}

/* May come in the middle of another record, from a probe's control(). */
static int from_probe(void *ctx, const struct sonde_rec *r)
{
	struct pipeline *p = ctx;
	bool outer = p->injecting;

	p->injecting = true;
	handle_record(p, r, r->len);
	p->injecting = outer;
	return 0;
}

/* ---- the pipeline's own records ---- */

static void own_record(struct pipeline *p, struct sonde_rec *r, uint16_t type, size_t len)
{
	r->ts_ns = clock_boot_ns();
	r->type = type;
	r->len = (uint32_t)len;
	handle_record(p, r, len);
}

static void tell_host(struct pipeline *p)
{
	struct sonde_host_rec h = { .n_cpus = probe_env_n_cpus(p->env), .page_size = (uint32_t)sysconf(_SC_PAGESIZE) };
	struct utsname u;

	if (uname(&u) == 0) {
		memcpy(h.release, u.release, MIN(sizeof(h.release) - 1, strlen(u.release)));
		memcpy(h.machine, u.machine, MIN(sizeof(h.machine) - 1, strlen(u.machine)));
		memcpy(h.hostname, u.nodename, MIN(sizeof(h.hostname) - 1, strlen(u.nodename)));
	}
	own_record(p, &h.hdr, SONDE_EV_HOST, sizeof(h));
}

static void tell_clock(struct pipeline *p)
{
	struct sonde_clock_rec c = { .offset_ns = clock_boot_offset_ns() };
	int64_t step = c.offset_ns - p->clock_offset_ns;

	if (p->clock_offset_ns && step < (int64_t)CLOCK_STEP_NS && step > -(int64_t)CLOCK_STEP_NS)
		return;
	p->clock_offset_ns = c.offset_ns;
	own_record(p, &c.hdr, SONDE_EV_CLOCK, sizeof(c));
}

/* Reads the kernel's ledger of each instance and tells in the stream what was lost since the last time. */
static void tell_losses(struct pipeline *p)
{
	for (size_t i = 0; i < p->n_probes; i++) {
		struct account *a = account_of(&p->accounts, p->probes[i].instance);

		a->from_kernel = true;
		probe_env_ledger(p->env, p->probes[i].instance, &a->origin);
		for (uint32_t cause = 0; cause < SONDE_LOST__MAX; cause++) {
			struct sonde_lost_rec l = {
				.hdr.instance = p->probes[i].instance,
				.cause = cause,
				.count = a->origin.lost[cause] - a->reported.lost[cause],
			};

			if (!l.count)
				continue;
			a->reported.lost[cause] = a->origin.lost[cause];
			own_record(p, &l.hdr, SONDE_EV_LOST, sizeof(l));
		}
	}
}

static struct sonde_ledger_rec ledger_rec(const struct pipeline *p, uint16_t instance,
					  const struct sonde_ledger *l)
{
	struct sonde_ledger_rec r = {
		.hdr = { .ts_ns = p->env ? clock_boot_ns() : p->replayed_ns, .type = SONDE_EV_LEDGER, .len = sizeof(r),
			 .instance = instance },
		.seen = l->seen, .delivered = l->delivered, .filtered = l->filtered, .sampled = l->sampled,
	};

	memcpy(r.lost, l->lost, sizeof(r.lost));
	return r;
}

/*
 * The last words of a run. A raw recording gets what reached it (a replay adds its own filters to that);
 * subscribers get the closed sums of this run.
 */
static void tell_ledger(struct pipeline *p)
{
	for (uint16_t i = 0; i < SONDE_INSTANCES; i++) {
		struct account *a = &p->accounts.of[i];
		struct sonde_ledger total;
		struct sonde_ledger_rec r;

		if (!a->used)
			continue;
		if (p->env) {
			total = a->origin;
			total.seen += a->injected;
			total.delivered = a->records;
			r = ledger_rec(p, i, &total);
			record_outputs(p, &r.hdr);
		}
		account_total(a, &total);
		r = ledger_rec(p, i, &total);
		decode_record(p->decode, &r, sizeof(r), take_event, p);
	}
}

/* ---- assembly ---- */

static void free_probes(struct pipeline *p)
{
	for (size_t i = p->n_probes; i-- > 0;) {
		p->probes[i].ops->close(&p->probes[i]);
		free(p->probes[i].state);
	}
	free(p->probes);
	p->probes = NULL;
	p->n_probes = 0;
}

void pipeline_free(struct pipeline *p)
{
	if (!p)
		return;
	loop_remove(p->ring_io);
	free_probes(p);
	probe_env_free(p->env);
	source_close(p->source);
	for (size_t i = 0; i < p->outputs.len; i++)
		output_close(p->outputs.items[i], NULL);
	vec_fini(&p->outputs);
	bus_free(p->bus);
	enrich_free(p->enrich);
	decode_set_free(p->decode);
	arena_fini(&p->scratch);
	free(p);
}
DEFINE_CLEANUP(struct pipeline *, pipeline_free)

int pipeline_new(struct loop *loop, struct pipeline **ret, struct err *err)
{
	_cleanup_(pipeline_freep) struct pipeline *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return err_errno(err, -ENOMEM, "cannot set up the pipeline");
	p->loop = loop;
	r = decode_set_new(all_decoders, &p->decode);
	if (r < 0)
		return err_errno(err, r, "cannot register the event types");
	p->enrich = enrich_new(0);
	p->bus = bus_new(decode_set_registry(p->decode));
	if (!p->enrich || !p->bus)
		return err_errno(err, -ENOMEM, "cannot set up the pipeline");
	*ret = TAKE_PTR(p);
	return 0;
}

const struct registry *pipeline_registry(const struct pipeline *p)
{
	return decode_set_registry(p->decode);
}

const struct core_host *pipeline_host(const struct pipeline *p)
{
	return decode_set_host(p->decode);
}

void pipeline_set_filter(struct pipeline *p, bool (*pass)(void *ctx, const struct event *ev), void *ctx)
{
	p->pass = pass;
	p->pass_ctx = ctx;
}

int pipeline_add_sink(struct pipeline *p, const struct sink_ops *ops, const struct sink_opts *opts,
		      const char *path, struct err *err)
{
	struct output *o;
	int r;

	if (vec_grow(&p->outputs) < 0)
		return err_errno(err, -ENOMEM, "cannot open output %s", ops->name);
	r = output_open(p->bus, ops, opts, path, &o, err);
	if (r < 0)
		return r;
	p->outputs.items[p->outputs.len++] = o;
	return 0;
}

static int open_probe(struct pipeline *p, const struct pipeline_probe *which, struct err *err)
{
	struct probe *probe = &p->probes[p->n_probes];
	int r;

	*probe = (struct probe){
		.ops = which->ops, .conf = which->conf, .env = p->env, .loop = p->loop,
		.instance = (uint16_t)p->n_probes,
	};
	if (probe->ops->state_size) {
		probe->state = calloc(1, probe->ops->state_size);
		if (!probe->state)
			return err_errno(err, -ENOMEM, "probe %s", probe->ops->name);
	}
	p->n_probes++;
	account_of(&p->accounts, probe->instance)->from_kernel = true;
	r = probe->ops->open(probe, err);
	if (r < 0)
		err_prefix(err, "probe %s", probe->ops->name);
	return r;
}

/*
 * Every probe is loaded before the first attaches, and proc attaches first: a process that is born from here
 * on has its record, one that was there before has its snapshot, and one in between has both.
 */
int pipeline_open_live(struct pipeline *p, const struct probe_env_opts *env, const struct pipeline_probe *probes,
		       size_t n_probes, struct err *err)
{
	const struct pipeline_probe proc = { .ops = probe_find("proc") };
	int r;

	if (n_probes + 1 > SONDE_INSTANCES)
		return err_set(err, -E2BIG, "at most %d probes can run at once", SONDE_INSTANCES - 1);
	r = probe_env_new(env, &p->env, err);
	if (r < 0)
		return r;
	probe_env_set_sink(p->env, from_probe, p);
	probe_env_set_complain(p->env, on_failed_hook, p);
	p->probes = calloc(n_probes + 1, sizeof(*p->probes));
	if (!p->probes)
		return err_errno(err, -ENOMEM, "cannot set up the probes");
	tell_host(p);
	tell_clock(p);
	r = open_probe(p, &proc, err);
	for (size_t i = 0; r >= 0 && i < n_probes; i++)
		r = open_probe(p, &probes[i], err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < p->n_probes; i++)
		probe_inject_name(p->env, SONDE_NAME_INSTANCE, p->probes[i].instance, p->probes[i].ops->name);
	for (size_t i = 0; i < p->n_probes; i++) {
		struct probe *probe = &p->probes[i];

		r = probe->ops->attach(probe, err);
		if (r >= 0 && probe->ops->snapshot)
			r = probe->ops->snapshot(probe, err);
		if (r < 0)
			return err_prefix(err, "probe %s", probe->ops->name);
	}
	return 0;
}

int pipeline_open_file(struct pipeline *p, const char *path, struct err *err)
{
	return source_open(path, &p->source, err);
}

/* ---- running ---- */

void pipeline_stop(struct pipeline *p)
{
	p->stopping = true;
	loop_stop(p->loop, 0);
}

/* The run ends when no output is left that takes anything. */
static void flush_outputs(struct pipeline *p)
{
	size_t failed = 0;

	for (size_t i = 0; i < p->outputs.len; i++) {
		output_flush(p->outputs.items[i]);
		failed += output_error(p->outputs.items[i]) < 0;
	}
	if (failed && failed == p->outputs.len)
		pipeline_stop(p);
}

static int drain(struct pipeline *p)
{
	int n = ring_reader_drain(probe_env_reader(p->env), DRAIN_BUDGET, from_ring, p);

	flush_outputs(p);
	if (p->stopping)
		loop_stop(p->loop, 0);
	return n;
}

/* See ring_reader_fd(): going straight back to epoll would be woken by every unread byte. */
static int on_ring(void *ctx, _unused_ int fd, _unused_ uint32_t events)
{
	struct pipeline *p = ctx;
	bool quiet = ring_reader_fill_pct(probe_env_reader(p->env)) < QUIET_FILL_PCT;
	int r = drain(p);

	if (r >= 0 && quiet && !p->ring_muted) {
		p->ring_muted = true;
		loop_set_events(p->ring_io, 0);
	}
	return r < 0 ? r : 0;
}

static int on_deadline(void *ctx, _unused_ uint64_t now_ns)
{
	struct pipeline *p = ctx;
	int r = drain(p);

	if (p->ring_muted) {
		p->ring_muted = false;
		loop_set_events(p->ring_io, EPOLLIN);
	}
	return r < 0 ? r : 0;
}

static int on_tick(void *ctx, uint64_t now_ns)
{
	struct pipeline *p = ctx;
	struct sonde_rec tick = { 0 };

	tell_clock(p);
	tell_losses(p);
	own_record(p, &tick, SONDE_EV_TICK, sizeof(tick));
	for (size_t i = 0; i < p->n_probes; i++)
		if (p->probes[i].ops->tick)
			p->probes[i].ops->tick(&p->probes[i], now_ns);
	return 0;
}

static int on_duration(void *ctx, _unused_ uint64_t now_ns)
{
	pipeline_stop(ctx);
	return 0;
}

static int run_live(struct pipeline *p, struct err *err)
{
	uint64_t latency = p->limits.latency_ns ? p->limits.latency_ns : DEFAULT_LATENCY_NS;
	struct loop_source *deadline = NULL, *tick = NULL, *duration = NULL;
	int r;

	r = loop_add_io(p->loop, ring_reader_fd(probe_env_reader(p->env)), EPOLLIN, on_ring, p, &p->ring_io);
	if (r >= 0)
		r = loop_add_timer(p->loop, latency, latency, on_deadline, p, &deadline);
	if (r >= 0)
		r = loop_add_timer(p->loop, TICK_NS, TICK_NS, on_tick, p, &tick);
	if (r >= 0 && p->limits.duration_ns)
		r = loop_add_timer(p->loop, p->limits.duration_ns, 0, on_duration, p, &duration);
	if (r >= 0)
		r = loop_run(p->loop);
	loop_remove(TAKE_PTR(p->ring_io));
	loop_remove(deadline);
	loop_remove(tick);
	loop_remove(duration);
	return r < 0 ? err_errno(err, r, "cannot read the rings") : 0;
}

/* What was written before the detach is read after it; a bound guards against a producer that never ends. */
static void finish_live(struct pipeline *p)
{
	uint64_t end_ns = clock_boot_ns() + 10 * NS_PER_S;

	for (size_t i = 0; i < p->n_probes; i++)
		if (p->probes[i].ops->detach)
			p->probes[i].ops->detach(&p->probes[i]);
	while (drain(p) > 0 && clock_boot_ns() < end_ns)
		;
	tell_losses(p);
}

static int on_input(void *ctx, _unused_ int fd, _unused_ uint32_t events)
{
	((struct pipeline *)ctx)->input_ready = true;
	return 0;
}

/* Waits in the loop, not in the source: a pipe may be silent for long, and a signal must end that. */
static int run_file(struct pipeline *p, struct err *err)
{
	struct loop_source *io = NULL;
	bool more = false;	/* the last read used up its budget */
	int r = loop_add_io(p->loop, source_fd(p->source), EPOLLIN, on_input, p, &io);

	if (r < 0)
		return err_errno(err, r, "cannot wait for input");
	while (!p->stopping) {
		p->input_ready = more;
		r = loop_once(p->loop, more ? 0 : -1);
		if (r < 0)
			break;
		if (!p->input_ready || p->stopping)
			continue;
		r = source_read(p->source, REPLAY_BUDGET, from_source, p, err);
		flush_outputs(p);
		if (r <= 0)
			break;
		more = r == REPLAY_BUDGET;
	}
	loop_remove(io);
	return r < 0 && r != -ECANCELED ? r : 0;
}

static int close_outputs(struct pipeline *p, struct err *err)
{
	int first = 0;

	for (size_t i = 0; i < p->outputs.len; i++) {
		int r = output_close(p->outputs.items[i], first ? NULL : err);

		first = first ? first : r;
	}
	p->outputs.len = 0;
	return first;
}

int pipeline_run(struct pipeline *p, const struct pipeline_limits *limits, struct err *err)
{
	struct err later = { 0 };
	int r, w;

	p->limits = *limits;
	r = p->env ? run_live(p, err) : run_file(p, err);
	if (p->env)
		finish_live(p);
	tell_ledger(p);
	w = close_outputs(p, r < 0 ? &later : err);
	return r < 0 ? r : w;
}

const char *pipeline_instance(const struct pipeline *p, uint16_t instance, struct sonde_ledger *ret)
{
	const char *name;

	if (instance >= SONDE_INSTANCES || !p->accounts.of[instance].used)
		return NULL;
	account_total(&p->accounts.of[instance], ret);
	name = names_get(decode_set_names(p->decode), SONDE_NAME_INSTANCE, instance);
	return name ? name : "file";
}

uint64_t pipeline_gap(const struct pipeline *p, uint16_t instance)
{
	return instance < SONDE_INSTANCES && p->accounts.of[instance].used ? account_gap(&p->accounts.of[instance]) : 0;
}

void pipeline_ledger(const struct pipeline *p, struct sonde_ledger *ret)
{
	*ret = (struct sonde_ledger){ 0 };
	for (uint16_t i = 0; i < SONDE_INSTANCES; i++) {
		struct sonde_ledger one;

		if (pipeline_instance(p, i, &one))
			ledger_add(ret, &one);
	}
}
