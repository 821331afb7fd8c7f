// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Life of live probes: open, attach, snapshot, detach, close; all together at the start of a run, and one by one in
 * the agent.
 */
#include "pipeline/pipeline_probes.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/heap.h"
#include "loop/coop.h"
#include "pipeline/pipeline_path.h"
#include "pipeline/pipeline_state.h"
#include "probe/env.h"

static void close_probe(struct probe *probe)
{
	probe->ready = probe->running = false;
	if (probe->opened)
		probe->ops->close(probe);
	free(probe->state);
	*probe = (struct probe){ 0 };
}

void pipeline_probes_free(struct pipeline *p)
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
	if (which->ops->wants_owners || p->tap.record) /* a later client of the agent may need them */
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
	if (p->own_heap && !probe_env_scarce_bytes(p->env))
		heap_keep();
}

void pipeline_probes_let_heap_go(const struct pipeline *p)
{
	if (p->own_heap)
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
	pipeline_probes_let_heap_go(p);
	return r;
}

int pipeline_probes_add(struct pipeline *p, const struct pipeline_probe *probes, size_t n_probes, struct err *err)
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
int pipeline_probes_start(struct pipeline *p, struct err *err)
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
	for (size_t i = 0; i < p->n_probes; i++)
		if (p->probes[i].ops && !strcmp(p->probes[i].ops->name, name))
			return &p->probes[i];
	return NULL;
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

int pipeline_snapshot(struct pipeline *p, uint32_t mask, struct err *err)
{
	int r = 0;

	for (uint16_t i = 0; r >= 0 && i < SONDE_INSTANCES; i++) {
		struct probe *probe = mask & 1u << i ? probe_of(p, i) : NULL;

		if (!probe || !probe->running || !probe->ops->snapshot)
			continue;
		coop_step(p->coop, "snapshot", probe->ops->name);
		r = probe->ops->snapshot(probe, err);
	}
	return r;
}

void pipeline_status(struct pipeline *p, uint16_t instance, struct buf *out)
{
	const struct probe *probe = probe_of(p, instance);

	if (probe && probe->ready && probe->ops->status)
		probe->ops->status(probe, out);
}
