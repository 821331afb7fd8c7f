// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of sockets: per cookie the owners by time.
 */
#include "state/state_socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "state/state_limits.h"
#include "state/state_tables.h"

#define SOCKET_BYTES 128	/* of an entry with one owner, with its share of the table */
#define MIN_SOCKETS 16
#define KEEP_OWNERS 16		/* of one socket: those of before the window make room */
#define MAX_OWNERS 256		/* of one socket */

enum source { SOURCE_EVENT, SOURCE_SNAPSHOT, SOURCE_LISTENER, SOURCE__MAX };

struct owner {
	uint64_t at_ns, start_ns;
	uint32_t tgid;
	uint32_t source;	/* enum source */
};

struct sock {
	struct list age;	/* in open, or in closed by the order of closing */
	uint64_t cookie, closed_ns; /* closed_ns 0 = open */
	uint16_t n, cap;
	bool used;		/* since the last search for room */
	struct owner *owners;	/* ascending; `first`, or owned */
	struct owner first;
};

static struct sock *find(const struct state_sockets *t, uint64_t cookie)
{
	return map_find_ptr(&t->by_cookie, &cookie);
}

/* ---- room ---- */

static void forget(struct state_sockets *t, struct sock *e)
{
	list_remove(&e->age);
	map_remove(&t->by_cookie, &e->cookie);
	t->bytes -= SOCKET_BYTES;
	if (e->owners != &e->first) {
		t->bytes -= e->cap * sizeof(e->owners[0]);
		free(e->owners);
	}
	free(e);
}

static struct sock *oldest(struct list *l)
{
	struct list *a = list_first(l);

	return a ? container_of(a, struct sock, age) : NULL;
}

/* The first open socket without a question since the last round. */
static struct sock *choose_open(struct state_sockets *t)
{
	struct sock *e;

	while ((e = oldest(&t->open)) && e->used) {
		e->used = false;
		list_remove(&e->age);
		list_add(&t->open, &e->age);
	}
	return e;
}

static bool is_full(const struct state_sockets *t)
{
	return t->bytes + SOCKET_BYTES > t->max_bytes;
}

/* Removes sockets closed long ago. Without room also others, the closed ones first; open ones are counted. */
static void make_room(struct state *s, struct state_sockets *t)
{
	struct sock *e;

	while ((e = oldest(&t->closed)) &&
	       (is_full(t) || e->closed_ns + STATE_WINDOW_NS + STATE_KEEP_NS < s->now_ns))
		forget(t, e);
	while (is_full(t) && (e = choose_open(t))) {
		state_evicted_add(&t->evicted, map_hash(&e->cookie, sizeof(e->cookie)));
		forget(t, e);
	}
}

static struct sock *add_sock(struct state *s, uint64_t cookie)
{
	struct state_sockets *t = &s->socks;
	struct sock *e;

	make_room(s, t);
	e = map_add_new(&t->by_cookie, &cookie, sizeof(*e));
	if (!e)
		return NULL;
	e->cookie = cookie;
	e->owners = &e->first;
	e->cap = 1;
	list_add(&t->open, &e->age);
	t->bytes += SOCKET_BYTES;
	return e;
}

/* ---- owners ---- */

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare(const struct owner *a, const struct owner *b)
{
	int r = compare_numbers(a->at_ns, b->at_ns);

	r = r ? r : compare_numbers(b->source, a->source); /* the strongest last */
	r = r ? r : compare_numbers(a->start_ns, b->start_ns);
	return r ? r : compare_numbers(a->tgid, b->tgid);
}

static int grow(struct state_sockets *t, struct sock *e)
{
	uint16_t cap = (uint16_t)(e->cap * 2);
	bool inside = e->owners == &e->first;
	struct owner *p;

	if (e->n < e->cap)
		return 0;
	p = realloc(inside ? NULL : e->owners, cap * sizeof(*p));
	if (!p)
		return -ENOMEM;
	if (inside)
		p[0] = e->first;
	t->bytes += (size_t)(inside ? cap : cap - e->cap) * sizeof(*p);
	e->owners = p;
	e->cap = cap;
	return 0;
}

/* Removes the oldest owner if its time is beyond the window. */
static void forget_owner(const struct state *s, struct sock *e)
{
	if (e->n < KEEP_OWNERS || (e->n < MAX_OWNERS && e->owners[1].at_ns + STATE_WINDOW_NS >= s->now_ns))
		return;
	memmove(&e->owners[0], &e->owners[1], (size_t)(e->n - 1) * sizeof(e->owners[0]));
	e->n--;
}

static int add_owner(struct state *s, struct sock *e, const struct owner *o)
{
	unsigned i;
	int order = 1;

	forget_owner(s, e);
	i = e->n;
	while (i && (order = compare(o, &e->owners[i - 1])) < 0)
		i--;
	if (i && !order)
		return 0;
	if (grow(&s->socks, e) < 0)
		return -ENOMEM;
	memmove(&e->owners[i + 1], &e->owners[i], (size_t)(e->n - i) * sizeof(*o));
	e->owners[i] = *o;
	e->n++;
	return 0;
}

