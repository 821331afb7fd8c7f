// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts in two steps. Most samples repeat: the raw addresses of a process with unchanged mappings (sym_generation())
 * lead straight to their entry. New stacks are located and looked up by locations, so that equal stacks of a process
 * share an entry even if its mappings changed meanwhile. The first step is a cache and may be cleared; the second
 * holds the counts.
 */
#include "stack/stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/vec.h"
#include "event/event.h"

#define DEFAULT_BUDGET (256u << 20)
#define MIN_BUDGET (64u << 10)
#define NONE UINT32_MAX

/* Everything that distinguishes stacks apart from addresses. No padding: hashed and compared as bytes. */
struct ident {
	struct stack_key key;
	uint64_t gen;		/* raw step only; 0 in entries */
	const char *kind;
	uint32_t n_user, n_kern;
	uint32_t user_end;
	uint32_t has;		/* HAS_* */
};
_Static_assert(sizeof(struct ident) == sizeof(struct stack_key) + 8 + sizeof(char *) + 16, "no padding in ident");

enum { HAS_USER = 1, HAS_KERN = 2, KERN_FAILED = 4 };

struct raw {			/* in the raw arena */
	struct ident id;
	uint32_t entry, next;	/* next with the same hash */
	uint64_t ips[];		/* user, then kernel */
};

struct counted {		/* in the entries' arena */
	struct stack_entry e;
	struct ident id;
	uint32_t next;
};

/* Fields of an event type with the counted values. Resolved once per type. */
struct type_fields {
	const struct event_desc *desc;
	const struct field *value, *wait, *end, *comm, *count, *error;
};

struct stack_set {
	struct sym *sym;	/* borrowed; NULL: addresses are their own locations */
	struct stack_set_opts opts;
	struct map raw_by_hash, entry_by_hash;	/* u64 hash -> u32 first of the chain */
	struct arena raws, entries;
	VEC(struct raw *) raw_at;
	VEC(struct counted *) at;
	VEC(struct type_fields) types;
	VEC(struct sym_loc) locs;	/* scratch */
	uint64_t dropped;
};

/* One event on its way in. */
struct incoming {
	struct ident id;
	const uint64_t *user, *kern;
	uint64_t value, wait, count;
};

int stack_set_new(struct sym *sym, const struct stack_set_opts *o, struct stack_set **ret)
{
	struct stack_set *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->sym = sym;
	s->opts = *o;
	if (!s->opts.budget_bytes)
		s->opts.budget_bytes = DEFAULT_BUDGET;
	s->opts.budget_bytes = MAX(s->opts.budget_bytes, (size_t)MIN_BUDGET);
	s->raws.limit_bytes = s->opts.budget_bytes / 3;
	s->entries.limit_bytes = s->opts.budget_bytes - s->raws.limit_bytes;
	s->raws.not_forked = s->entries.not_forked = true;	/* no worker has to do with them */
	map_init(&s->raw_by_hash, sizeof(uint64_t), sizeof(uint32_t));
	map_init(&s->entry_by_hash, sizeof(uint64_t), sizeof(uint32_t));
	*ret = s;
	return 0;
}

void stack_set_free(struct stack_set *s)
{
	if (!s)
		return;
	map_fini(&s->raw_by_hash);
	map_fini(&s->entry_by_hash);
	arena_fini(&s->raws);
	arena_fini(&s->entries);
	vec_fini(&s->raw_at);
	vec_fini(&s->at);
	vec_fini(&s->types);
	vec_fini(&s->locs);
	free(s);
}

static void forget_raws(struct stack_set *s)
{
	map_clear(&s->raw_by_hash);
	arena_reset(&s->raws);
	s->raw_at.len = 0;
}

void stack_set_clear(struct stack_set *s)
{
	forget_raws(s);
	map_clear(&s->entry_by_hash);
	arena_reset(&s->entries);
	s->at.len = 0;
	s->dropped = 0;
}

size_t stack_set_len(const struct stack_set *s)
{
	return s->at.len;
}

const struct stack_entry *stack_set_at(const struct stack_set *s, size_t i)
{
	return i < s->at.len ? &s->at.items[i]->e : NULL;
}

uint64_t stack_set_dropped(const struct stack_set *s)
{
	return s->dropped;
}

/* ---- reading an event ---- */

static const struct field *find_field(const struct event_desc *d, const char *name)
{
	return FIND_ITEM(it, d->fields, d->n_fields, !strcmp(it->name, name));
}

