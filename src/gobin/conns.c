// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Connections: types whose methods include those of net.Conn, and which member of each leads towards the descriptor.
 *
 * A wrapper embeds the inner connection, up to two structs deep, or has a single field that can hold one. A field of
 * the type's own kind is a parent or a sibling, never the inner one. Several such fields, none of them embedded, are
 * ambiguous: the type then leads nowhere. If there is none, a field of an interface that a connection satisfies
 * (io.ReadWriteCloser) is tried at run time, and believed if it holds a type of the table.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/vec.h"
#include "gobin/desc.h"
#include "gobin/job.h"

#define DEEP_MAX 2		/* embedded structs */
#define FOUND_MAX 1024		/* candidates of one program; the largest have about 30 */
#define NETFD "net.netFD"

/* net.Conn, in the order of a method list. */
static const char *const methods[] = {
	"Close", "LocalAddr", "Read", "RemoteAddr", "SetDeadline", "SetReadDeadline", "SetWriteDeadline", "Write",
};
#define ALL_METHODS ((1u << ARRAY_SIZE(methods)) - 1)

struct candidate {
	uint64_t type;		/* what an interface has as its dynamic type */
	uint64_t structure;	/* the same, or what it points to */
	bool direct;
};

struct search {
	const struct desc_reader *r;
	struct candidate *all;	/* ascending by type; owned */
	size_t n;
};

/* Ways into one type, by how far they are to be trusted. */
struct ways {
	const struct candidate *of;
	struct gobin_conn_way embedded, plain, loose[GOBIN_CONN_WAYS];
	unsigned n_plain, n_loose;
	bool root;
};

/* ---- candidates ---- */

static unsigned method_bit(const struct desc_reader *r, int32_t name_off)
{
	char name[24];

	if (!desc_name_at(r, name_off, name, sizeof(name)))
		return 0;
	for (unsigned i = 0; i < ARRAY_SIZE(methods); i++)
		if (!strcmp(name, methods[i]))
			return 1u << i;
	return 0;
}

/* Methods of net.Conn among the @n at @list, each @len bytes; *ret_others: it has further ones. */
static unsigned method_bits(const struct desc_reader *r, uint64_t list, uint64_t n, uint64_t len, bool *ret_others)
{
	unsigned bits = 0;

	*ret_others = false;
	for (uint64_t i = 0; i < MIN(n, (uint64_t)DESC_METHODS_MAX); i++) {
		unsigned bit = method_bit(r, (int32_t)image_u32(r->img, list + i * len));

		bits |= bit;
		*ret_others |= !bit;
	}
	return bits;
}

static bool is_conn(const struct desc_reader *r, const struct desc *d)
{
	uint64_t at = desc_uncommon(d);
	uint32_t n = at ? image_u32(r->img, at + 4) & 0xffff : 0;
	bool others;

	return n >= ARRAY_SIZE(methods) &&
	       method_bits(r, at + image_u32(r->img, at + 8), n, METHOD_LEN, &others) == ALL_METHODS;
}

static bool find_struct(const struct desc_reader *r, const struct desc *d, uint64_t *ret)
{
	struct desc elem;

	if (d->kind == KIND_STRUCT) {
		*ret = d->addr;
		return true;
	}
	*ret = d->kind == KIND_POINTER ? image_u64(r->img, d->addr + TYPE_ELEM) : 0;
	return *ret >= r->types && *ret < r->etypes && desc_read(r, *ret, &elem) && elem.kind == KIND_STRUCT;
}

static int find_candidates(struct search *s, const struct go_types *t)
{
	s->all = calloc(FOUND_MAX, sizeof(*s->all));
	if (!s->all)
		return -ENOMEM;
	for (size_t i = 0; i < t->all.len && s->n < FOUND_MAX; i++) {
		struct candidate c = { .type = t->all.items[i] };
		struct desc d;

		if (!desc_read(s->r, c.type, &d) || !find_struct(s->r, &d, &c.structure) || !is_conn(s->r, &d))
			continue;
		c.direct = d.kind == KIND_STRUCT && d.direct;
		s->all[s->n++] = c;
	}
	qsort(s->all, s->n, sizeof(*s->all), vec_by_u64);
	return 0;
}

static bool is_candidate(const struct search *s, uint64_t type)
{
	const struct candidate key = { .type = type };

	return s->n && bsearch(&key, s->all, s->n, sizeof(key), vec_by_u64);
}

/* ---- ways inside ---- */

static bool is_netfd(const struct desc_reader *r, const struct desc *d)
{
	uint64_t elem = image_u64(r->img, d->addr + TYPE_ELEM);
	char name[16];
	struct desc e;

	return elem >= r->types && elem < r->etypes && desc_read(r, elem, &e) && e.kind == KIND_STRUCT &&
	       desc_name_at(r, e.str, name, sizeof(name)) &&
	       !strcmp(name + (e.tflag & TFLAG_EXTRA_STAR && *name == '*'), NETFD);
}

/* How a field of this type may lead on. */
static enum gobin_conn_how how_of(const struct search *s, const struct desc *d)
{
	unsigned bits;
	bool others;

