// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/proc/proc_container.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/macros.h"
#include "base/vec.h"
#include "container/container.h"
#include "container/container_find.h"
#include "loop/coop.h"
#include "probe/env.h"
#include "sonde/wire.h"

#define PENDING_MAX 4096u	/* cgroups that wait for their names; further ones have none */
#define RETRY_NS (10 * NS_PER_S)
#define TRIES 3u

/* A cgroup without names so far. */
struct pending {
	uint64_t cgroup_id, due_ns;
	unsigned tries;
	char id[CONTAINER_ID_MAX], pod_uid[CONTAINER_POD_UID_MAX];
};

struct proc_containers {
	struct probe_env *env;
	struct coop_job job;
	int root_fd;
	VEC(struct pending) pending;
};

static void emit(struct proc_containers *c, const struct pending *p, const struct container_said *s)
{
	const struct { uint32_t space; const char *name; } names[] = {
		{ SONDE_NAME_CONTAINER_IMAGE, s->image }, { SONDE_NAME_POD, s->pod },
		{ SONDE_NAME_POD_NAMESPACE, s->pod_namespace }, { SONDE_NAME_CONTAINER, s->name },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (*names[i].name)
			probe_env_inject_name(c->env, names[i].space, p->cgroup_id, names[i].name);
}

static void add(struct proc_containers *c, const struct pending *p)
{
	if (c->pending.len < PENDING_MAX)
		vec_push(&c->pending, *p);
}

/* Removes the entry that has been due longest at @now_ns: events wait for it. */
static bool take_due(struct proc_containers *c, uint64_t now_ns, struct pending *ret)
{
	struct pending *first = c->pending.items;

	for (size_t i = 1; i < c->pending.len; i++)
		if (c->pending.items[i].due_ns < first->due_ns)
			first = &c->pending.items[i];
	if (!c->pending.len || first->due_ns > now_ns)
		return false;
	*ret = *first;
	*first = c->pending.items[--c->pending.len];
	return true;
}

/* The loop runs while the files are read, and may add to the list. */
static void run_job(void *ctx)
{
	struct proc_containers *c = ctx;
	struct coop *coop = probe_env_coop(c->env);
	struct container_said said;
	struct pending p;

	while (!coop_cancelled(coop) && take_due(c, clock_boot_ns(), &p)) {
		bool left = coop_leave(coop);
		int engine = container_find(c->root_fd, p.id, &said);

		if (coop_return(coop, left) < 0)
			return;
		if (engine != CONTAINER_ENGINE_NONE) {
			emit(c, &p, &said);
			continue;
		}
		probe_env_inject_name(c->env, SONDE_NAME_CONTAINER, p.cgroup_id, ""); /* events wait no longer */
		if (++p.tries < TRIES) {
			p.due_ns = clock_boot_ns() + RETRY_NS;
			add(c, &p);
		}
	}
}

static void submit(struct proc_containers *c)
{
	if (c->job.state == COOP_IDLE)
		coop_submit(probe_env_coop(c->env), &c->job);
}

void proc_container_note(struct proc_containers *c, uint64_t cgroup_id, const char *path)
{
	struct pending p = { .cgroup_id = cgroup_id, .due_ns = clock_boot_ns() };

	if (!c || !container_from_cgroup(path, p.id))
		return;
	if (container_pod_of_cgroup(path, p.pod_uid))
		probe_env_inject_name(c->env, SONDE_NAME_POD_UID, cgroup_id, p.pod_uid);
	add(c, &p);
	submit(c);
}

void proc_container_tick(struct proc_containers *c, uint64_t now_ns)
{
	bool due = false;

	for (size_t i = 0; c && i < c->pending.len; i++)
		due = due || c->pending.items[i].due_ns <= now_ns;
	if (due)
		submit(c);
}

struct proc_containers *proc_container_new(struct probe_env *env)
{
	struct proc_containers *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->env = env;
	c->job = (struct coop_job){ .name = "containers", .run = run_job, .ctx = c };
	c->root_fd = container_find_root(probe_env_host_root(env));
	if (c->root_fd >= 0)
		return c;
	free(c);
	return NULL;
}

void proc_container_stop(struct proc_containers *c)
{
	if (c && c->job.state != COOP_IDLE)
		coop_withdraw(probe_env_coop(c->env), &c->job);
}

void proc_container_free(struct proc_containers *c)
{
	if (!c)
		return;
	close(c->root_fd);
	vec_fini(&c->pending);
	free(c);
}
