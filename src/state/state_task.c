// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Per number a chain of processes or threads, youngest first; each has its changes (state_timeline.h).
 */
#include "state/state_task.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "state/state_limits.h"
#include "state/state_tables.h"

#define DEPTH_MAX 64	/* of forks whose creators are not settled */
#define BIRTHS_MAX 65536 /* that wait; of more the oldest are settled early */

struct task {
	struct list age;	/* in live, or in exited by the order of exits */
	struct task *older;	/* of the same number */
	uint64_t start_ns, exit_ns; /* exit_ns 0 = alive */
	uint64_t ids_ns;	/* latest fact that had its user */
	uint64_t maker_start_ns, born_ns;
	uint64_t gen;		/* of the engine when the inherited image was looked up */
	uint64_t lost;		/* number of losses when the answers were built */
	struct state_timeline line;
	uint32_t vpid;		/* never changes; 0 = unknown */
	uint32_t id, maker_id;	/* maker_id 0: nothing is inherited, or it is settled */
	bool used;		/* since the last search for room */
};

/* ---- look-up ---- */

static struct task *chain_of(const struct state_tasks *t, uint32_t id)
{
	return map_find_ptr(&t->by_id, &id);
}

static struct task **hot_of(struct state_tasks *t, uint32_t id)
{
	return &t->hot[id & (STATE_HOT - 1)];
}

static struct task *find_exact(const struct state_tasks *t, uint32_t id, uint64_t start_ns)
{
	struct task *p = chain_of(t, id);

	while (p && p->start_ns != start_ns)
		p = p->older;
	return p;
}

/* The same for a question: the same few tasks are asked for again and again. */
static struct task *find_hot(struct state_tasks *t, uint32_t id, uint64_t start_ns)
{
	struct task **hot = hot_of(t, id), *p = *hot;

	if (p && p->id == id && p->start_ns == start_ns)
		return p;
	p = find_exact(t, id, start_ns);
	if (p)
		*hot = p;
	return p;
}

/* The task with this number at @ts_ns. */
static struct task *find_at(const struct state_tasks *t, uint32_t id, uint64_t ts_ns)
{
	struct task *p = chain_of(t, id);

	while (p && p->start_ns > ts_ns)
		p = p->older;
	return p && (!p->exit_ns || ts_ns <= p->exit_ns) ? p : NULL;
}

static uint64_t hash_of(uint32_t id, uint64_t start_ns)
{
	const uint64_t key[2] = { id, start_ns };

	return map_hash(key, sizeof(key));
}

/* ---- room ---- */

static void unchain(struct state_tasks *t, const struct task *p)
{
	struct task **at = map_find(&t->by_id, &p->id);

	while (at && *at && *at != p)
		at = &(*at)->older;
	if (at && *at)
		*at = p->older;
	if (!chain_of(t, p->id))
		map_remove(&t->by_id, &p->id);
}

static void forget(struct state *s, struct state_tasks *t, struct task *p)
{
	if (*hot_of(t, p->id) == p)
		*hot_of(t, p->id) = NULL;
	unchain(t, p);
	list_remove(&p->age);
	state_timeline_fini(&p->line, &s->images, &t->bytes);
	t->bytes -= sizeof(*p);
	t->entries--;
	free(p);
}

static struct task *oldest(struct list *l, const struct task *keep)
{
	struct list *a = list_first(l);
	struct task *p = a ? container_of(a, struct task, age) : NULL;

	return p == keep ? NULL : p;
}

static bool is_full(const struct state *s, const struct state_tasks *t)
{
	return t->bytes + (t == &s->procs ? s->images.bytes : 0) > t->budget_bytes;
}

/* The first live task without a question since the last round. Tasks with questions lose their answers and stay. */
static struct task *choose_live(struct state_tasks *t, const struct task *keep)
{
	for (uint64_t i = 0; i <= t->entries; i++) {
		struct task *p = oldest(&t->live, NULL);

		if (!p || (!p->used && p != keep))
			return p;
		p->used = false;
		state_timeline_forget_answers(&p->line, &t->bytes);
		list_remove(&p->age);
		list_add(&t->live, &p->age);
	}
	return NULL;
}

