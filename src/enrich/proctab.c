// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The process table. Per pid a chain of processes, newest first; per process a few versions, newest first.
 */
#include "enrich/proctab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/map.h"
#include "enrich/lru.h"

#define KEEP_EXITED_NS 30000000000ull	/* how late an event may come and still find its process */
#define VERSIONS 4			/* of one process; older ones are forgotten */

struct process {
	struct aged age;	/* in live by last use, or in exited by time of exit */
	struct process *older;	/* of the same pid */
	uint64_t start_ns, exit_ns; /* exit_ns 0 = alive */
	uint64_t ids_ns;	/* latest fact that had its user */
	uint32_t tgid, ppid;
	unsigned n;
	struct proc_version v[VERSIONS];
};

struct proctab {
	struct map by_tgid;	/* uint32_t -> struct process *, the newest */
	struct age_list live, exited;
	size_t bytes, budget_bytes;
	uint64_t now_ns;	/* latest time of any fact */
	uint64_t lost_ns;	/* facts before this time may be missing */
	uint64_t processes, evicted;
};

/* ---- images ---- */

static size_t image_bytes(const struct image *im)
{
	return sizeof(*im) + im->exe_len + im->args_len;
}

static struct image *image_get(struct image *im)
{
	if (im)
		im->refs++;
	return im;
}

static void image_put(struct proctab *t, struct image *im)
{
	if (!im || --im->refs)
		return;
	t->bytes -= image_bytes(im);
	free(im);
}

/* A new image from @f; fields that @f lacks come from @old. */
static struct image *image_new(struct proctab *t, const struct proc_fact *f, const struct image *old)
{
	const char *exe = f->exe ? f->exe : old ? old->text : "";
	const char *args = f->exe ? f->args : old ? old->text + old->exe_len : "";
	size_t exe_len = f->exe ? f->exe_len : old ? old->exe_len : 0;
	size_t args_len = f->exe ? (args ? f->args_len : 0) : old ? old->args_len : 0;
	struct image *im = calloc(1, sizeof(*im) + exe_len + args_len);

	if (!im)
		return NULL;
	im->refs = 1;
	im->exe_len = (uint32_t)exe_len;
	im->args_len = (uint32_t)args_len;
	if (f->comm)
		memcpy(im->comm, f->comm, MIN(f->comm_len, sizeof(im->comm)));
	else if (old)
		memcpy(im->comm, old->comm, sizeof(im->comm));
	memcpy(im->text, exe, exe_len);
	if (args_len)
		memcpy(im->text + exe_len, args, args_len);
	t->bytes += image_bytes(im);
	return im;
}

/* ---- processes ---- */

static struct process *chain_of(const struct proctab *t, uint32_t tgid)
{
	struct process **p = map_find(&t->by_tgid, &tgid);

	return p ? *p : NULL;
}

static struct process *find_exact(const struct proctab *t, uint32_t tgid, uint64_t start_ns)
{
	struct process *p = chain_of(t, tgid);

	while (p && p->start_ns != start_ns)
		p = p->older;
	return p;
}

/* Whoever had the pid at @ts_ns. */
static struct process *find_at(const struct proctab *t, uint32_t tgid, uint64_t ts_ns)
{
	struct process *p = chain_of(t, tgid);

	while (p && p->start_ns > ts_ns)
		p = p->older;
	return p && (!p->exit_ns || ts_ns <= p->exit_ns) ? p : NULL;
}

static void unchain(struct proctab *t, const struct process *p)
{
	struct process **at = map_find(&t->by_tgid, &p->tgid);

	while (at && *at && *at != p)
		at = &(*at)->older;
	if (at && *at)
		*at = p->older;
	if (!chain_of(t, p->tgid))
		map_remove(&t->by_tgid, &p->tgid);
}

static void drop_section(struct proctab *t, struct proc_version *v)
{
	t->bytes -= v->section_len;
	free(v->section);
	v->section = NULL;
	v->section_len = 0;
}

static void drop_version(struct proctab *t, struct process *p, unsigned i)
{
	drop_section(t, &p->v[i]);
	image_put(t, p->v[i].image);
	memmove(&p->v[i], &p->v[i + 1], (p->n - i - 1) * sizeof(p->v[0]));
	p->n--;
}

static void forget(struct proctab *t, struct process *p)
{
	unchain(t, p);
	age_remove(&p->age);
	while (p->n)
		drop_version(t, p, p->n - 1);
	t->bytes -= sizeof(*p);
	t->processes--;
	free(p);
}

