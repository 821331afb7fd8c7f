// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Assembly of a pipeline, and its accessors.
 */
#include "pipeline/pipeline.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "pipeline/output.h"
#include "pipeline/pipeline_names.h"
#include "pipeline/pipeline_path.h"
#include "pipeline/pipeline_probes.h"
#include "pipeline/pipeline_rings.h"
#include "pipeline/pipeline_state.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "loop/coop.h"
#include "base/err.h"
#include "base/log.h"
#include "base/units.h"
#include "loop/loop.h"
#include "enrich/enrich.h"
#include "enrich/pids.h"
#include "event/decode.h"
#include "event/names.h"
#include "ipc/client.h"
#include "probe/budget/budget.h"
#include "probe/env.h"
#include "ring/ring.h"
#include "scap/state/state.h"
#include "source/source.h"
#include "stack/functions.h"
#include "state/state.h"
#include "state/state_task.h"
#include "sym/sym.h"
#include "worker/opener.h"
#include "worker/spawner.h"

#define START_ROUND_MS 50	/* between two reads of the rings */

void pipeline_free(struct pipeline *p)
{
	if (!p)
		return;
	coop_stop(p->coop);
	loop_remove(p->ring_io);
	budget_free(p->budget);
	pipeline_probes_free(p);
	coop_free(p->coop);
	probe_env_free(p->env);
	source_close(p->source);
	source_close(p->names_source);
	for (size_t i = 0; i < p->outputs.len; i++)
		output_close(p->outputs.items[i], NULL);
	vec_fini(&p->outputs);
	stack_functions_free(p->functions);
	sym_free(p->sym);
	pipeline_hold_fini(&p->hold);
	enrich_free(p->enrich);
	state_free(p->state);
	scap_state_free(p->scap);
	decode_set_free(p->decode);
	opener_free(p->opener);
	failed_hooks_fini(&p->failed);
	spawner_stop();
	if (p->served_folder)
		close(p->served_folder);
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
	p->state = state_new(0);
	pipeline_path_init(p);
	p->enrich = p->state ? enrich_new(p->state) : NULL;
	p->scap = scap_state_new();
	if (!p->enrich || !p->scap)
		return err_errno(err, -ENOMEM, "cannot set up the pipeline");
	scap_state_set_engine(p->scap, p->state);
	*ret = TAKE_PTR(p);
	return 0;
}

const struct registry *pipeline_registry(const struct pipeline *p)
{
	return decode_set_registry(p->decode);
}

struct bus *pipeline_bus(struct pipeline *p)
{
	return &p->bus;
}

struct scap_state *pipeline_scap(struct pipeline *p)
{
	return p->scap;
}

const struct state *pipeline_state(const struct pipeline *p)
{
	return p->state;
}

bool pipeline_owner(struct pipeline *p, uint32_t tgid, uint64_t start_ns, uint64_t ts_ns, uint32_t *ret_uid)
{
	return state_task_user(p->state, tgid, start_ns, ts_ns, ret_uid);
}

const struct decode_set *pipeline_decoders(const struct pipeline *p)
{
	return p->decode;
}

const struct core_host *pipeline_host(const struct pipeline *p)
{
	return decode_set_host(p->decode);
}

void pipeline_set_filter(struct pipeline *p, bool (*pass)(void *ctx, const struct event *ev), void *ctx,
			 bool all_data)
{
	p->selects = !all_data;
	p->pass = pass;
	p->pass_ctx = ctx;
}

void pipeline_set_reveal(struct pipeline *p, unsigned what)
{
	decode_set_reveal(p->decode, what);
}

void pipeline_set_recorded(struct pipeline *p, bool (*selected)(void *ctx, const struct sonde_rec *r), void *ctx)
{
	p->recorded = selected;
	p->recorded_ctx = ctx;
}

int pipeline_add_sym(struct pipeline *p, const struct sym_opts *o, struct err *err)
{
	int r = sym_new(o, &p->sym, err);

	if (r >= 0 && stack_functions_new(p->sym, &p->functions) < 0)
		r = err_errno(err, -ENOMEM, "cannot set up the symbolizer");
	return r;
}

void pipeline_set_names_first(struct pipeline *p, bool names_first)
{
	p->names_first = names_first;
}

