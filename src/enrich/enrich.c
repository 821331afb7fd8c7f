// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * State events update the tables; every event is then looked up in them. Fields of state events are found by name,
 * once per event type:
 *
 *   task.comm task.exe task.args task.ppid task.uid task.gid	the process from now on
 *   task.maker task.maker_start	the process that created it, just now
 *   exit.last	true: its last thread exited
 *   sock.closed	socket of the keys; true: it was closed
 */
#include "enrich/enrich.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "base/map.h"
#include "enrich/container.h"
#include "enrich/proctab.h"
#include "enrich/socktab.h"
#include "event/event.h"
#include "event/names.h"
#include "sonde/wire.h"

#define DEFAULT_BUDGET_BYTES (64u << 20)
#define SOCKET_BYTES 128	/* approximate cost of an entry, with its share of the table */
#define CONTAINERS_MAX 16384	/* cache entries; cleared when full */

enum state_field {
	STATE_COMM, STATE_EXE, STATE_ARGS, STATE_PPID, STATE_UID, STATE_GID, STATE_MAKER, STATE_MAKER_START,
	STATE_LAST, STATE_CLOSED, STATE__MAX,
};

static const char *const field_names[] = {
	[STATE_COMM] = "task.comm", [STATE_EXE] = "task.exe", [STATE_ARGS] = "task.args", [STATE_PPID] = "task.ppid",
	[STATE_UID] = "task.uid", [STATE_GID] = "task.gid", [STATE_MAKER] = "task.maker",
	[STATE_MAKER_START] = "task.maker_start", [STATE_LAST] = "exit.last", [STATE_CLOSED] = "sock.closed",
};
_Static_assert(ARRAY_SIZE(field_names) == STATE__MAX, "every field has a name");

/* Fields of an event type that the tables use; NULL where the type lacks one. */
struct meaning {
	const struct field *field[STATE__MAX];
};

struct container { char id[CONTAINER_ID_MAX]; };

struct enrich {
	struct proctab *procs;
	struct socktab *socks;
	struct map meanings;	/* const struct event_desc * -> struct meaning */
	struct map containers;	/* uint64_t cgroup id -> struct container, "" = none */
	uint64_t unresolved;
};

DEFINE_CLEANUP(struct enrich *, enrich_free)

struct enrich *enrich_new(size_t budget_bytes)
{
	_cleanup_(enrich_freep) struct enrich *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	if (!budget_bytes)
		budget_bytes = DEFAULT_BUDGET_BYTES;
	map_init(&e->meanings, sizeof(const struct event_desc *), sizeof(struct meaning));
	map_init(&e->containers, sizeof(uint64_t), sizeof(struct container));
	/*
	 * One quarter for sockets: a process entry costs several times as much, and both tables have similar counts.
	 */
	e->procs = proctab_new(budget_bytes / 4 * 3);
	e->socks = socktab_new(MAX(budget_bytes / 4 / SOCKET_BYTES, (size_t)16));
	return e->procs && e->socks ? TAKE_PTR(e) : NULL;
}

void enrich_free(struct enrich *e)
{
	if (!e)
		return;
	proctab_free(e->procs);
	socktab_free(e->socks);
	map_fini(&e->meanings);
	map_fini(&e->containers);
	free(e);
}

/* ---- state events ---- */

static const struct meaning *meaning_of(struct enrich *e, const struct event_desc *desc)
{
	bool is_new;
	struct meaning *m = map_find(&e->meanings, &desc);

	if (m)
		return m;
	m = map_add(&e->meanings, &desc, &is_new);
	for (unsigned i = 0; m && i < desc->n_fields; i++)
		for (int w = 0; w < STATE__MAX; w++)
			if (!strcmp(desc->fields[i].name, field_names[w]))
				m->field[w] = &desc->fields[i];
	return m;
}

static bool number(const struct event *ev, const struct meaning *m, enum state_field w, uint64_t *ret)
{
	return m->field[w] && event_get_number(ev, m->field[w], ret) >= 0;
}

static bool number32(const struct event *ev, const struct meaning *m, enum state_field w, uint32_t *ret)
{
	uint64_t v;

	if (!number(ev, m, w, &v))
		return false;
	*ret = (uint32_t)v;
	return true;
}

static const char *string(const struct event *ev, const struct meaning *m, enum state_field w, size_t *ret_len)
{
	struct value v;

	if (!m->field[w] || event_get(ev, m->field[w], &v) < 0 || v.kind != VAL_STR)
		return NULL;
	*ret_len = v.len;
	return v.str;
}

static int learn_socket(struct enrich *e, const struct event *ev, const struct meaning *m)
{
	uint64_t closed = 0;
	int r = 0;

	if (!ev->keys.cookie)
		return 0;
	if (ev->tgid && ev->start_ns)
		r = socktab_set(e->socks, ev->keys.cookie, ev->tgid, ev->start_ns);
	if (r >= 0 && number(ev, m, STATE_CLOSED, &closed) && closed)
		socktab_close(e->socks, ev->keys.cookie);
	return r;
}

/* Skips facts about a single thread: its name, its exit. */
static int learn_process(struct enrich *e, const struct event *ev, const struct meaning *m)
{
	struct proc_fact f = {
		.ts_ns = ev->ts_ns, .tgid = ev->tgid, .start_ns = ev->start_ns,
		.snapshot = ev->flags & SONDE_RF_SNAPSHOT, .cgroup_id = ev->keys.cgroup_id,
	};
	uint64_t last = 0;

	f.exited = number(ev, m, STATE_LAST, &last) && last;
	if (ev->tid != ev->tgid && !f.exited)
		return 0;
	f.comm = string(ev, m, STATE_COMM, &f.comm_len);
	f.exe = string(ev, m, STATE_EXE, &f.exe_len);
	f.args = string(ev, m, STATE_ARGS, &f.args_len);
	f.has_ppid = number32(ev, m, STATE_PPID, &f.ppid);
	f.has_ids = number32(ev, m, STATE_UID, &f.uid) && number32(ev, m, STATE_GID, &f.gid);
	if (number32(ev, m, STATE_MAKER, &f.maker_tgid))
		number(ev, m, STATE_MAKER_START, &f.maker_start_ns);
	return proctab_apply(e->procs, &f);
}