/* Removes tasks that exited long ago. Without room also others, counted, the exited ones first. */
static void make_room(struct state *s, struct state_tasks *t, const struct task *keep)
{
	struct task *p;

	while ((p = oldest(&t->exited, keep)) && p->exit_ns + t->keep_ns < s->now_ns)
		forget(s, t, p);
	while (is_full(s, t)) {
		p = oldest(&t->exited, keep);
		if (!p)
			p = choose_live(t, keep);
		if (!p)
			return;
		if (!is_full(s, t)) /* without answers they fit */
			return;
		state_evicted_add(&t->evicted, hash_of(p->id, p->start_ns));
		forget(s, t, p);
	}
}

static struct task *add_task(struct state_tasks *t, uint32_t id, uint64_t start_ns)
{
	struct task *p = calloc(1, sizeof(*p)), **at;

	if (!p)
		return NULL;
	at = map_add(&t->by_id, &id, NULL);
	if (!at) {
		free(p);
		return NULL;
	}
	while (*at && (*at)->start_ns > start_ns)
		at = &(*at)->older;
	p->id = id;
	p->start_ns = start_ns;
	p->older = *at;
	*at = p;
	list_add(&t->live, &p->age);
	t->bytes += sizeof(*p);
	t->entries++;
	return p;
}

/* ---- inheritance ---- */

static struct task *maker_of(const struct state *s, const struct task *p)
{
	return p->maker_start_ns ? find_exact(&s->procs, p->maker_id, p->maker_start_ns) :
				   find_at(&s->procs, p->maker_id, p->born_ns);
}

/* Sets the image that @p inherits. Its creators come first: they may inherit as well. */
static void inherit(struct state *s, struct task *p)
{
	struct task *line[DEPTH_MAX], *m = p;
	struct state_change then;
	unsigned n = 0;

	for (; m && m->maker_id && m->gen != s->gen && n < DEPTH_MAX; m = maker_of(s, m))
		line[n++] = m;
	while (n--) {
		p = line[n];
		m = maker_of(s, p);
		p->gen = s->gen;
		if (!m || m == p)
			continue;
		state_timeline_resolve(&m->line, p->born_ns, &s->losses, &then);
		state_timeline_inherit(&p->line, then.image, &s->images, &s->procs.bytes);
	}
}

static bool has_settled_birth(const struct state *s)
{
	size_t left = s->births.len - s->birth_at;

	return left && (left > BIRTHS_MAX || s->births.items[s->birth_at].born_ns + STATE_WINDOW_NS < s->now_ns);
}

/* Beyond the window the creator's past is settled: an inherited image becomes the child's own. */
static void settle_births(struct state *s)
{
	while (has_settled_birth(s)) {
		const struct state_birth *b = &s->births.items[s->birth_at++];
		struct task *p = find_exact(&s->procs, b->tgid, b->start_ns);

		if (!p)
			continue;
		inherit(s, p);
		p->maker_id = 0;
	}
	if (s->birth_at < s->births.len / 2 || !s->birth_at)
		return;
	s->births.len -= s->birth_at;
	memmove(s->births.items, s->births.items + s->birth_at, s->births.len * sizeof(s->births.items[0]));
	s->birth_at = 0;
}

static int note_birth(struct state *s, struct task *p, const struct state_task_fact *f)
{
	if (p->born_ns)
		return 0;
	if (vec_grow(&s->births) < 0)
		return -ENOMEM;
	s->births.items[s->births.len++] = (struct state_birth){
		.tgid = p->id, .start_ns = p->start_ns, .born_ns = f->ts_ns,
	};
	p->maker_id = f->maker_tgid;
	p->maker_start_ns = f->maker_start_ns;
	p->born_ns = f->ts_ns;
	return 0;
}

/* ---- facts ---- */

static void set_values(struct state_change *c, const struct state_task_fact *f)
{
	if (f->comm) {
		c->has |= STATE_HAS_COMM;
		memcpy(c->comm, f->comm, strnlen(f->comm, MIN(f->comm_len, sizeof(c->comm))));
	}
	if (f->has_ids) {
		c->has |= STATE_HAS_IDS;
		c->uid = f->uid;
		c->gid = f->gid;
	}
	if (f->has_ppid) {
		c->has |= STATE_HAS_PPID;
		c->ppid = f->ppid;
	}
	if (f->cgroup_id) {
		c->has |= STATE_HAS_CGROUP;
		c->cgroup_id = f->cgroup_id;
	}
}

