// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every descriptor is visited once, and no more of them than fit between types and etypes.
 */
#include "gobin/types.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"

#define TYPES_MAX (1u << 22)		/* of one program */
#define PARAMS_MAX 256			/* of one function */
#define COUNT_MAX 65536			/* fields of a struct, methods of an interface */

struct walk {
	const struct desc_reader *r;
	struct image *img;		/* the reader's */
	const struct go_module *m;
	const struct type_query *queries;
	size_t n_queries;
	struct go_types *out;
	struct map seen;		/* address -> nothing */
	size_t most;			/* descriptors that can be in the program */
	bool no_memory;
};

static void push(struct walk *w, uint64_t addr)
{
	int r;

	if (addr < w->m->types || addr >= w->m->etypes || w->no_memory || w->out->all.len >= w->most)
		return;
	r = map_note(&w->seen, &addr);
	w->no_memory = r < 0 || (r && vec_push(&w->out->all, addr) < 0);
}

static void push_off(struct walk *w, int32_t off)
{
	if (off > 0)
		push(w, w->m->types + (uint32_t)off);
}

/* ---- what a type leads to ---- */

static void push_methods(struct walk *w, const struct desc *d)
{
	uint64_t at = desc_uncommon(d), list;
	uint16_t n;

	if (!at)
		return;
	n = (uint16_t)image_u32(w->img, at + 4);
	list = at + image_u32(w->img, at + 8);
	for (uint16_t i = 0; i < MIN(n, (uint16_t)DESC_METHODS_MAX); i++)
		push_off(w, (int32_t)image_u32(w->img, list + (uint64_t)i * METHOD_LEN + 4));
}

static void push_params(struct walk *w, const struct desc *d)
{
	uint32_t counts = image_u32(w->img, d->addr + FUNC_IN);
	uint32_t n = (counts & 0xffff) + (counts >> 16 & 0x7fff);
	uint64_t at = d->addr + FUNC_LEN + (d->tflag & TFLAG_UNCOMMON ? UNCOMMON_LEN : 0);

	for (uint32_t i = 0; i < MIN(n, (uint32_t)PARAMS_MAX); i++)
		push(w, image_u64(w->img, at + i * 8ull));
}

static void push_interface(struct walk *w, const struct desc *d)
{
	uint64_t at = image_u64(w->img, d->addr + INTER_METHODS), n = image_u64(w->img, d->addr + INTER_METHODS + 8);

	for (uint64_t i = 0; i < MIN(n, (uint64_t)DESC_METHODS_MAX); i++)
		push_off(w, (int32_t)image_u32(w->img, at + i * IMETHOD_LEN + 4));
}

static void push_fields(struct walk *w, const struct desc *d)
{
	uint64_t at = image_u64(w->img, d->addr + STRUCT_FIELDS), n = desc_n_fields(w->r, d);

	for (uint64_t i = 0; i < n; i++)
		push(w, image_u64(w->img, at + i * FIELD_LEN + 8));
}

static void push_next(struct walk *w, const struct desc *d)
{
	push_off(w, d->to_this);
	push_methods(w, d);
	switch (d->kind) {
	case KIND_MAP:
		push(w, image_u64(w->img, d->addr + TYPE_KEY));
		push(w, image_u64(w->img, d->addr + TYPE_MAP_ELEM));
		push(w, image_u64(w->img, d->addr + TYPE_MAP_GROUP));	/* called a bucket before Go 1.24 */
		break;
	case KIND_ARRAY:
	case KIND_CHAN:
	case KIND_POINTER:
	case KIND_SLICE:
		push(w, image_u64(w->img, d->addr + TYPE_ELEM));
		break;
	case KIND_FUNC:
		push_params(w, d);
		break;
	case KIND_INTERFACE:
		push_interface(w, d);
		break;
	case KIND_STRUCT:
		push_fields(w, d);
		break;
	default:
		break;
	}
}