static void apply_close(struct state_sockets *t, struct sock *e, uint64_t ts_ns)
{
	if (e->closed_ns) {
		e->closed_ns = MIN(e->closed_ns, ts_ns);
		return;
	}
	e->closed_ns = ts_ns;
	list_remove(&e->age);
	list_add(&t->closed, &e->age);
}

/* A process may close a socket that it never used: its fact is as weak as a snapshot. */
static enum source source_of(const struct state_socket_fact *f)
{
	if (f->listener)
		return SOURCE_LISTENER;
	return f->snapshot || f->closed ? SOURCE_SNAPSHOT : SOURCE_EVENT;
}

int state_socket_apply(struct state *s, const struct state_socket_fact *f)
{
	const struct owner o = {
		.at_ns = f->ts_ns, .start_ns = f->start_ns, .tgid = f->tgid,
		.source = source_of(f),
	};
	struct sock *e = find(&s->socks, f->cookie);
	int r = 0;

	s->now_ns = MAX(s->now_ns, f->ts_ns);
	if (!e && !f->tgid)
		return 0;
	if (!e)
		e = add_sock(s, f->cookie);
	if (!e)
		return -ENOMEM;
	if (f->tgid)
		r = add_owner(s, e, &o);
	if (f->closed)
		apply_close(&s->socks, e, f->ts_ns);
	return r;
}

/* ---- questions ---- */

static const struct owner *last_until(const struct sock *e, uint64_t ts_ns, enum source source)
{
	for (unsigned i = e->n; i--;)
		if (e->owners[i].at_ns <= ts_ns && e->owners[i].source == source)
			return &e->owners[i];
	return NULL;
}

static const struct owner *first_after(const struct sock *e, uint64_t ts_ns)
{
	return FIND_ITEM(it, e->owners, e->n, it->at_ns > ts_ns && it->source != SOURCE_LISTENER);
}

/* The last user until then, else the next user, else the owner of the listener. */
static const struct owner *choose(const struct sock *e, uint64_t ts_ns, enum state_owner_how *ret_how)
{
	const struct owner *o = last_until(e, ts_ns, SOURCE_EVENT);

	*ret_how = STATE_OWNER_USER;
	if (o)
		return o;
	o = last_until(e, ts_ns, SOURCE_SNAPSHOT);
	if (!o)
		o = first_after(e, ts_ns);
	if (o) {
		*ret_how = o->source == SOURCE_SNAPSHOT ? STATE_OWNER_SNAPSHOT : STATE_OWNER_LATER;
		return o;
	}
	*ret_how = STATE_OWNER_LISTENER;
	o = last_until(e, ts_ns, SOURCE_LISTENER);
	return o || !e->n ? o : &e->owners[0];
}

static bool has_listener(const struct sock *e)
{
	return FIND_ITEM(it, e->owners, e->n, it->source == SOURCE_LISTENER);
}

static bool is_shared(const struct sock *e)
{
	const struct owner *one = NULL;

	for (unsigned i = 0; i < e->n; i++) {
		if (e->owners[i].source == SOURCE_LISTENER)
			continue;
		if (one && (one->tgid != e->owners[i].tgid || one->start_ns != e->owners[i].start_ns))
			return true;
		one = &e->owners[i];
	}
	return false;
}

int state_socket_find(struct state *s, uint64_t cookie, uint64_t ts_ns, struct state_socket_owner *ret)
{
	struct sock *e = find(&s->socks, cookie);
	enum state_owner_how how;
	const struct owner *o;

	if (!e)
		return state_evicted_has(&s->socks.evicted, map_hash(&cookie, sizeof(cookie))) ? -ESTALE : -ENOENT;
	e->used = true;
	o = choose(e, ts_ns, &how);
	if (!o)
		return -ENOENT;
	*ret = (struct state_socket_owner){
		.tgid = o->tgid, .start_ns = o->start_ns, .how = how, .shared = is_shared(e),
		.accepted = has_listener(e),
	};
	return 0;
}

/* ---- life ---- */

void state_socket_init(struct state *s, size_t budget_bytes)
{
	struct state_sockets *t = &s->socks;

	map_init(&t->by_cookie, sizeof(uint64_t), sizeof(struct sock *));
	list_init(&t->open);
	list_init(&t->closed);
	t->max_bytes = MAX(budget_bytes, (size_t)MIN_SOCKETS * SOCKET_BYTES);
}

void state_socket_fini(struct state *s)
{
	struct state_sockets *t = &s->socks;
	struct sock *e;

	while ((e = oldest(&t->open)) || (e = oldest(&t->closed)))
		forget(t, e);
	map_fini(&t->by_cookie);
}
