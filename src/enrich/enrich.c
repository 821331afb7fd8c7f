// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * State events feed the tables, and every event gets its process. Which events are state is told by the words
 * of their fields (task.*, exit.last, sock.*), never by the probe they come from.
 */
#include "enrich/enrich.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "enrich/container.h"
#include "enrich/proc_table.h"
#include "event/event.h"
#include "event/names.h"
#include "sonde/wire.h"

#define DEFAULT_BUDGET_BYTES (64u << 20)
#define KEEP_ENDED_NS (60 * 1000000000ULL)	/* an ended process is known for so long */
#define MAX_SOCKETS 262144

/* The words that matter, resolved once per event type. */
enum word {
	WORD_COMM, WORD_EXE, WORD_ARGS, WORD_PPID, WORD_UID, WORD_GID, WORD_THREAD, WORD_MAKER, WORD_MAKER_START,
	WORD_EXIT_LAST, WORD_SOCK_CLOSED, WORD__MAX,
};
static const char *const words[] = {
	[WORD_COMM] = "task.comm", [WORD_EXE] = "task.exe", [WORD_ARGS] = "task.args", [WORD_PPID] = "task.ppid",
	[WORD_UID] = "task.uid", [WORD_GID] = "task.gid", [WORD_THREAD] = "task.thread",
	[WORD_MAKER] = "task.maker", [WORD_MAKER_START] = "task.maker_start", [WORD_EXIT_LAST] = "exit.last",
	[WORD_SOCK_CLOSED] = "sock.closed",
};
_Static_assert(sizeof(words) / sizeof(*words) == WORD__MAX, "a name per word");

struct type_words {
	const struct event_desc *desc;
	const struct field *field[WORD__MAX];	/* NULL = the type does not have it */
};

struct sock_owner { uint32_t tgid, pad; uint64_t start_ns; };

struct enrich {
	struct proc_table *procs;
	struct map sockets;		/* uint64_t cookie -> struct sock_owner */
	struct map types;		/* uint16_t type -> struct type_words */
	uint64_t unresolved, sockets_evicted;
	uint64_t trimmed_ns;
};

struct enrich *enrich_new(size_t budget_bytes)
{
	struct enrich *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	map_init(&e->sockets, sizeof(uint64_t), sizeof(struct sock_owner));
	map_init(&e->types, sizeof(uint16_t), sizeof(struct type_words));
	e->procs = proc_table_new(budget_bytes ? budget_bytes : DEFAULT_BUDGET_BYTES);
	if (!e->procs) {
		enrich_free(e);
		return NULL;
	}
	return e;
}

void enrich_free(struct enrich *e)
{
	if (!e)
		return;
	proc_table_free(e->procs);
	map_fini(&e->sockets);
	map_fini(&e->types);
	free(e);
}

static const struct type_words *words_of(struct enrich *e, const struct event_desc *d)
{
	bool is_new;
	struct type_words *t = map_add(&e->types, &d->type, &is_new);

	if (!t || !is_new)
		return t;
	t->desc = d;
	for (uint16_t i = 0; i < d->n_fields; i++)
		for (int w = 0; w < WORD__MAX; w++)
			if (!strcmp(d->fields[i].name, words[w]))
				t->field[w] = &d->fields[i];
	return t;
}

static bool get(const struct type_words *t, enum word w, const struct event *ev, struct value *ret)
{
	return t->field[w] && event_get(ev, t->field[w], ret) == 0;
}

static uint64_t get_number(const struct type_words *t, enum word w, const struct event *ev)
{
	struct value v;

	return get(t, w, ev, &v) ? v.u : 0;
}

/* ---- feeding ---- */

static int set_text(struct enrich *e, struct proc *p, enum proc_text which, const struct type_words *t, enum word w,
		    const struct event *ev)
{
	struct value v;

	return get(t, w, ev, &v) && v.kind == VAL_STR ? proc_set_text(e->procs, p, which, v.str, v.len) : 0;
}

static int set_cgroup(struct enrich *e, struct proc *p, const struct event *ev)
{
	const char *path = names_get(ev->names, SONDE_NAME_CGROUP, ev->keys.cgroup_id), *id = NULL;
	size_t len = path ? container_id(path, &id) : 0;

	if (!ev->keys.cgroup_id)
		return 0;
	p->cgroup_id = ev->keys.cgroup_id;
	return path ? proc_set_text(e->procs, p, PROC_CONTAINER, id, len) : 0;
}

/* What a child has from its parent until it runs a program of its own. */
static int inherit(struct enrich *e, struct proc *child, const struct type_words *t, const struct event *ev)
{
	const struct proc_key maker = {
		.tgid = (uint32_t)get_number(t, WORD_MAKER, ev), .start_ns = get_number(t, WORD_MAKER_START, ev),
	};
	const struct proc *parent = maker.tgid ? proc_table_find(e->procs, &maker, ev->ts_ns) : NULL;
	int r = 0;

	for (int i = 0; parent && parent != child && r >= 0 && i < PROC_TEXT__MAX; i++)
		if (!child->text[i])
			r = proc_set_text(e->procs, child, i, parent->text[i], parent->text_len[i]);
	return r;
}

