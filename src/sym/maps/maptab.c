// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Per pid a chain of processes, newest first; per process the current list of mappings and the list before the last
 * exec.
 */
#include "sym/maps/maptab.h"

#include <errno.h>
#include <stdlib.h>

#include "base/list.h"
#include "base/macros.h"
#include "base/map.h"

#define KEEP_EXITED_NS 3000000000ull	/* how late a sample may arrive and still find its process */

struct proc {
	struct list age;	/* in live by last use, or in exited by time of exit */
	struct proc *older;	/* of the same pid */
	struct map_who who;	/* start 0 = unknown: first seen by a mapping */
	uint64_t seen_ns;	/* earliest fact about it */
	uint64_t exit_ns;	/* 0 = alive */
	uint64_t image_ns;	/* older samples use `before`; 0 = no exec seen */
	struct map_space *now, *before;	/* references; NULL = empty */
	uint64_t now_generation, before_generation;
};

struct maptab {
	/* lint-ok(tables): mappings of processes, not who they are */
	struct map by_tgid;	/* uint32_t -> struct proc *, the newest */
	struct list live, exited;
	size_t bytes, budget_bytes;
	uint64_t now_ns;	/* latest time of any fact */
	uint64_t generation;	/* last one given */
	struct maptab_stats stats;
};

static const struct map_space no_space;

static struct proc *oldest(const struct list *head)
{
	return head->next == head ? NULL : container_of(head->next, struct proc, age);
}

/* ---- shared lists ---- */

static struct map_space *space_get(struct map_space *s)
{
	if (s)
		s->refs++;
	return s;
}

static void space_put(struct maptab *t, struct map_space *s)
{
	if (!s || --s->refs)
		return;
	t->bytes -= map_space_bytes(s);
	t->stats.mappings -= s->len;
	t->stats.spaces--;
	free(s);
}

static struct map_space *space_new(struct maptab *t, uint32_t cap)
{
	struct map_space *s = map_space_new(cap);

	if (!s)
		return NULL;
	t->bytes += map_space_bytes(s);
	t->stats.spaces++;
	return s;
}

/* The mappings of @from that are not older than @ns, as a new list. */
static struct map_space *space_copy(struct maptab *t, const struct map_space *from, uint64_t ns)
{
	struct map_space *s = space_new(t, map_space_count_since(from, ns) + 2);

	for (uint32_t i = 0; s && i < from->len; i++)
		if (from->m[i].since_ns >= ns)
			s->m[s->len++] = from->m[i];
	t->stats.mappings += s ? s->len : 0;
	return s;
}

/* Gives @p its own list for writing. */
static int own_space(struct maptab *t, struct proc *p)
{
	struct map_space *s;

	if (p->now && p->now->refs == 1)
		return 0;
	s = p->now ? space_copy(t, p->now, 0) : space_new(t, 8);
	if (!s)
		return -ENOMEM;
	space_put(t, p->now);
	p->now = s;
	return 0;
}

/* ---- processes ---- */

static struct proc *chain_of(const struct maptab *t, uint32_t tgid)
{
	return map_find_ptr(&t->by_tgid, &tgid);
}

/* The process that had the pid at @ts_ns. If its start is unknown, it had the pid from its first fact on. */
static struct proc *find_at(const struct maptab *t, uint32_t tgid, uint64_t ts_ns)
{
	struct proc *p = chain_of(t, tgid);

	while (p && (p->who.key.start_ns ? p->who.key.start_ns : p->seen_ns) > ts_ns)
		p = p->older;
	return p && (!p->exit_ns || ts_ns <= p->exit_ns) ? p : NULL;
}

/* Matches a process that was first seen by a mapping after @start_ns, and sets its start. */
static struct proc *find(const struct maptab *t, struct map_key key, uint64_t ts_ns)
{
	struct proc *p;

	if (!key.start_ns)
		return find_at(t, key.tgid, ts_ns);
	for (p = chain_of(t, key.tgid); p; p = p->older) {
		if (p->who.key.start_ns == key.start_ns)
			return p;
		if (!p->who.key.start_ns && p->seen_ns >= key.start_ns && !p->exit_ns) {
			p->who.key.start_ns = key.start_ns;
			return p;
		}
	}
	return NULL;
}

static void unchain(struct maptab *t, const struct proc *p)
{
	struct proc **at = map_find(&t->by_tgid, &p->who.key.tgid);

	while (at && *at && *at != p)
		at = &(*at)->older;
	if (at && *at)
		*at = p->older;
	if (!chain_of(t, p->who.key.tgid))
		map_remove(&t->by_tgid, &p->who.key.tgid);
}

static void forget(struct maptab *t, struct proc *p)
{
	unchain(t, p);
	list_remove(&p->age);
	space_put(t, p->now);
	space_put(t, p->before);
	t->bytes -= sizeof(*p);
	t->stats.processes--;
	free(p);
}

/*
 * Forgets old exited processes without counting; processes evicted for lack of room are counted, exited ones first.
 */
static void make_room(struct maptab *t, const struct proc *keep)
{
	struct proc *p;

	while ((p = oldest(&t->exited)) && p != keep && p->exit_ns + KEEP_EXITED_NS < t->now_ns)
		forget(t, p);
	while (t->bytes > t->budget_bytes) {
		p = oldest(&t->exited);
		if (!p || p == keep)
			p = oldest(&t->live);
		if (!p || p == keep)
			return;
		forget(t, p);
		t->stats.evicted++;
	}
}