/* ---- keeping ---- */

static bool keep_field(struct walk *w, struct go_type *t, const struct desc_field *field)
{
	struct struct_field f = { .off = field->off };
	struct desc d;

	if (!field->name[0] || f.off > t->size)
		return true;	/* in none of the rows */
	memcpy(f.name, field->name, sizeof(f.name));
	if (field->type >= w->m->types && field->type < w->m->etypes && desc_read(w->r, field->type, &d)) {
		f.size = d.size;
		f.has_size = true;
		if (f.size > t->size - f.off)
			return true;
	}
	return vec_push(&t->fields, f) >= 0;
}

static void keep_struct(struct walk *w, struct go_type *t, const struct desc *d)
{
	uint64_t n = desc_n_fields(w->r, d);

	t->is_struct = true;
	for (uint64_t i = 0; i < n; i++) {
		struct desc_field f;

		desc_field(w->r, d, i, &f);
		if (!keep_field(w, t, &f))
			w->no_memory = true;
	}
}

/* Last part of "*pkg.Name"; types of functions and generic types have brackets and match nothing. */
static const char *short_name(const char *text)
{
	const char *dot = strrchr(text, '.');

	return dot ? dot + 1 : text;
}

static void keep(struct walk *w, const struct type_query *want, enum go_match match, const struct desc *d,
		 const char *path, const char *name)
{
	struct go_type *t = (struct go_type *)types_find(w->out, want->pkg, want->name);

	if (t && t->match >= match)
		return;
	if (t) {	/* keep the better match: not the vendored copy */
		vec_fini(&t->fields);
	} else {
		if (vec_grow(&w->out->found) < 0) {
			w->no_memory = true;
			return;
		}
		t = &w->out->found.items[w->out->found.len++];
	}
	*t = (struct go_type){ .pkg = want->pkg, .name = want->name, .match = match, .addr = d->addr,
			       .size = d->size };
	if (strlen(path) + strlen(name) + 2 <= sizeof(t->full)) {
		strcpy(t->full, path);
		strcat(t->full, ".");
		strcat(t->full, name);
	}
	if (d->kind == KIND_STRUCT)
		keep_struct(w, t, d);
}

/* The storage type of a map has no name; its text identifies it: "*map.group[string][]string". */
static void keep_group(struct walk *w, const struct desc *d)
{
	static const char prefix[] = "map.";
	char text[DESC_NAME_MAX];
	const char *name = text;

	if (!desc_name_at(w->r, d->str, text, sizeof(text)))
		return;
	if (d->tflag & TFLAG_EXTRA_STAR && *name == '*')
		name++;
	if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
		return;
	name += sizeof(prefix) - 1;
	for (size_t i = 0; i < w->n_queries; i++)
		if (w->queries[i].pkg == PKG_MAP && !strcmp(name, w->queries[i].name))
			keep(w, &w->queries[i], GO_EXACT, d, gobin_names_package_path(PKG_MAP), name);
}

static void keep_queried(struct walk *w, const struct desc *d)
{
	char text[DESC_NAME_MAX], path[DESC_NAME_MAX];
	const char *name = NULL;

	if (d->kind == KIND_STRUCT && !(d->tflag & TFLAG_NAMED))
		keep_group(w, d);
	if (!(d->tflag & TFLAG_NAMED) || !(d->tflag & TFLAG_UNCOMMON) || !desc_uncommon(d) ||
	    !desc_name_at(w->r, d->str, text, sizeof(text)))
		return;
	name = short_name(text);
	path[0] = '\0';
	for (size_t i = 0; i < w->n_queries; i++) {
		enum go_match m;

		if (!gobin_names_match(GO_BUNDLED, name, w->queries[i].name))
			continue;
		if (!path[0] && !desc_name_at(w->r, (int32_t)image_u32(w->img, desc_uncommon(d)), path, sizeof(path)))
			return;
		m = gobin_names_match_package(w->queries[i].pkg, path, strlen(path));
		/*
		 * Types of the bundled copy have the prefix; a type without it is net/http's own type of that name.
		 */
		if (m == GO_BUNDLED ? !strcmp(name, w->queries[i].name)
				    : !gobin_names_match(m, name, w->queries[i].name))
			continue;
		if (m != GO_NO)
			keep(w, &w->queries[i], m, d, path, name);
	}
}