	if (d->kind == KIND_POINTER && is_netfd(s->r, d))
		return GOBIN_CONN_FD;
	if (d->kind == KIND_POINTER)
		return is_candidate(s, d->addr) ? GOBIN_CONN_POINTER : GOBIN_CONN_NONE;
	if (d->kind != KIND_INTERFACE)
		return GOBIN_CONN_NONE;
	bits = method_bits(s->r, image_u64(s->r->img, d->addr + INTER_METHODS),
			   image_u64(s->r->img, d->addr + INTER_METHODS + 8), IMETHOD_LEN, &others);
	if (bits == ALL_METHODS)
		return GOBIN_CONN_IFACE;
	return bits && !others ? GOBIN_CONN_MAYBE : GOBIN_CONN_NONE;
}

static void add_way(struct ways *w, struct gobin_conn_way way, bool embedded)
{
	if (way.how == GOBIN_CONN_FD) {
		w->embedded = way;
		w->root = true;
	} else if (way.how == GOBIN_CONN_MAYBE) {
		if (w->n_loose < GOBIN_CONN_WAYS)
			w->loose[w->n_loose++] = way;
	} else if (!embedded) {
		w->plain = way;
		w->n_plain++;
	} else if (!w->embedded.how) {
		w->embedded = way;
	}
}

/* Is it the type that is looked into, or a pointer to it? */
static bool is_own_kind(const struct search *s, const struct candidate *of, const struct desc *d)
{
	return d->addr == of->type || d->addr == of->structure ||
	       (d->kind == KIND_POINTER && image_u64(s->r->img, d->addr + TYPE_ELEM) == of->structure);
}

static void find_ways(const struct search *s, const struct desc *d, uint64_t base, unsigned deep, struct ways *w)
{
	uint64_t n = desc_n_fields(s->r, d);

	for (uint64_t i = 0; i < n && !w->root; i++) {
		struct desc_field f;
		struct desc t;
		enum gobin_conn_how how;

		desc_field(s->r, d, i, &f);
		if (f.type < s->r->types || f.type >= s->r->etypes || f.off > UINT16_MAX ||
		    base + f.off >= UINT16_MAX || !desc_read(s->r, f.type, &t) || is_own_kind(s, w->of, &t))
			continue;
		if (t.kind == KIND_STRUCT && f.embedded && deep < DEEP_MAX) {
			find_ways(s, &t, base + f.off, deep + 1, w);
			continue;
		}
		how = how_of(s, &t);
		if (how != GOBIN_CONN_NONE)
			add_way(w, (struct gobin_conn_way){ .how = (uint8_t)how, .off = (uint16_t)(base + f.off),
							    .type = how == GOBIN_CONN_POINTER ? f.type : 0 },
				f.embedded);
	}
}

static void take_way(struct gobin_conn *c, const struct gobin_conn_way *way)
{
	if (way->how && c->n_ways < GOBIN_CONN_WAYS)
		c->ways[c->n_ways++] = *way;
}

/* The embedded one first; a single other one where that is nil. */
static void take_ways(struct gobin_conn *c, const struct ways *w)
{
	take_way(c, &w->embedded);
	if (!w->root && w->n_plain == 1)
		take_way(c, &w->plain);
	for (unsigned i = 0; i < w->n_loose && !w->embedded.how && !w->n_plain; i++)
		take_way(c, &w->loose[i]);
}

/* ---- the answer ---- */

static uint32_t name_of(struct job *j, const struct desc *d)
{
	char text[DESC_NAME_MAX], path[DESC_NAME_MAX];
	const char *name = text, *star = d->kind == KIND_POINTER ? "*" : "";
	struct desc of = *d;
	const char *dot;

	if (d->kind == KIND_POINTER && !desc_read(&j->types.reader, image_u64(&j->img, d->addr + TYPE_ELEM), &of))
		return 0;
	if (!desc_name_at(&j->types.reader, of.str, text, sizeof(text)))
		return answer_strf(j, "%sa type without a name", star);
	name += of.tflag & TFLAG_EXTRA_STAR && *name == '*';
	dot = strchr(name, '.');
	if (!dot || !desc_uncommon(&of) ||
	    !desc_name_at(&j->types.reader, (int32_t)image_u32(&j->img, desc_uncommon(&of)), path, sizeof(path)))
		return answer_strf(j, "%s%s", star, name);
	return answer_strf(j, "%s%s%s", star, path, dot);
}

static void answer_conn(struct job *j, const struct search *s, const struct candidate *k)
{
	struct gobin_conn *c = &j->a.conns[j->a.n_conns];
	struct ways w = { .of = k };
	struct desc d;

	if (j->a.n_conns == GOBIN_CONNS_MAX) {
		j->a.n_conns_left++;
		return;
	}
	if (!desc_read(s->r, k->structure, &d))
		return;
	find_ways(s, &d, 0, 0, &w);
	*c = (struct gobin_conn){ .type = k->type, .direct = k->direct, .n_plain = (uint8_t)MIN(w.n_plain, 255u) };
	take_ways(c, &w);
	if (desc_read(s->r, k->type, &d))
		c->name = name_of(j, &d);
	j->a.n_conns++;
}

int conns_find(struct job *j)
{
	struct search s = { .r = &j->types.reader };
	int r = j->types.all.len ? find_candidates(&s, &j->types) : 0;

	for (size_t i = 0; r == 0 && i < s.n; i++)
		answer_conn(j, &s, &s.all[i]);
	free(s.all);
	return r;
}