struct sym *pipeline_sym(const struct pipeline *p)
{
	return p->sym;
}

int pipeline_add_sink(struct pipeline *p, const struct sink_ops *ops, const struct sink_opts *opts,
		      const char *path, struct err *err)
{
	struct output *o;
	int r;

	if (vec_grow(&p->outputs) < 0)
		return err_errno(err, -ENOMEM, "cannot open output %s", ops->name);
	r = output_open(&p->bus, ops, opts, path, &o, err);
	if (r < 0)
		return r;
	p->outputs.items[p->outputs.len++] = o;
	p->needs |= ops->needs;
	p->records |= ops->record != NULL;
	p->collects |= p->sym && ops->flags & SINK_RAW;
	return 0;
}

void pipeline_need(struct pipeline *p, uint32_t sections)
{
	p->needs |= sections;
}

uint32_t pipeline_needs(const struct pipeline *p)
{
	return p->needs;
}

static void hook_fails(struct pipeline *p, uint64_t of, const char *hook, const char *why)
{
	const uint64_t was = failed_hooks_add(&p->failed, of, hook, why);

	if (!was && !p->agent_says)
		log_warn("%s does not work here: %s", hook, why);
	if (of & ~was && p->tap.failed)
		p->tap.failed(p->tap.ctx, of, hook, why);
}

static void on_failed_hook(void *ctx, unsigned instance, const char *hook, const struct err *err)
{
	hook_fails(ctx, 1ull << instance, hook, err->msg);
}

bool pipeline_hook_failed(const struct pipeline *p, const char *hook)
{
	return failed_hooks_has(&p->failed, hook);
}

void pipeline_failed_hooks(const struct pipeline *p, uint64_t of,
			   void (*fn)(void *ctx, const char *hook, const char *why), void *ctx)
{
	for (size_t i = 0; i < p->failed.all.len; i++)
		if (p->failed.all.items[i].of & of)
			fn(ctx, p->failed.all.items[i].hook, p->failed.all.items[i].why);
}

static void on_note(const char *text)
{
	log_info("sonde: %s", text);
}

static void catch_up(void *ctx)
{
	pipeline_drain(ctx);
}

int pipeline_use_thread(struct pipeline *p, void (*guard)(void *ctx, bool raised), void *ctx, struct err *err)
{
	int r = coop_new(p->loop, &p->coop);

	if (r < 0)
		return err_errno(err, r, "cannot start a thread");
	coop_set_guard(p->coop, guard, ctx);
	if (p->env)
		probe_env_set_coop(p->env, p->coop);
	return 0;
}

struct coop *pipeline_coop(const struct pipeline *p)
{
	return p->coop;
}

void pipeline_set_own_heap(struct pipeline *p)
{
	p->own_heap = true;
}

void pipeline_set_limits(struct pipeline *p, const struct pipeline_limits *limits)
{
	p->limits = *limits;
}

struct start {
	struct pipeline *p;
	struct err *err;
	int result;
};

static void run_start(void *ctx)
{
	struct start *s = ctx;

	s->result = pipeline_probes_start(s->p, s->err);
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
			r = pipeline_rings_read(p);
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
		.env = p->env,
		.loop = p->loop,
		.permille = permille,
		.settle_ns = NS_PER_S,
	};

	return permille ? budget_new(&o, &p->budget, err) : 0;
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
	probe_env_set_coop(p->env, p->coop);
	probe_env_set_sink(p->env, pipeline_path_from_probe, catch_up, p);
	probe_env_set_complain(p->env, on_failed_hook, p);
	probe_env_set_note(p->env, on_note);
	r = limit_cpu(p, env->max_cpu_permille, err);
	if (r >= 0)
		r = pipeline_probes_add(p, probes, n_probes, err);
	if (r < 0)
		return r;
	pipeline_path_emit_host(p);
	pipeline_path_emit_clock(p);
	r = start_aside(p, err);
	if (r >= 0)
		probe_env_settle(p->env);
	pipeline_probes_let_heap_go(p);
	return r < 0 ? r : 0;
}

static int on_answer(_unused_ void *ctx, _unused_ int fd, _unused_ uint32_t events)
{
	return 0;
}