/* NULL without memory. */
static const struct type_fields *fields_of(struct stack_set *s, const struct event_desc *d)
{
	for (size_t i = 0; i < s->types.len; i++)
		if (s->types.items[i].desc == d)
			return &s->types.items[i];
	if (vec_grow(&s->types) < 0)
		return NULL;
	s->types.items[s->types.len] = (struct type_fields){
		.desc = d, .value = find_field(d, "stack.value"), .wait = find_field(d, "stack.wait"),
		.end = find_field(d, "stack.end"), .comm = find_field(d, "thread.name"),
		.count = find_field(d, "stack.count"), .error = find_field(d, "stack.error"),
	};
	return &s->types.items[s->types.len++];
}

static uint64_t number(const struct event *ev, const struct field *f)
{
	uint64_t n;

	return f && event_get_number(ev, f, &n) == 0 ? n : 0;
}

uint64_t stack_event_value(struct stack_set *s, const struct event *ev)
{
	const struct type_fields *f = fields_of(s, ev->desc);

	return f ? number(ev, f->value) : 0;
}

uint64_t stack_event_count(struct stack_set *s, const struct event *ev)
{
	const struct type_fields *f = fields_of(s, ev->desc);
	uint64_t n = f && f->count ? number(ev, f->count) : 1;

	return n ? n : 1;
}

/* The thread's own name if the event has it, else the process's. */
static void take_comm(const struct event *ev, const struct field *f, char ret[16])
{
	const struct sec_proc *proc = event_proc(ev);
	const struct section *sec = event_section(ev, SEC_PROC);
	struct value v;
	const char *text = NULL;
	size_t len = 0;

	if (f && event_get(ev, f, &v) == 0 && v.kind == VAL_STR) {
		text = v.str;
		len = v.len;
	} else if (proc) {
		text = event_sec_proc_str(proc, sec, proc->comm, &len);
	}
	if (text)
		memcpy(ret, text, strnlen(text, MIN(len, (size_t)16)));
}

static const uint64_t *take_stack(const struct event *ev, enum sec_kind kind, uint32_t bit, uint32_t *ret_n,
				  uint32_t *has)
{
	const struct section *sec = event_section(ev, kind);

	if (!sec)
		return NULL;
	*has |= bit;
	*ret_n = sec->len / 8;
	return sec->data;
}

/* -EFAULT means that the CPU was interrupted in user space and has no kernel stack. */
static bool stack_was_refused(const struct event *ev, const struct field *f)
{
	struct value v;

	return f && event_get(ev, f, &v) == 0 && v.kind == VAL_INT && v.i && v.i != -EFAULT;
}

static int take(struct stack_set *s, const struct event *ev, struct incoming *ret)
{
	const struct type_fields *f = fields_of(s, ev->desc);

	if (!f)
		return -ENOMEM;
	memset(ret, 0, sizeof(*ret));
	ret->user = take_stack(ev, SEC_STACK_USER, HAS_USER, &ret->id.n_user, &ret->id.has);
	ret->kern = take_stack(ev, SEC_STACK_KERN, HAS_KERN, &ret->id.n_kern, &ret->id.has);
	if (!ret->id.has && !f->value)
		return -ENOENT;
	ret->id.key.tgid = ev->tgid;
	ret->id.key.tid = s->opts.by_thread ? ev->tid : 0;
	ret->id.key.start_ns = ev->start_ns;
	ret->id.key.call = s->opts.by_call ? ev->keys.call : 0;
	ret->id.key.cpu = s->opts.by_cpu ? ev->cpu : 0;
	take_comm(ev, f->comm, ret->id.key.comm);
	ret->id.kind = ev->desc->name;
	ret->id.user_end = (uint32_t)number(ev, f->end);
	ret->id.gen = s->sym ? sym_generation(s->sym, ev) : 0;
	if (!ret->id.n_kern && stack_was_refused(ev, f->error))
		ret->id.has |= KERN_FAILED;
	ret->value = number(ev, f->value);
	ret->count = stack_event_count(s, ev);
	ret->wait = number(ev, f->wait);
	return 0;
}

static uint64_t hash_of(const struct ident *id, const void *user, const void *kern, size_t size)
{
	uint64_t h[3] = { map_hash(id, sizeof(*id)), map_hash(user, id->n_user * size),
			  map_hash(kern, id->n_kern * size) };

	return map_hash(h, sizeof(h));
}

static bool same(const void *a, const void *b, size_t len)
{
	return !len || !memcmp(a, b, len);
}

/* ---- step one: raw addresses ---- */