/* Those that exited long ago go silently; what must go for room is counted, the exited first. */
static void make_room(struct proctab *t, const struct process *keep)
{
	struct aged *a;

	while ((a = age_oldest(&t->exited))) {
		struct process *p = container_of(a, struct process, age);

		if (p == keep || p->exit_ns + KEEP_EXITED_NS >= t->now_ns)
			break;
		forget(t, p);
	}
	while (t->bytes > t->budget_bytes) {
		a = age_oldest(&t->exited);
		if (!a || container_of(a, struct process, age) == keep)
			a = age_oldest(&t->live);
		if (!a || container_of(a, struct process, age) == keep)
			return;
		forget(t, container_of(a, struct process, age));
		t->evicted++;
	}
}

static struct process *add_process(struct proctab *t, uint32_t tgid, uint64_t start_ns)
{
	struct process *p = calloc(1, sizeof(*p)), **at;

	if (!p)
		return NULL;
	at = map_add(&t->by_tgid, &tgid, NULL);
	if (!at) {
		free(p);
		return NULL;
	}
	while (*at && (*at)->start_ns > start_ns)
		at = &(*at)->older;
	p->tgid = tgid;
	p->start_ns = start_ns;
	p->older = *at;
	*at = p;
	age_add(&t->live, &p->age);
	t->bytes += sizeof(*p);
	t->processes++;
	return p;
}

/* ---- versions ---- */

/* Index of the version that held at @ts_ns, or p->n. */
static unsigned version_at(const struct process *p, uint64_t ts_ns)
{
	unsigned i = 0;

	while (i < p->n && p->v[i].since_ns > ts_ns)
		i++;
	return i;
}

/* Takes the reference in @v over. */
static void insert_version(struct proctab *t, struct process *p, const struct proc_version *v)
{
	unsigned i;

	/* A snapshot taken later does not describe the time before this event. */
	for (i = 0; !v->taken_ns && i < p->n; i++)
		if (p->v[i].taken_ns > v->since_ns)
			drop_version(t, p, i--);
	i = version_at(p, v->since_ns);
	if (i == VERSIONS) {
		image_put(t, v->image);
		return;
	}
	if (p->n == VERSIONS)
		drop_version(t, p, VERSIONS - 1);
	memmove(&p->v[i + 1], &p->v[i], (p->n - i) * sizeof(p->v[0]));
	p->v[i] = *v;
	p->n++;
}

static void set_ids(struct proc_version *v, const struct proc_fact *f)
{
	if (f->has_ids) {
		v->uid = f->uid;
		v->gid = f->gid;
	}
	if (f->cgroup_id)
		v->cgroup_id = f->cgroup_id;
}

/* Just made: as its maker was at that moment, which is one image for both. */
static int apply_birth(struct proctab *t, struct process *p, const struct proc_fact *f)
{
	struct process *maker = f->maker_start_ns ? find_exact(t, f->maker_tgid, f->maker_start_ns) :
						    find_at(t, f->maker_tgid, f->ts_ns);
	unsigned i = maker ? version_at(maker, f->ts_ns) : 0;
	struct proc_version v = { .since_ns = p->start_ns };
	struct image *im = maker && i < maker->n ? maker->v[i].image : NULL;

	if (version_at(p, p->start_ns) < p->n) /* the snapshot was faster and knows as much */
		return 0;
	if (im && (!f->comm || !strncmp(im->comm, f->comm, MIN(f->comm_len, sizeof(im->comm)))))
		v.image = image_get(im);
	else
		v.image = image_new(t, f, im);
	if (!v.image)
		return -ENOMEM;
	set_ids(&v, f);
	insert_version(t, p, &v);
	return 0;
}

/* Later facts without an exec apply to the program that the snapshot saw. */
static int fill_later(struct proctab *t, struct process *p, unsigned at)
{
	for (unsigned i = at; i-- > 0;) {
		const struct image *im = p->v[i].image;
		const struct proc_fact f = { .comm = im ? im->comm : NULL, .comm_len = sizeof(im->comm) };
		struct image *full;

		if (im && im->exe_len)
			return 0;
		full = image_new(t, &f, p->v[at].image);
		if (!full)
			return -ENOMEM;
		image_put(t, p->v[i].image);
		p->v[i].image = full;
		drop_section(t, &p->v[i]);
	}
	return 0;
}

static int apply_snapshot(struct proctab *t, struct process *p, const struct proc_fact *f)
{
	struct proc_version v = { .since_ns = p->start_ns, .taken_ns = f->ts_ns };

	for (unsigned i = version_at(p, f->ts_ns); i < p->n; i++)
		if (p->v[i].image && p->v[i].image->exe_len)
			return 0;
	while (version_at(p, f->ts_ns) < p->n) /* made by somebody unknown: a name, and no more */
		drop_version(t, p, p->n - 1);
	if (p->n == VERSIONS)
		return 0;
	v.image = image_new(t, f, NULL);
	if (!v.image)
		return -ENOMEM;
	set_ids(&v, f);
	insert_version(t, p, &v);
	return fill_later(t, p, p->n - 1);
}