/* ---- starting points ---- */

static void add_itab(struct walk *w, uint64_t addr)
{
	struct go_itab i = { .addr = addr, .inter = image_u64(w->img, addr), .type = image_u64(w->img, addr + 8) };

	if (i.inter < w->m->types || i.inter >= w->m->etypes)
		return;
	push(w, i.inter);
	push(w, i.type);
	if (vec_push(&w->out->itabs, i) < 0)
		w->no_memory = true;
}

/* Size of a descriptor with its trailing data; 0 = unknown. */
static uint64_t whole_size(struct walk *w, const struct desc *d)
{
	static const uint8_t base[KIND_UNSAFE + 1] = {
		[KIND_ARRAY] = 72, [KIND_CHAN] = 64, [KIND_FUNC] = 56, [KIND_INTERFACE] = 80, [KIND_MAP] = 128,
		[KIND_POINTER] = 56, [KIND_SLICE] = 56, [KIND_STRUCT] = 80,
	};
	uint64_t size = base[d->kind] ? base[d->kind] : TYPE_LEN, n = 0;
	uint32_t counts;

	if (d->tflag & TFLAG_UNCOMMON) {
		n = image_u32(w->img, d->addr + size + 4) & 0xffff;
		size += UNCOMMON_LEN + n * METHOD_LEN;
	}
	if (d->kind == KIND_FUNC) {
		counts = image_u32(w->img, d->addr + FUNC_IN);
		size += 8ull * ((counts & 0xffff) + (counts >> 16 & 0x7fff));
	}
	if (d->kind != KIND_STRUCT && d->kind != KIND_INTERFACE)
		return size;
	n = image_u64(w->img, d->addr + STRUCT_FIELDS + 8);
	return n > COUNT_MAX ? 0 : size + n * (d->kind == KIND_STRUCT ? FIELD_LEN : IMETHOD_LEN);
}

/* Since Go 1.27 descriptors are consecutive, the first one at the second word, and type links are gone. */
static void add_type_row(struct walk *w)
{
	uint64_t at = w->m->types + 8;

	while (at < w->m->typedesc_end) {
		uint64_t size;
		struct desc d;

		if (!desc_read(w->r, at, &d))
			return;
		size = whole_size(w, &d);
		if (!size)
			return;
		push(w, at);
		at += ROUND_UP(size, 8);
	}
}

/* Since Go 1.27 itabs are consecutive: 24 bytes and a word per method of the interface. */
static void add_itab_row(struct walk *w)
{
	uint64_t at = w->m->itabs;

	while (at + 24 <= w->m->itabs_end) {
		uint64_t inter = image_u64(w->img, at), n = image_u64(w->img, inter + INTER_METHODS + 8);

		if (inter < w->m->types || inter >= w->m->etypes || !n || n > DESC_METHODS_MAX)
			return;
		add_itab(w, at);
		at += 24 + n * 8;
	}
}

static void add_roots(struct walk *w)
{
	for (uint64_t i = 0; i < w->m->n_itablinks; i++)
		add_itab(w, image_u64(w->img, w->m->itablinks + i * 8));
	if (w->m->itabs)
		add_itab_row(w);
	if (w->m->typedesc_end)
		add_type_row(w);
	for (uint64_t i = 0; i < w->m->n_typelinks; i++)
		push_off(w, (int32_t)image_u32(w->img, w->m->typelinks + i * 4));
	w->out->n_itabs = (uint32_t)w->out->itabs.len;
}