static int learn(struct enrich *e, const struct event *ev)
{
	const struct meaning *m = meaning_of(e, ev->desc);

	if (!m)
		return -ENOMEM;
	return m->field[STATE_CLOSED] ? learn_socket(e, ev, m) : learn_process(e, ev, m);
}

/* ---- the process section ---- */

/* Container of @cgroup_id, "" if it has none; NULL while the cgroup's name is unknown. */
static const char *container_of_cgroup(struct enrich *e, const struct event *ev, uint64_t cgroup_id)
{
	struct container *c = map_find(&e->containers, &cgroup_id);
	const char *path;

	if (c)
		return c->id;
	path = cgroup_id ? event_names_get(ev->names, SONDE_NAME_CGROUP, cgroup_id) : NULL;
	if (!path)
		return NULL;
	if (e->containers.len >= CONTAINERS_MAX)
		map_clear(&e->containers);
	c = map_add(&e->containers, &cgroup_id, NULL);
	if (!c)
		return NULL;
	if (!container_from_cgroup(path, c->id))
		c->id[0] = '\0';
	return c->id;
}

static struct sec_str put(char *text, uint32_t *off, const char *s, size_t len)
{
	struct sec_str str = { .off = *off, .len = (uint32_t)len };

	memcpy(text + *off, s, len);
	*off += (uint32_t)len;
	return str;
}

static struct sec_proc *build_section(const struct proc_found *p, const char *container, uint32_t *ret_len)
{
	const struct image *im = p->v->image;
	size_t comm_len = strnlen(im->comm, sizeof(im->comm)), container_len = container ? strlen(container) : 0;
	size_t len = sizeof(struct sec_proc) + comm_len + im->exe_len + im->args_len + container_len;
	struct sec_proc *s = calloc(1, len);
	uint32_t off = 0;
	char *text = (char *)(s + 1);

	if (!s)
		return NULL;
	s->tgid = p->tgid;
	s->start_ns = p->start_ns;
	s->ppid = p->ppid;
	s->uid = p->v->uid;
	s->gid = p->v->gid;
	s->comm = put(text, &off, im->comm, comm_len);
	s->exe = put(text, &off, im->text, im->exe_len);
	s->args = put(text, &off, im->text + im->exe_len, im->args_len);
	s->container = put(text, &off, container ? container : "", container_len);
	*ret_len = (uint32_t)len;
	return s;
}

/* Builds the section once per version and lends it to all events; rebuilds it when the cgroup's name arrives. */
static int add_section(struct enrich *e, struct event *ev, const struct proc_found *p)
{
	const char *container = NULL;
	struct sec_proc *s = p->v->section;
	uint32_t len = p->v->section_len;

	if (!s || !p->v->section_final)
		container = container_of_cgroup(e, ev, p->v->cgroup_id);
	if (!s || container) {
		s = build_section(p, container, &len);
		if (!s)
			return -ENOMEM;
		proctab_keep_section(e->procs, p->v, s, len, container || !p->v->cgroup_id);
	}
	event_add_section(ev, SEC_PROC, s, len); /* no room: publish the event without the section */
	return 0;
}

int enrich_event(struct enrich *e, struct event *ev, struct arena *scratch)
{
	struct proc_found p;
	int r;

	(void)scratch; /* sections live in the tables until the next event */
	if (ev->desc->class == EVENT_META)
		return 0;
	if (ev->desc->class == EVENT_STATE) {
		r = learn(e, ev);
		if (r < 0)
			return r;
	}
	if (!ev->tgid && ev->keys.cookie)
		socktab_find(e->socks, ev->keys.cookie, &ev->tgid, &ev->start_ns);
	if (!ev->tgid || event_section(ev, SEC_PROC))
		return 0;
	if (!proctab_find(e->procs, ev->tgid, ev->start_ns, ev->ts_ns, &p)) {
		e->unresolved++;
		return 0;
	}
	ev->start_ns = p.start_ns;
	if (!p.v || !p.v->image) {
		e->unresolved++;
		return 0;
	}
	if (!ev->keys.cgroup_id)
		ev->keys.cgroup_id = p.v->cgroup_id;
	return add_section(e, ev, &p);
}

void enrich_lost(struct enrich *e, uint64_t ts_ns)
{
	proctab_lost(e->procs, ts_ns);
}

bool enrich_owner(struct enrich *e, uint32_t tgid, uint64_t start_ns, uint64_t ts_ns, uint32_t *ret_uid)
{
	struct proc_found found;

	if (!tgid || !start_ns || !proctab_find(e->procs, tgid, start_ns, ts_ns, &found) || !found.v ||
	    !found.owner_sure)
		return false;
	*ret_uid = found.v->uid;
	return true;
}

void enrich_stats(const struct enrich *e, struct enrich_stats *ret)
{
	struct proctab_stats procs;
	uint64_t sockets, evicted;

	proctab_stats(e->procs, &procs);
	socktab_stats(e->socks, &sockets, &evicted);
	*ret = (struct enrich_stats){
		.processes = procs.processes, .sockets = sockets, .evicted = procs.evicted + evicted,
		.unresolved = e->unresolved,
	};
}