/* A thread has a name of its own, which is not the process's. */
static int feed_task(struct enrich *e, const struct type_words *t, const struct event *ev)
{
	const struct proc_key key = { .tgid = ev->tgid, .start_ns = ev->start_ns };
	bool snapshot = ev->flags & SONDE_RF_SNAPSHOT;
	struct proc *p;
	int r;

	if (!ev->tgid || get_number(t, WORD_THREAD, ev))
		return 0;
	p = proc_table_add(e->procs, &key);
	if (!p)
		return -ENOMEM;
	if (snapshot && p->live)
		return 0;
	p->live |= !snapshot;
	if (t->field[WORD_PPID]) {
		p->ppid = (uint32_t)get_number(t, WORD_PPID, ev);
		p->uid = (uint32_t)get_number(t, WORD_UID, ev);
		p->gid = (uint32_t)get_number(t, WORD_GID, ev);
	}
	proc_changed(e->procs, p);
	r = ev->tid == ev->tgid || snapshot ? set_text(e, p, PROC_COMM, t, WORD_COMM, ev) : 0;
	if (r >= 0)
		r = set_text(e, p, PROC_EXE, t, WORD_EXE, ev);
	if (r >= 0)
		r = set_text(e, p, PROC_ARGS, t, WORD_ARGS, ev);
	if (r >= 0)
		r = set_cgroup(e, p, ev);
	return r >= 0 && t->field[WORD_MAKER] ? inherit(e, p, t, ev) : r;
}

static void feed_exit(struct enrich *e, const struct type_words *t, const struct event *ev)
{
	const struct proc_key key = { .tgid = ev->tgid, .start_ns = ev->start_ns };
	struct proc *p = get_number(t, WORD_EXIT_LAST, ev) ? proc_table_find(e->procs, &key, ev->ts_ns) : NULL;

	if (p)
		p->exit_ns = ev->ts_ns;
}

/* Sockets outlive their close in the table for as long as there is room: their last packets come later. */
static int feed_socket(struct enrich *e, const struct event *ev)
{
	struct sock_owner *o;

	if (!ev->keys.cookie || !ev->tgid)
		return 0;
	if (e->sockets.len >= MAX_SOCKETS && !map_find(&e->sockets, &ev->keys.cookie)) {
		e->sockets_evicted += e->sockets.len;
		map_clear(&e->sockets);
	}
	o = map_add(&e->sockets, &ev->keys.cookie, NULL);
	if (!o)
		return -ENOMEM;
	*o = (struct sock_owner){ .tgid = ev->tgid, .start_ns = ev->start_ns };
	return 0;
}

static int feed(struct enrich *e, const struct event *ev)
{
	const struct type_words *t = words_of(e, ev->desc);
	const struct proc_key key = { .tgid = ev->tgid, .start_ns = ev->start_ns };
	struct proc *p;

	if (!t)
		return -ENOMEM;
	if (t->field[WORD_EXIT_LAST])
		feed_exit(e, t, ev);
	else if (t->field[WORD_SOCK_CLOSED])
		return feed_socket(e, ev);
	else if (t->field[WORD_COMM])
		return feed_task(e, t, ev);
	else if (ev->keys.cgroup_id && ev->tid == ev->tgid && (p = proc_table_find(e->procs, &key, ev->ts_ns)))
		return set_cgroup(e, p, ev);
	return 0;
}

/* ---- adding ---- */

static void own_by_socket(const struct enrich *e, struct event *ev)
{
	const struct sock_owner *o = ev->keys.cookie && !ev->tgid ? map_find(&e->sockets, &ev->keys.cookie) : NULL;

	if (!o)
		return;
	ev->tgid = o->tgid;
	ev->start_ns = o->start_ns;
}

static int add_process(struct enrich *e, struct event *ev)
{
	const struct proc_key key = { .tgid = ev->tgid, .start_ns = ev->start_ns };
	struct proc *p = ev->tgid ? proc_table_find(e->procs, &key, ev->ts_ns) : NULL;
	const void *section;
	uint32_t len;

	if (!p) {
		e->unresolved += ev->tgid != 0 && ev->desc->class == EVENT_DATA;
		return 0;
	}
	ev->start_ns = p->key.start_ns;
	if (!ev->keys.cgroup_id)
		ev->keys.cgroup_id = p->cgroup_id;
	section = proc_section(e->procs, p, &len);
	return section ? event_add_section(ev, SEC_PROC, section, len) : -ENOMEM;
}

int enrich_event(struct enrich *e, struct event *ev, struct arena *scratch)
{
	int r = 0;

	(void)scratch; /* the section lives with its process until that changes, which no event does meanwhile */
	if (ev->desc->class == EVENT_META || event_section(ev, SEC_PROC))
		return 0;
	if (ev->desc->class == EVENT_STATE)
		r = feed(e, ev);
	if (ev->ts_ns > e->trimmed_ns) {
		proc_table_trim(e->procs, ev->ts_ns > KEEP_ENDED_NS ? ev->ts_ns - KEEP_ENDED_NS : 0);
		e->trimmed_ns = ev->ts_ns;
	}
	if (r < 0)
		return r;
	own_by_socket(e, ev);
	return add_process(e, ev);
}

void enrich_stats(const struct enrich *e, struct enrich_stats *ret)
{
	*ret = (struct enrich_stats){
		.processes = proc_table_len(e->procs), .sockets = e->sockets.len,
		.evicted = proc_table_evicted(e->procs) + e->sockets_evicted, .unresolved = e->unresolved,
	};
}