static int set_image(struct state *s, struct state_change *c, const struct state_task_fact *f)
{
	if (!f->exe)
		return 0;
	c->image = state_image_new(&s->images, f->exe, f->exe_len, f->args, f->args ? f->args_len : 0);
	if (!c->image)
		return -ENOMEM;
	c->has |= STATE_HAS_IMAGE;
	return 0;
}

static int apply_values(struct state *s, struct state_tasks *t, struct task *p, const struct state_task_fact *f)
{
	struct state_change c = { .at_ns = f->ts_ns, .source = f->snapshot ? STATE_SNAPSHOT : STATE_EVENT };
	uint64_t settled_ns = s->now_ns > STATE_WINDOW_NS ? s->now_ns - STATE_WINDOW_NS : 0;
	int r = 0;

	set_values(&c, f);
	c.image_number = f->maker_tgid || f->exe ? f->image : 0;
	if (f->maker_tgid && t == &s->procs) {
		c.at_ns = p->start_ns;
		c.source = STATE_BIRTH;
		r = note_birth(s, p, f);
	} else if (t == &s->procs) {
		r = set_image(s, &c, f);
	}
	if (r < 0 || !(c.has || c.source == STATE_BIRTH))
		return r;
	if (c.has & STATE_HAS_IDS)
		p->ids_ns = MAX(p->ids_ns, f->ts_ns);
	return state_timeline_add(&p->line, &c, settled_ns, &s->images, &s->losses, &t->bytes);
}

static void apply_exit(struct state_tasks *t, struct task *p, uint64_t ts_ns)
{
	if (p->exit_ns) {
		p->exit_ns = MIN(p->exit_ns, ts_ns);
		return;
	}
	p->exit_ns = ts_ns;
	list_remove(&p->age);
	list_add(&t->exited, &p->age);
}

static void apply_vpid(struct state_tasks *t, struct task *p, uint32_t vpid)
{
	if (!vpid || p->vpid == vpid)
		return;
	p->vpid = vpid;
	state_timeline_forget_answers(&p->line, &t->bytes);
}

int state_task_apply(struct state *s, const struct state_task_fact *f)
{
	struct state_tasks *t = f->tid == f->tgid ? &s->procs : &s->threads;
	struct task *p;
	int r;

	if (!f->tgid || !f->start_ns)
		return 0;
	s->now_ns = MAX(s->now_ns, f->ts_ns);
	settle_births(s);
	p = find_exact(t, f->tid, f->start_ns);
	if (!p)
		p = add_task(t, f->tid, f->start_ns);
	if (!p)
		return -ENOMEM;
	s->gen++;
	apply_vpid(t, p, f->vpid);
	r = apply_values(s, t, p, f);
	if (f->exited)
		apply_exit(t, p, f->ts_ns);
	make_room(s, t, p);
	return r;
}

/* ---- questions ---- */

static struct state_task_at *build(struct state *s, struct state_tasks *t, const struct task *p, uint64_t ts_ns)
{
	struct state_task_at *at = calloc(1, sizeof(*at));
	struct state_change then;

	if (!at)
		return NULL;
	state_timeline_resolve(&p->line, ts_ns, &s->losses, &then);
	*at = (struct state_task_at){
		.serial = ++s->answers, .id = p->id, .vpid = p->vpid, .start_ns = p->start_ns,
		.cgroup_id = then.cgroup_id, .image = then.image, .image_number = then.image_number,
		.ppid = then.ppid, .uid = then.uid, .gid = then.gid, .has_ids = then.has & STATE_HAS_IDS,
	};
	memcpy(at->comm, then.comm, sizeof(at->comm));
	t->bytes += sizeof(*at);
	return at;
}

static int unknown(const struct state_tasks *t, uint32_t id, uint64_t start_ns)
{
	return state_evicted_has(&t->evicted, hash_of(id, start_ns)) ? -ESTALE : -ENOENT;
}

static int answer(struct state *s, struct state_tasks *t, struct task *p, uint64_t ts_ns,
		  const struct state_task_at **ret)
{
	struct state_task_at **slot;

	p->used = true;
	if (p->lost != s->lost)
		state_timeline_forget_answers(&p->line, &t->bytes);
	p->lost = s->lost;
	if (p->maker_id && p->gen != s->gen)
		inherit(s, p);
	slot = state_timeline_slot(&p->line, ts_ns);
	if (!*slot)
		*slot = build(s, t, p, ts_ns);
	*ret = *slot;
	return *ret ? 0 : -ENOMEM;
}