static uint32_t find_raw(const struct stack_set *s, const struct incoming *in, uint64_t hash)
{
	const uint32_t *first = map_find(&s->raw_by_hash, &hash);

	for (uint32_t i = first ? *first : NONE; i != NONE; i = s->raw_at.items[i]->next) {
		const struct raw *r = s->raw_at.items[i];

		if (same(&r->id, &in->id, sizeof(r->id)) && same(r->ips, in->user, in->id.n_user * 8) &&
		    same(r->ips + in->id.n_user, in->kern, in->id.n_kern * 8))
			return r->entry;
	}
	return NONE;
}

/* Makes index @i the head of the chain of @hash. -ENOMEM. */
static int chain(struct map *m, uint64_t hash, uint32_t i, uint32_t *ret_next)
{
	bool is_new = false;
	uint32_t *first = map_add(m, &hash, &is_new);

	if (!first)
		return -ENOMEM;
	*ret_next = is_new ? NONE : *first;
	*first = i;
	return 0;
}

/* A cache: cleared when full; a stack that does not fit goes through the second step every time. */
static void remember_raw(struct stack_set *s, const struct incoming *in, uint64_t hash, uint32_t entry)
{
	size_t n = in->id.n_user + in->id.n_kern;
	struct raw *r = arena_alloc(&s->raws, sizeof(*r) + n * 8);

	if (!r) {
		forget_raws(s);
		r = arena_alloc(&s->raws, sizeof(*r) + n * 8);
	}
	if (!r || vec_grow(&s->raw_at) < 0)
		return;
	r->id = in->id;
	r->entry = entry;
	if (in->id.n_user)
		memcpy(r->ips, in->user, in->id.n_user * 8);
	if (in->id.n_kern)
		memcpy(r->ips + in->id.n_user, in->kern, in->id.n_kern * 8);
	if (chain(&s->raw_by_hash, hash, (uint32_t)s->raw_at.len, &r->next) == 0)
		s->raw_at.items[s->raw_at.len++] = r;
}

/* ---- step two: locations ---- */

static void locate_plain(const uint64_t *ips, size_t n, struct sym_loc *ret)
{
	for (size_t i = 0; i < n; i++)
		ret[i] = (struct sym_loc){ .addr = ips[i] };
}

/* Both stacks into s->locs, user first. Addresses that the symbolizer cannot locate are kept as they are. */
static int locate(struct stack_set *s, const struct event *ev, const struct incoming *in)
{
	size_t n = (size_t)in->id.n_user + in->id.n_kern;
	struct sym_loc *user, *kern;

	while (s->locs.cap < n) {
		s->locs.len = s->locs.cap;
		if (vec_grow(&s->locs) < 0)
			return -ENOMEM;
	}
	user = s->locs.items;
	kern = user + in->id.n_user;
	locate_plain(in->user, in->id.n_user, user);
	locate_plain(in->kern, in->id.n_kern, kern);
	if (s->sym && in->id.n_user)
		sym_locate_user(s->sym, ev, user, in->id.n_user);
	if (s->sym && in->id.n_kern)
		sym_locate_kernel(s->sym, ev, kern, in->id.n_kern);
	return 0;
}

static uint32_t find_entry(const struct stack_set *s, const struct ident *id, uint64_t hash)
{
	const uint32_t *first = map_find(&s->entry_by_hash, &hash);
	const struct sym_loc *user = s->locs.items, *kern = user + id->n_user;

	for (uint32_t i = first ? *first : NONE; i != NONE; i = s->at.items[i]->next) {
		const struct counted *c = s->at.items[i];

		if (same(&c->id, id, sizeof(*id)) && same(c->e.user, user, id->n_user * sizeof(*user)) &&
		    same(c->e.kern, kern, id->n_kern * sizeof(*kern)))
			return i;
	}
	return NONE;
}

static const char *container_of_event(struct arena *a, const struct event *ev)
{
	const struct sec_proc *proc = event_proc(ev);
	const char *text = NULL;
	size_t len = 0;

	if (proc)
		text = event_sec_proc_str(proc, event_section(ev, SEC_PROC), proc->container, &len);
	text = text && len ? arena_copy(a, text, len) : NULL;
	return text ? text : "";
}

/* The stacks after the entry: locations, then addresses, in one allocation: no rollback is needed. */
static struct counted *new_entry(struct stack_set *s, const struct incoming *in)
{
	size_t n_user = in->id.n_user, n_kern = in->id.n_kern, n = n_user + n_kern;
	struct counted *c = arena_alloc(&s->entries, sizeof(*c) + n * (sizeof(struct sym_loc) + 8));
	struct sym_loc *locs = (struct sym_loc *)(c + 1);
	uint64_t *ips;