/*
 * Waits until the input's format is known, so that an unknown one fails before the run. Waits in the loop, where a
 * signal ends it.
 */
static int await_format(struct pipeline *p, struct err *err)
{
	uint64_t end_ns = clock_boot_ns() + SOURCE_FORMAT_MS * NS_PER_MS;
	struct loop_source *answer = NULL;
	int r = loop_add_io(p->loop, source_fd(p->source), EPOLLIN, on_answer, p, &answer);

	if (r < 0)
		return err_errno(err, r, "cannot wait for input");
	r = source_await_format(p->source, 0, err);
	while (r == -ETIMEDOUT && !p->stopping && clock_boot_ns() < end_ns) {
		loop_once(p->loop, START_ROUND_MS);
		r = source_await_format(p->source, 0, err);
	}
	loop_remove(answer);
	return p->stopping ? 0 : r;
}

int pipeline_open_file(struct pipeline *p, const char *path, struct err *err)
{
	int r = source_open_query(path, p->query, &p->source, err);

	if (r >= 0)
		r = await_format(p, err);
	return r < 0 ? r : pipeline_names_open(p, path, err);
}

int pipeline_read_permille(const struct pipeline *p)
{
	return p->source ? source_read_permille(p->source) : -1;
}

void pipeline_set_query(struct pipeline *p, const struct store_query *query)
{
	p->query = query;
}

void pipeline_set_follows(struct pipeline *p, bool follows)
{
	p->follows = follows;
}

void pipeline_open_source(struct pipeline *p, struct source *source)
{
	p->source = source;
}

void pipeline_take_failed(struct pipeline *p, const struct proto_frame *f)
{
	const char *hook = proto_fixed(f, NULL, 0) ? proto_word(f, 0, NULL) : NULL, *why;

	for (; hook; hook = why ? proto_word(f, 0, why) : NULL) {
		why = proto_word(f, 0, hook);
		if (why)
			hook_fails(p, 1, hook, why);
	}
}

void pipeline_open_agent(struct pipeline *p, struct client *c, bool says)
{
	const struct proto_frame failed = client_failed_hooks(c);

	p->client = c;
	p->agent_says = says;
	pipeline_take_failed(p, &failed);
	/* the agent's pids are those of the initial pid namespace */
	if (pids_are_initial())
		p->own = (uint32_t)getpid();
}

const char *pipeline_instance(const struct pipeline *p, uint16_t instance, struct sonde_ledger *ret)
{
	const char *name;

	if (instance >= SONDE_INSTANCES || !p->accounts.of[instance].used)
		return NULL;
	account_total(&p->accounts.of[instance], ret);
	name = event_names_get(decode_set_names(p->decode), SONDE_NAME_INSTANCE, instance);
	return name ? name : "file";
}

uint64_t pipeline_gap(const struct pipeline *p, uint16_t instance)
{
	const struct account *a = instance < SONDE_INSTANCES ? &p->accounts.of[instance] : NULL;

	return a && a->used ? account_gap(a) : 0;
}

int pipeline_kernel_ledger(struct pipeline *p, uint16_t instance, struct sonde_ledger *ret)
{
	const struct account *a = account_of(&p->accounts, instance);

	if (!a)
		return -ERANGE;
	account_kernel(a, ret);
	return 0;
}

void pipeline_set_tap(struct pipeline *p, const struct pipeline_tap *tap)
{
	p->tap = *tap;
}

struct probe_env *pipeline_env(const struct pipeline *p)
{
	return p->env;
}

void pipeline_refresh(struct pipeline *p)
{
	if (p->env)
		pipeline_path_emit_losses(p);
}

uint64_t pipeline_refused(const struct pipeline *p)
{
	return p->refused;
}

uint64_t pipeline_shown(const struct pipeline *p)
{
	return p->shown;
}

void pipeline_ledger(const struct pipeline *p, struct sonde_ledger *ret)
{
	*ret = (struct sonde_ledger){ 0 };
	for (uint16_t i = 0; i < SONDE_INSTANCES; i++) {
		struct sonde_ledger one;

		if (pipeline_instance(p, i, &one))
			account_add(ret, &one);
	}
}