static struct proc *add_proc(struct maptab *t, struct map_key key, uint64_t ts_ns)
{
	struct proc *p = calloc(1, sizeof(*p)), **at;
	uint64_t from = key.start_ns ? key.start_ns : ts_ns;

	if (!p)
		return NULL;
	at = map_add(&t->by_tgid, &key.tgid, NULL);
	if (!at) {
		free(p);
		return NULL;
	}
	while (*at && ((*at)->who.key.start_ns ? (*at)->who.key.start_ns : (*at)->seen_ns) > from)
		at = &(*at)->older;
	p->who.key = key;
	p->seen_ns = ts_ns;
	p->now_generation = ++t->generation;
	p->older = *at;
	*at = p;
	list_add(&t->live, &p->age);
	t->bytes += sizeof(*p);
	t->stats.processes++;
	return p;
}

static struct proc *find_or_add(struct maptab *t, struct map_key key, uint64_t ts_ns)
{
	struct proc *p = find(t, key, ts_ns);

	t->now_ns = MAX(t->now_ns, ts_ns);
	if (!p)
		p = add_proc(t, key, ts_ns);
	if (p)
		make_room(t, p);
	return p;
}

/* ---- facts ---- */

int maptab_fork(struct maptab *t, uint64_t ts_ns, struct map_key child, struct map_key parent)
{
	struct proc *from = find(t, parent, ts_ns), *p;

	if (from && !from->exit_ns) { /* move it to the young end: adding the child must not evict it */
		list_remove(&from->age);
		list_add(&t->live, &from->age);
	}
	p = find_or_add(t, child, ts_ns);
	if (!p)
		return -ENOMEM;
	from = find(t, parent, ts_ns);
	/* A snapshot may have reported it earlier. */
	if (!from || from == p || p->now || p->image_ns)
		return 0;
	p->now = space_get(from->now);
	p->now_generation = ++t->generation;
	return 0;
}

int maptab_exec(struct maptab *t, uint64_t ts_ns, struct map_key key, uint64_t image_ns)
{
	struct proc *p = find_or_add(t, key, ts_ns);
	struct map_space *s;

	if (!p)
		return -ENOMEM;
	if (!image_ns || image_ns <= p->image_ns)
		return 0;
	p->image_ns = image_ns;
	p->who.jit = 0;
	if (!p->now)
		return 0;
	s = space_copy(t, p->now, image_ns);
	if (!s)
		return -ENOMEM;
	space_put(t, p->before);
	p->before = p->now;
	p->before_generation = p->now_generation;
	p->now = s;
	p->now_generation = ++t->generation;
	return 0;
}

int maptab_map(struct maptab *t, struct map_key key, const struct mapping *m, bool snapshot)
{
	struct proc *p = find_or_add(t, key, m->since_ns);
	size_t bytes, len;
	int r;

	if (!p)
		return -ENOMEM;
	if (m->since_ns < p->image_ns || m->start >= m->end)
		return 0;
	r = own_space(t, p);
	if (r < 0)
		return r;
	bytes = map_space_bytes(p->now);
	len = p->now->len;
	r = map_space_add(&p->now, m, snapshot);
	t->bytes += map_space_bytes(p->now) - bytes;
	t->stats.mappings += p->now->len - len;
	if (r > 0)
		p->now_generation = ++t->generation;
	t->stats.refused += r == -ENOSPC;
	return r == -ENOMEM ? r : 0;
}

void maptab_exit(struct maptab *t, uint64_t ts_ns, struct map_key key)
{
	struct proc *p = find(t, key, ts_ns);

	t->now_ns = MAX(t->now_ns, ts_ns);
	if (!p || p->exit_ns)
		return;
	p->exit_ns = ts_ns;
	list_remove(&p->age);
	list_add(&t->exited, &p->age);
	make_room(t, p);
}

int maptab_ids(struct maptab *t, uint64_t ts_ns, struct map_key key, uint32_t ns_tgid, uint32_t uid)
{
	struct proc *p = find_or_add(t, key, ts_ns);

	if (!p)
		return -ENOMEM;
	p->who.ns_tgid = ns_tgid;
	p->who.uid = uid;
	return 0;
}

/* ---- questions ---- */

bool maptab_find(struct maptab *t, struct map_key key, uint64_t ts_ns, struct map_view *ret)
{
	struct proc *p = find(t, key, ts_ns);
	bool before;

	if (!p)
		return false;
	if (!p->exit_ns && t->live.prev != &p->age) {
		list_remove(&p->age);
		list_add(&t->live, &p->age);
	}
	if (p->before && ts_ns > p->image_ns + KEEP_EXITED_NS) {
		space_put(t, p->before);
		p->before = NULL;
	}
	before = p->before && ts_ns < p->image_ns;
	ret->space = before ? p->before : p->now ? p->now : &no_space;
	ret->generation = before ? p->before_generation : p->now_generation;
	ret->who = &p->who;
	return true;
}

void maptab_stats(const struct maptab *t, struct maptab_stats *ret)
{
	*ret = t->stats;
	ret->bytes = t->bytes;
}

/* ---- life ---- */

struct maptab *maptab_new(size_t budget_bytes)
{
	struct maptab *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	map_init(&t->by_tgid, sizeof(uint32_t), sizeof(struct proc *));
	list_init(&t->live);
	list_init(&t->exited);
	t->budget_bytes = budget_bytes;
	return t;
}

void maptab_free(struct maptab *t)
{
	struct proc *p;

	if (!t)
		return;
	while ((p = oldest(&t->live)) || (p = oldest(&t->exited)))
		forget(t, p);
	map_fini(&t->by_tgid);
	free(t);
}