	if (!c)
		return NULL;
	ips = (uint64_t *)(locs + n);
	if (n)
		memcpy(locs, s->locs.items, n * sizeof(*locs));
	if (n_user)
		memcpy(ips, in->user, n_user * 8);
	if (n_kern)
		memcpy(ips + n_user, in->kern, n_kern * 8);
	c->e = (struct stack_entry){
		.key = in->id.key, .min = UINT64_MAX, .user_end = in->id.user_end, .kind = in->id.kind,
		.container = "", .user = locs, .kern = locs + n_user, .user_ips = ips, .kern_ips = ips + n_user,
		.n_user = in->id.n_user, .n_kern = in->id.n_kern,
		.has_user = in->id.has & HAS_USER, .has_kern = in->id.has & HAS_KERN,
		.kern_failed = in->id.has & KERN_FAILED,
	};
	return c;
}

static int add_entry(struct stack_set *s, const struct event *ev, const struct incoming *in, uint32_t *ret)
{
	struct ident id = in->id;
	struct counted *c;
	uint64_t hash;
	int r = locate(s, ev, in);

	if (r < 0)
		return r;
	id.gen = 0;
	hash = hash_of(&id, s->locs.items, s->locs.items + id.n_user, sizeof(struct sym_loc));
	*ret = find_entry(s, &id, hash);
	if (*ret != NONE)
		return 0;
	if ((s->opts.max_entries && s->at.len >= s->opts.max_entries) || s->at.len == NONE || vec_grow(&s->at) < 0)
		return -ENOSPC;
	c = new_entry(s, in);
	if (!c || chain(&s->entry_by_hash, hash, (uint32_t)s->at.len, &c->next) < 0)
		return -ENOSPC;
	c->id = id;
	*ret = (uint32_t)s->at.len;
	s->at.items[s->at.len++] = c;
	return 0;
}

static void count(struct stack_set *s, const struct event *ev, const struct incoming *in, uint32_t i)
{
	struct stack_entry *e = &s->at.items[i]->e;

	if (!e->count || !*e->container)
		e->container = container_of_event(&s->entries, ev);
	e->count += in->count;
	e->value += in->value;
	e->wait += MIN(in->wait, in->value);
	e->min = MIN(e->min, in->value);
	e->max = MAX(e->max, in->value);
}

/* ---- incomplete stacks ---- */

const char *stack_end_reason(uint32_t user_end)
{
	static const char *const reasons[] = {
		[SONDE_STACK_NO_TABLE] = "unwind info not loaded yet",
		[SONDE_STACK_NO_RULE] = "no unwind info",
		[SONDE_STACK_NO_MAPPING] = "an address of no mapping",
		[SONDE_STACK_MEMORY] = "stack memory not readable",
		[SONDE_STACK_DEPTH] = "too many frames",
		[SONDE_STACK_FP] = "broken frame pointers",
		[SONDE_STACK_RULE] = "unwind info of an unknown kind",
		[SONDE_STACK_BUSY] = "mappings were changing",
	};

	_Static_assert(ARRAY_SIZE(reasons) == SONDE_STACK__MAX, "words per end of a stack");
	if (user_end >= SONDE_STACK__MAX)
		return "for an unknown reason";
	return reasons[user_end];
}

bool stack_entry_missed_user(const struct stack_entry *e)
{
	return e->has_user && !e->n_user && stack_end_reason(e->user_end);
}

bool stack_entry_missed_kern(const struct stack_entry *e)
{
	return e->has_kern && e->kern_failed;
}

int stack_event_missed(struct stack_set *s, const struct event *ev)
{
	struct stack_entry e;
	struct incoming in;
	int r = take(s, ev, &in);

	if (r < 0)
		return r;
	e = (struct stack_entry){
		.user_end = in.id.user_end, .n_user = in.id.n_user, .n_kern = in.id.n_kern,
		.has_user = in.id.has & HAS_USER, .has_kern = in.id.has & HAS_KERN,
		.kern_failed = in.id.has & KERN_FAILED,
	};
	return stack_entry_missed_user(&e) + stack_entry_missed_kern(&e);
}

int stack_set_put(struct stack_set *s, const struct event *ev, size_t *ret_index)
{
	struct incoming in;
	uint32_t i;
	uint64_t hash;
	int r = take(s, ev, &in);

	if (r == -ENOENT)
		return r;
	if (r < 0) {
		s->dropped++;
		return -ENOSPC;
	}
	hash = hash_of(&in.id, in.user, in.kern, 8);
	i = find_raw(s, &in, hash);
	if (i == NONE) {
		if (add_entry(s, ev, &in, &i) < 0) {
			s->dropped += in.count;
			return -ENOSPC;
		}
		remember_raw(s, &in, hash, i);
	}
	count(s, ev, &in, i);
	*ret_index = i;
	return 0;
}
