// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the agent asks of a live pipeline beyond a run: instances that come and go, and the state that a client
 * which comes late has missed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/pipeline_impl.h"
#include "base/clock.h"
#include "loop/coop.h"
#include "base/err.h"
#include "event/decode.h"
#include "event/names.h"
#include "probe/env.h"
#include "ring/ring.h"

#define DRAIN_ROUND 1024		/* records between two looks at the clock */
#define QUIET_MOST_NS (2 * NS_PER_S)	/* a producer that never ends must not keep the agent */

void pipeline_set_tap(struct pipeline *p, const struct pipeline_tap *tap)
{
	p->tap = *tap;
}

struct probe_env *pipeline_env(const struct pipeline *p)
{
	return p->env;
}

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
	struct probe *probe = pipeline_free_place(p);
	uint16_t instance;
	int r = 0;

	if (!probe)
		return err_set(err, -ENOSPC, "%d probes run already, more are not possible", SONDE_INSTANCES);
	instance = (uint16_t)(probe - p->probes);
	if (select)
		r = probe_env_set_select(p->env, instance, select, err);
	if (r >= 0)
		r = pipeline_start_probe(p, which, probe, err);
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
		return err_set(err, -ENOENT, "no such probe runs here");
	if (!to->ops->call)
		return err_set(err, -ENOTSUP, "probe %s does nothing on request", to->ops->name);
	return to->ops->call(to, verb, args, err);
}

void pipeline_drain(struct pipeline *p)
{
	uint64_t end_ns = clock_boot_ns() + QUIET_MOST_NS;

	while (ring_reader_drain(probe_env_reader(p->env), DRAIN_ROUND, pipeline_path_from_ring, p) > 0 &&
	       clock_boot_ns() < end_ns)
		coop_yield(p->coop);
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
	pipeline_path_tell_losses(p);
}

void pipeline_remove_probe(struct pipeline *p, uint16_t instance)
{
	if (instance >= p->n_probes)
		return;
	coop_step(p->coop, "close", p->probes[instance].ops ? p->probes[instance].ops->name : NULL);
	pipeline_close_probe(&p->probes[instance]);
	p->accounts.of[instance] = (struct account){ 0 };
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

int pipeline_kernel_ledger(struct pipeline *p, uint16_t instance, struct sonde_ledger *ret)
{
	const struct account *a = account_of(&p->accounts, instance);

	if (!a)
		return -ERANGE;
	account_kernel(a, ret);
	return 0;
}

void pipeline_status(struct pipeline *p, uint16_t instance, struct buf *out)
{
	const struct probe *probe = probe_of(p, instance);

	if (probe && probe->ready && probe->ops->status)
		probe->ops->status(probe, out);
}

/* ---- state for who comes late ---- */

struct teller {
	int (*fn)(void *ctx, const struct sonde_rec *r);
	void *ctx;
	uint64_t now_ns;
};

static int tell_name(void *ctx, uint32_t space, uint64_t key, const char *name)
{
	const struct teller *t = ctx;
	size_t len = strlen(name), size = sizeof(struct sonde_name_rec) + len;
	struct sonde_name_rec *r = calloc(1, size);
	int ret;

	if (!r)
		return -ENOMEM;
	r->hdr = (struct sonde_rec){ .ts_ns = t->now_ns, .type = SONDE_EV_NAME, .len = (uint32_t)size };
	r->space = space;
	r->key = key;
	r->name_len = (uint32_t)len;
	memcpy(r->name, name, len);
	ret = t->fn(t->ctx, &r->hdr);
	free(r);
	return ret;
}

int pipeline_tell_state(struct pipeline *p, int (*fn)(void *ctx, const struct sonde_rec *r), void *ctx)
{
	const struct teller t = { .fn = fn, .ctx = ctx, .now_ns = clock_boot_ns() };
	struct sonde_host_rec h;
	struct sonde_clock_rec c;
	int r;

	pipeline_path_host_rec(p, &h);
	pipeline_path_clock_rec(p, &c);
	r = fn(ctx, &h.hdr);
	if (r >= 0)
		r = fn(ctx, &c.hdr);
	return r < 0 ? r : event_names_walk(decode_set_names(p->decode), tell_name, (void *)&t);
}