static int apply_change(struct proctab *t, struct process *p, const struct proc_fact *f)
{
	unsigned i = version_at(p, f->ts_ns);
	const struct proc_version *old = i < p->n ? &p->v[i] : NULL;
	struct proc_version v = { .since_ns = f->ts_ns };

	if (old) {
		v.cgroup_id = old->cgroup_id;
		v.uid = old->uid;
		v.gid = old->gid;
	}
	v.image = f->comm || f->exe ? image_new(t, f, old ? old->image : NULL) : old ? image_get(old->image) : NULL;
	if (!v.image && (f->comm || f->exe))
		return -ENOMEM;
	set_ids(&v, f);
	insert_version(t, p, &v);
	return 0;
}

static void apply_exit(struct proctab *t, struct process *p, uint64_t ts_ns)
{
	if (p->exit_ns)
		return;
	p->exit_ns = ts_ns;
	age_remove(&p->age);
	age_add(&t->exited, &p->age);
}

/* A snapshot from after a loss: what it saw holds from then on. */
static bool is_reread(const struct proctab *t, const struct process *p, const struct proc_fact *f)
{
	return p->ids_ns < t->lost_ns && f->ts_ns >= t->lost_ns && f->has_ids;
}

int proctab_apply(struct proctab *t, const struct proc_fact *f)
{
	struct process *p;
	int r = 0;

	if (!f->tgid || !f->start_ns)
		return 0;
	t->now_ns = MAX(t->now_ns, f->ts_ns);
	p = find_exact(t, f->tgid, f->start_ns);
	if (!p)
		p = add_process(t, f->tgid, f->start_ns);
	if (!p)
		return -ENOMEM;
	if (f->has_ppid && p->ppid != f->ppid) {
		p->ppid = f->ppid;
		for (unsigned i = 0; i < p->n; i++)
			drop_section(t, &p->v[i]);
	}
	if (f->maker_tgid)
		r = apply_birth(t, p, f);
	else if (f->snapshot && !is_reread(t, p, f))
		r = apply_snapshot(t, p, f);
	else if (f->comm || f->exe || f->cgroup_id)
		r = apply_change(t, p, f);
	if (f->has_ids)
		p->ids_ns = MAX(p->ids_ns, f->ts_ns);
	if (f->exited)
		apply_exit(t, p, f->ts_ns);
	make_room(t, p);
	return r;
}

void proctab_lost(struct proctab *t, uint64_t ts_ns)
{
	t->lost_ns = MAX(t->lost_ns, ts_ns);
}

bool proctab_find(struct proctab *t, uint32_t tgid, uint64_t start_ns, uint64_t ts_ns, struct proc_found *ret)
{
	struct process *p = start_ns ? find_exact(t, tgid, start_ns) : find_at(t, tgid, ts_ns);
	unsigned i;

	if (!p)
		return false;
	if (!p->exit_ns) {
		age_remove(&p->age);
		age_add(&t->live, &p->age);
	}
	i = version_at(p, ts_ns);
	*ret = (struct proc_found){
		.tgid = p->tgid, .start_ns = p->start_ns, .ppid = p->ppid, .owner_sure = p->ids_ns >= t->lost_ns,
	};
	if (i < p->n)
		ret->v = &p->v[i];
	return true;
}

void proctab_keep_section(struct proctab *t, struct proc_version *v, void *section, uint32_t len, bool final)
{
	drop_section(t, v);
	v->section_final = final;
	v->section = section;
	v->section_len = len;
	t->bytes += len;
}

/* ---- life ---- */

struct proctab *proctab_new(size_t budget_bytes)
{
	struct proctab *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	map_init(&t->by_tgid, sizeof(uint32_t), sizeof(struct process *));
	age_init(&t->live);
	age_init(&t->exited);
	t->budget_bytes = budget_bytes;
	return t;
}

void proctab_free(struct proctab *t)
{
	struct aged *a;

	if (!t)
		return;
	while ((a = age_oldest(&t->live)) || (a = age_oldest(&t->exited)))
		forget(t, container_of(a, struct process, age));
	map_fini(&t->by_tgid);
	free(t);
}

void proctab_stats(const struct proctab *t, struct proctab_stats *ret)
{
	*ret = (struct proctab_stats){ .processes = t->processes, .evicted = t->evicted };
}