static void add_pointer(struct walk *w, uint64_t addr, uint64_t elem)
{
	for (size_t i = 0; i < w->out->found.len; i++)
		if (w->out->found.items[i].addr == elem)
			w->out->found.items[i].ptr = addr;
}

/* A pointer is visited before its target: a second pass resolves both. */
static void find_pointers(struct walk *w)
{
	for (size_t i = 0; i < w->out->all.len; i++) {
		struct desc d;

		if (desc_read(w->r, w->out->all.items[i], &d) && d.kind == KIND_POINTER && !(d.tflag & TFLAG_NAMED))
			add_pointer(w, d.addr, image_u64(w->img, d.addr + TYPE_ELEM));
	}
}

/* Do offsets have the bit? Yes if one is odd where its type requires alignment, or beyond its struct. */
static bool looks_shifted(struct walk *w)
{
	for (size_t i = 0; i < w->out->all.len && i < 4096; i++) {
		struct desc d;
		uint64_t at, n;

		if (!desc_read(w->r, w->out->all.items[i], &d) || d.kind != KIND_STRUCT)
			continue;
		at = image_u64(w->img, d.addr + STRUCT_FIELDS);
		n = image_u64(w->img, d.addr + STRUCT_FIELDS + 8);
		for (uint64_t f = 0; f < MIN(n, (uint64_t)DESC_FIELDS_MAX); f++)
			if (image_u64(w->img, at + f * FIELD_LEN + 16) > d.size)
				return true;
	}
	return false;
}

int types_read(struct image *img, const struct go_module *m, unsigned minor, unsigned since,
	       const struct type_query *queries, size_t n_queries, struct go_types *ret, const char **ret_why)
{
	struct walk w = { .r = &ret->reader, .img = img, .m = m, .queries = queries, .n_queries = n_queries,
			  .out = ret };

	ret->reader = (struct desc_reader){ .img = img, .types = m->types, .etypes = m->etypes };
	/* each has bytes of its own, and no more bytes are read than the budget has */
	w.most = MIN(img->budget / TYPE_LEN, (size_t)TYPES_MAX);
	w.most = (size_t)MIN((m->etypes - m->types) / TYPE_LEN, (uint64_t)w.most);
	ret->reader.wide_names = minor ? minor < 17 : since < 16;
	map_init(&w.seen, sizeof(uint64_t), 1);
	add_roots(&w);
	for (size_t i = 0; i < ret->all.len && !w.no_memory; i++) {
		struct desc d;

		if (desc_read(w.r, ret->all.items[i], &d))
			push_next(&w, &d);
	}
	ret->reader.shifted = minor ? minor < 19 : since < 20 && looks_shifted(&w);
	for (size_t i = 0; i < ret->all.len && !w.no_memory; i++) {
		struct desc d;

		if (desc_read(w.r, ret->all.items[i], &d))
			keep_queried(&w, &d);
	}
	find_pointers(&w);
	ret->n_types = (uint32_t)ret->all.len;
	map_fini(&w.seen);
	if (w.no_memory)
		return -ENOMEM;
	if (!ret->found.len) {
		*ret_why = "the type descriptors lead to no type that is known";
		return -EBADMSG;
	}
	return 0;
}

void types_fini(struct go_types *t)
{
	for (size_t i = 0; i < t->found.len; i++)
		vec_fini(&t->found.items[i].fields);
	vec_fini(&t->found);
	vec_fini(&t->itabs);
	vec_fini(&t->all);
}

const struct go_type *types_find(const struct go_types *t, enum go_pkg pkg, const char *name)
{
	return vec_find(it, &t->found, it->pkg == pkg && !strcmp(it->name, name));
}

const struct struct_field *types_field(const struct go_type *t, const char *name)
{
	return vec_find(it, &t->fields, gobin_names_match(t->match, it->name, name));
}