int state_task_process(struct state *s, uint32_t tgid, uint64_t start_ns, uint64_t ts_ns,
		       const struct state_task_at **ret)
{
	struct state_tasks *t = &s->procs;
	struct task *p = start_ns ? find_hot(t, tgid, start_ns) : find_at(t, tgid, ts_ns);

	*ret = NULL;
	return p ? answer(s, t, p, ts_ns, ret) : unknown(t, tgid, start_ns);
}

int state_task_thread(struct state *s, uint32_t tid, uint64_t start_ns, uint64_t ts_ns,
		      const struct state_task_at **ret)
{
	struct state_tasks *t = &s->threads;
	struct task *p = find_hot(t, tid, start_ns);

	*ret = NULL;
	return p ? answer(s, t, p, ts_ns, ret) : unknown(t, tid, start_ns);
}

static int show_known(struct state *s, struct task *p, state_task_fn fn, void *ctx)
{
	const struct state_task_at *at;
	const bool used = p->used;
	int r = answer(s, &s->procs, p, p->exit_ns ? p->exit_ns : s->now_ns, &at);

	p->used = used;	/* the walk does not count as a question */
	return r < 0 ? r : fn(ctx, at, p->exit_ns);
}

int state_task_known(struct state *s, uint64_t since_ns, state_task_fn fn, void *ctx)
{
	const struct list *live = &s->procs.live, *exited = &s->procs.exited;
	struct task *p;
	int r = 0;

	for (struct list *a = live->next; !r && a != live; a = a->next)
		r = show_known(s, container_of(a, struct task, age), fn, ctx);
	for (struct list *a = exited->prev; !r && a != exited; a = a->prev) {
		p = container_of(a, struct task, age);
		if (p->exit_ns > since_ns)
			r = show_known(s, p, fn, ctx);
	}
	return r;
}

bool state_task_has_image(const struct state *s, const struct state_task_at *at, uint64_t number)
{
	const struct task *p;

	if (at->image_number == number)
		return true;
	p = find_exact(&s->procs, at->id, at->start_ns);
	return p && state_timeline_has_image(&p->line, number);
}

bool state_task_user(struct state *s, uint32_t tgid, uint64_t start_ns, uint64_t ts_ns, uint32_t *ret_uid)
{
	const struct task *p = find_exact(&s->procs, tgid, start_ns);
	const struct state_losses *l = &s->losses;
	struct state_change then;

	if (!p || (l->n && p->ids_ns < l->at_ns[l->n - 1]))
		return false;
	state_timeline_resolve(&p->line, ts_ns, l, &then);
	if (!(then.has & STATE_HAS_IDS))
		return false;
	*ret_uid = then.uid;
	return true;
}

void state_task_keep_section(struct state *s, const struct state_task_at *at, void *section, uint32_t len,
			     bool final)
{
	struct state_task_at *own = (struct state_task_at *)at;

	s->procs.bytes += len;
	s->procs.bytes -= own->section_len;
	free((void *)own->section);
	own->section = section;
	own->section_len = len;
	own->section_final = final;
}

/* ---- life ---- */

static void init_table(struct state_tasks *t, size_t budget_bytes, uint64_t keep_ns)
{
	map_init(&t->by_id, sizeof(uint32_t), sizeof(struct task *));
	list_init(&t->live);
	list_init(&t->exited);
	t->budget_bytes = budget_bytes;
	t->keep_ns = keep_ns;
}

static void fini_table(struct state *s, struct state_tasks *t)
{
	struct task *p;

	while ((p = oldest(&t->live, NULL)) || (p = oldest(&t->exited, NULL)))
		forget(s, t, p);
	map_fini(&t->by_id);
}

void state_task_init(struct state *s, size_t process_bytes, size_t thread_bytes)
{
	init_table(&s->procs, process_bytes, STATE_WINDOW_NS + STATE_KEEP_NS);
	init_table(&s->threads, thread_bytes, STATE_WINDOW_NS);
}

void state_task_fini(struct state *s)
{
	fini_table(s, &s->procs);
	fini_table(s, &s->threads);
}
