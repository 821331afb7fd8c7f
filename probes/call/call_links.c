// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/call/call_links.h"

#define THREADS_MAX 65536u	/* then all are forgotten: event loops lose their mark, calls their parents */
#define PROCESSES_MAX 16384u	/* then nothing is inferred any more */
#define INCOMING_MAX 32u	/* of a process; beyond, nothing is inferred of it */

struct call_thread_key {
	uint32_t tgid, tid;
};

struct call_thread {
	uint64_t current;	/* the only open incoming call; 0 = none or several */
	uint64_t losses;	/* before the current one */
	uint32_t open;
	bool loop;		/* had two open at once */
};

/* Open incoming calls of a process, in any order. */
struct call_process {
	struct {
		uint64_t number, begun;	/* begun: of all calls, by call_links.n_begun */
	} incoming[INCOMING_MAX];
	uint32_t n, surplus;	/* surplus: further ones */
};

struct call_open {
	uint64_t begun;		/* its place among all calls */
	uint64_t header;	/* as given; 0 = none */
	uint64_t by_header, by_thread; /* candidates for the parent; 0 = none */
	struct call_thread_key thread;
	bool server;
};

void call_links_init(struct call_links *l)
{
	if (l->ready)
		return;
	map_init(&l->threads, sizeof(struct call_thread_key), sizeof(struct call_thread));
	map_init(&l->headers, sizeof(uint64_t), sizeof(uint64_t));
	map_init(&l->open, sizeof(uint64_t), sizeof(struct call_open));
	map_init(&l->processes, sizeof(uint32_t), sizeof(struct call_process));
	l->ready = true;
}

void call_links_fini(struct call_links *l)
{
	if (!l->ready)
		return;
	map_fini(&l->threads);
	map_fini(&l->headers);
	map_fini(&l->open);
	map_fini(&l->processes);
	l->ready = false;
}

/* ---- incoming calls ---- */

static void thread_enter(struct call_links *l, const struct call_open *o, uint64_t number)
{
	struct call_thread *t;

	if (l->threads.len >= THREADS_MAX)
		map_clear(&l->threads);
	t = map_add(&l->threads, &o->thread, NULL);
	if (!t)
		return;
	t->loop |= t->open && t->losses == l->losses;	/* else the end of the one before may be lost */
	t->current = t->open++ ? 0 : number;
	t->losses = l->losses;
}

static void thread_leave(struct call_links *l, const struct call_open *o)
{
	struct call_thread *t = map_find(&l->threads, &o->thread);

	if (!t || !t->open)
		return;
	t->current = 0;
	if (!--t->open && !t->loop)
		map_remove(&l->threads, &o->thread);
}

static void header_enter(struct call_links *l, uint64_t header, uint64_t number)
{
	bool is_new;
	uint64_t *have = header ? map_add(&l->headers, &header, &is_new) : NULL;

	if (have)
		*have = is_new ? number : 0;
}

static void process_enter(struct call_links *l, const struct call_open *o, uint64_t number)
{
	struct call_process *p;

	if (!l->infer || l->too_many)
		return;
	l->too_many = l->processes.len >= PROCESSES_MAX;
	p = l->too_many ? NULL : map_add(&l->processes, &o->thread.tgid, NULL);
	if (!p) {
		l->too_many = true;
	} else if (p->n == INCOMING_MAX) {
		p->surplus++;
	} else {
		p->incoming[p->n].number = number;
		p->incoming[p->n++].begun = o->begun;
	}
}

static void process_leave(struct call_links *l, const struct call_open *o, uint64_t number)
{
	struct call_process *p = map_find(&l->processes, &o->thread.tgid);
	uint32_t i = 0;

	while (p && i < p->n && p->incoming[i].number != number)
		i++;
	if (!p || (i == p->n && !p->surplus))
		return;
	if (i == p->n)
		p->surplus--;
	else
		p->incoming[i] = p->incoming[--p->n];
	if (!p->n && !p->surplus)
		map_remove(&l->processes, &o->thread.tgid);
}

/* The only incoming call of the process that began before the outgoing one and is open at its end; 0 = none. */
static uint64_t process_containing(const struct call_links *l, const struct call_open *o)
{
	const struct call_process *p = l->too_many ? NULL : map_find(&l->processes, &o->thread.tgid);
	uint64_t found = 0;

	if (!p || p->surplus)
		return 0;
	for (uint32_t i = 0; i < p->n; i++) {
		if (p->incoming[i].begun > o->begun)
			continue;
		if (found)
			return 0;
		found = p->incoming[i].number;
	}
	return found;
}

/* ---- both ---- */

void call_links_lost(struct call_links *l)
{
	l->losses++;
}

void call_links_opened(struct call_links *l, const struct call_links_call *c)
{
	struct call_open o = {
		.begun = ++l->n_begun, .header = c->header, .thread = { .tgid = c->tgid, .tid = c->tid },
		.server = c->server,
	};
	const struct call_thread *t;
	const uint64_t *header;
	bool is_new;
	struct call_open *slot = map_add(&l->open, &c->number, &is_new);

	if (!slot || !is_new)
		return;
	if (c->server) {
		thread_enter(l, &o, c->number);
		header_enter(l, c->header, c->number);
		process_enter(l, &o, c->number);
	} else {
		t = map_find(&l->threads, &o.thread);
		o.by_thread = t && !t->loop ? t->current : 0;
		header = c->header ? map_find(&l->headers, &c->header) : NULL;
		o.by_header = header ? *header : 0;
	}
	*slot = o;
}

/* Has the thread served the call in which the outgoing one began alone, since that began? */
static bool thread_serves_still(const struct call_links *l, const struct call_open *o)
{
	const struct call_thread *t = map_find(&l->threads, &o->thread);

	return t && t->current == o->by_thread && t->losses == l->losses && !t->loop;
}

struct call_links_parent call_links_ended(struct call_links *l, uint64_t number)
{
	const struct call_open *found = map_find(&l->open, &number);
	struct call_links_parent parent = { 0 };
	struct call_open o;

	if (!found)
		return parent;
	o = *found;
	map_remove(&l->open, &number);
	if (o.server) {
		const uint64_t *have = o.header ? map_find(&l->headers, &o.header) : NULL;

		if (have && (*have == number || !*have))
			map_remove(&l->headers, &o.header);
		thread_leave(l, &o);
		process_leave(l, &o, number);
	} else if (o.by_header) {
		parent = (struct call_links_parent){ .number = o.by_header, .link = CALL_EVENT_LINK_HEADER };
	} else if (o.by_thread && thread_serves_still(l, &o)) {
		parent = (struct call_links_parent){ .number = o.by_thread, .link = CALL_EVENT_LINK_THREAD };
	} else if (l->infer) {
		parent.number = process_containing(l, &o);
		parent.link = parent.number ? CALL_EVENT_LINK_INFERRED : CALL_EVENT_LINK_NONE;
	}
	return parent;
}
