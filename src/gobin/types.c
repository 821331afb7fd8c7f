// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Format: internal/abi/type.go (before Go 1.21: runtime/type.go); names: a byte of flags, the length (a varint since
 * Go 1.17, two bytes before), the text. Offsets of names and types count from moduledata.types.
 *
 * Every descriptor is visited once, and no more of them than fit between types and etypes.
 */
#include "gobin/types.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/macros.h"

/* Bytes into a descriptor. */
enum {
	TYPE_SIZE = 0, TYPE_TFLAG = 20, TYPE_KIND = 23, TYPE_STR = 40, TYPE_TO_THIS = 44, TYPE_LEN = 48,
	TYPE_ELEM = 48, TYPE_KEY = 48, TYPE_MAP_ELEM = 56, TYPE_MAP_GROUP = 64,
	FUNC_IN = 48, FUNC_OUT = 50, FUNC_LEN = 56, INTER_METHODS = 56, STRUCT_FIELDS = 56, FIELD_LEN = 24,
	UNCOMMON_LEN = 16, METHOD_LEN = 16, IMETHOD_LEN = 8,
};
enum { TFLAG_UNCOMMON = 1, TFLAG_EXTRA_STAR = 2, TFLAG_NAMED = 4 };
enum {
	KIND_ARRAY = 17, KIND_CHAN, KIND_FUNC, KIND_INTERFACE, KIND_MAP, KIND_POINTER, KIND_SLICE, KIND_STRING,
	KIND_STRUCT, KIND_UNSAFE, KIND_MASK = 31,
};
#define METHODS_MAX 4096		/* of one type */
#define TYPES_MAX (1u << 22)		/* of one program */
#define PARAMS_MAX 256			/* of one function */
#define COUNT_MAX 65536			/* fields of a struct, methods of an interface */

struct walk {
	struct image *img;
	const struct go_module *m;
	const struct wanted *wanted;
	size_t n_wanted;
	struct go_types *out;
	struct map seen;		/* address -> nothing */
	VEC(uint64_t) queue;
	size_t most;			/* descriptors that can be in the program */
	bool wide_names;		/* length in two bytes */
	bool shifted;			/* offsets of fields have the mark of embedding in bit 0 */
	bool no_memory;
};

struct desc {				/* the head of a descriptor */
	uint64_t addr, size;
	uint8_t tflag, kind;
	int32_t str, to_this;
};

static void push(struct walk *w, uint64_t addr)
{
	bool fresh;

	if (addr < w->m->types || addr >= w->m->etypes || w->no_memory || w->queue.len >= w->most)
		return;
	if (!map_add(&w->seen, &addr, &fresh) || vec_grow(&w->queue) < 0)
		w->no_memory = true;
	else if (fresh)
		w->queue.items[w->queue.len++] = addr;
}

static void push_off(struct walk *w, int32_t off)
{
	if (off > 0)
		push(w, w->m->types + (uint32_t)off);
}

static bool read_desc(struct walk *w, uint64_t addr, struct desc *d)
{
	uint8_t raw[TYPE_LEN];
	struct cursor c = cur_init(raw, sizeof(raw));

	if (!image_read(w->img, addr, raw, sizeof(raw)))
		return false;
	d->addr = addr;
	d->size = cur_u64(&c);
	d->tflag = raw[TYPE_TFLAG];
	d->kind = raw[TYPE_KIND] & KIND_MASK;
	memcpy(&d->str, raw + TYPE_STR, 4);
	memcpy(&d->to_this, raw + TYPE_TO_THIS, 4);
	return d->kind && d->kind <= KIND_UNSAFE;
}

/* Text of a name; false when there is none that fits. */
static bool read_name(struct walk *w, uint64_t addr, char *out, size_t size)
{
	uint8_t head[4];
	size_t len, at;

	if (!image_read(w->img, addr, head, sizeof(head)))
		return false;
	if (w->wide_names) {
		len = (size_t)head[1] << 8 | head[2];
		at = 3;
	} else {
		len = head[1] & 0x7f;
		at = 2;
		if (head[1] & 0x80) {
			len |= (size_t)(head[2] & 0x7f) << 7;
			at = 3;
		}
	}
	if (!len || len >= size || !image_read(w->img, addr + at, out, len))
		return false;
	out[len] = '\0';
	return strlen(out) == len;
}

static bool read_name_off(struct walk *w, int32_t off, char *out, size_t size)
{
	return off > 0 && read_name(w, w->m->types + (uint32_t)off, out, size);
}

/* Where the part about name and methods stands; 0 = has none. */
static uint64_t uncommon_of(const struct desc *d)
{
	static const uint8_t lens[KIND_UNSAFE + 1] = {
		[KIND_ARRAY] = 72, [KIND_CHAN] = 64, [KIND_FUNC] = 56, [KIND_INTERFACE] = 80, [KIND_POINTER] = 56,
		[KIND_SLICE] = 56, [KIND_STRUCT] = 80,
	};

	if (!(d->tflag & TFLAG_UNCOMMON) || d->kind == KIND_MAP)	/* maps: the length differs by release */
		return 0;
	return d->addr + (lens[d->kind] ? lens[d->kind] : TYPE_LEN);
}

/* ---- what a type leads to ---- */

static void push_methods(struct walk *w, const struct desc *d)
{
	uint64_t at = uncommon_of(d), list;
	uint16_t n;

	if (!at)
		return;
	n = (uint16_t)image_u32(w->img, at + 4);
	list = at + image_u32(w->img, at + 8);
	for (uint16_t i = 0; i < MIN(n, (uint16_t)METHODS_MAX); i++)
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

	for (uint64_t i = 0; i < MIN(n, (uint64_t)METHODS_MAX); i++)
		push_off(w, (int32_t)image_u32(w->img, at + i * IMETHOD_LEN + 4));
}

static void push_fields(struct walk *w, const struct desc *d)
{
	uint64_t at = image_u64(w->img, d->addr + STRUCT_FIELDS), n = image_u64(w->img, d->addr + STRUCT_FIELDS + 8);

	for (uint64_t i = 0; i < MIN(n, (uint64_t)GO_FIELDS_MAX); i++)
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

static bool keep_field(struct walk *w, struct go_type *t, uint64_t at)
{
	uint64_t type = image_u64(w->img, at + 8);
	struct struct_field f = { .off = image_u64(w->img, at + 16) };
	struct desc d;

	if (w->shifted)
		f.off >>= 1;
	if (!read_name(w, image_u64(w->img, at), f.name, sizeof(f.name)) || f.off > t->size)
		return true;	/* none that is asked for */
	if (type >= w->m->types && type < w->m->etypes && read_desc(w, type, &d)) {
		f.size = d.size;
		f.has_size = true;
		if (f.size > t->size - f.off)
			return true;
	}
	if (vec_grow(&t->fields) < 0)
		return false;
	t->fields.items[t->fields.len++] = f;
	return true;
}

static void keep_struct(struct walk *w, struct go_type *t, const struct desc *d)
{
	uint64_t at = image_u64(w->img, d->addr + STRUCT_FIELDS), n = image_u64(w->img, d->addr + STRUCT_FIELDS + 8);

	t->is_struct = true;
	for (uint64_t i = 0; i < MIN(n, (uint64_t)GO_FIELDS_MAX); i++)
		if (!keep_field(w, t, at + i * FIELD_LEN))
			w->no_memory = true;
}

/* Last part of "*pkg.Name"; types of functions and generic ones have brackets and match nothing. */
static const char *short_name(const char *text)
{
	const char *dot = strrchr(text, '.');

	return dot ? dot + 1 : text;
}

static void keep(struct walk *w, const struct wanted *want, enum go_match match, const struct desc *d,
		 const char *path, const char *name)
{
	struct go_type *t = (struct go_type *)types_find(w->out, want->pkg, want->name);

	if (t && t->match >= match)
		return;
	if (t) {	/* a better one: not the vendored copy */
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

/* What a map keeps its entries in has no name of its own: it is told by its text, "*map.group[string][]string". */
static void keep_group(struct walk *w, const struct desc *d)
{
	static const char prefix[] = "map.";
	char text[GO_NAME_MAX];
	const char *name = text;

	if (!read_name_off(w, d->str, text, sizeof(text)))
		return;
	if (d->tflag & TFLAG_EXTRA_STAR && *name == '*')
		name++;
	if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
		return;
	name += sizeof(prefix) - 1;
	for (size_t i = 0; i < w->n_wanted; i++)
		if (w->wanted[i].pkg == PKG_MAP && !strcmp(name, w->wanted[i].name))
			keep(w, &w->wanted[i], GO_EXACT, d, gobin_names_package_path(PKG_MAP), name);
}

static void keep_wanted(struct walk *w, const struct desc *d)
{
	char text[GO_NAME_MAX], path[GO_NAME_MAX];
	const char *name = NULL;

	if (d->kind == KIND_STRUCT && !(d->tflag & TFLAG_NAMED))
		keep_group(w, d);
	if (!(d->tflag & TFLAG_NAMED) || !(d->tflag & TFLAG_UNCOMMON) || !uncommon_of(d) ||
	    !read_name_off(w, d->str, text, sizeof(text)))
		return;
	name = short_name(text);
	path[0] = '\0';
	for (size_t i = 0; i < w->n_wanted; i++) {
		enum go_match m;

		if (!gobin_names_match(GO_BUNDLED, name, w->wanted[i].name))
			continue;
		if (!path[0] && !read_name_off(w, (int32_t)image_u32(w->img, uncommon_of(d)), path, sizeof(path)))
			return;
		m = gobin_names_match_package(w->wanted[i].pkg, path, strlen(path));
		/* A type of the bundled copy has the prefix: without it, it is net/http's own of that name. */
		if (m == GO_BUNDLED ? !strcmp(name, w->wanted[i].name)
				    : !gobin_names_match(m, name, w->wanted[i].name))
			continue;
		if (m != GO_NO)
			keep(w, &w->wanted[i], m, d, path, name);
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
	if (vec_grow(&w->out->itabs) < 0)
		w->no_memory = true;
	else
		w->out->itabs.items[w->out->itabs.len++] = i;
}

/* Bytes that a descriptor takes with all that belongs to it; 0 = cannot be said. */
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

/* Since Go 1.27 descriptors stand in a row, the first one word in, and there are no type links. */
static void add_type_row(struct walk *w)
{
	uint64_t at = w->m->types + 8;

	while (at < w->m->typedesc_end) {
		uint64_t size;
		struct desc d;

		if (!read_desc(w, at, &d))
			return;
		size = whole_size(w, &d);
		if (!size)
			return;
		push(w, at);
		at += ROUND_UP(size, 8);
	}
}

/* Since Go 1.27 itabs stand in a row, 24 bytes and a word per method of the interface. */
static void add_itab_row(struct walk *w)
{
	uint64_t at = w->m->itabs;

	while (at + 24 <= w->m->itabs_end) {
		uint64_t inter = image_u64(w->img, at), n = image_u64(w->img, inter + INTER_METHODS + 8);

		if (inter < w->m->types || inter >= w->m->etypes || !n || n > METHODS_MAX)
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

/* Pointers are known before what they point to: a second pass over all that was visited. */
static void find_pointers(struct walk *w)
{
	for (size_t i = 0; i < w->queue.len; i++) {
		struct desc d;

		if (read_desc(w, w->queue.items[i], &d) && d.kind == KIND_POINTER && !(d.tflag & TFLAG_NAMED))
			add_pointer(w, d.addr, image_u64(w->img, d.addr + TYPE_ELEM));
	}
}

/* Do offsets have the bit? Yes if one is odd where its type cannot be, or beyond its struct. */
static bool looks_shifted(struct walk *w)
{
	for (size_t i = 0; i < w->queue.len && i < 4096; i++) {
		struct desc d;
		uint64_t at, n;

		if (!read_desc(w, w->queue.items[i], &d) || d.kind != KIND_STRUCT)
			continue;
		at = image_u64(w->img, d.addr + STRUCT_FIELDS);
		n = image_u64(w->img, d.addr + STRUCT_FIELDS + 8);
		for (uint64_t f = 0; f < MIN(n, (uint64_t)GO_FIELDS_MAX); f++)
			if (image_u64(w->img, at + f * FIELD_LEN + 16) > d.size)
				return true;
	}
	return false;
}

int types_read(struct image *img, const struct go_module *m, unsigned minor, unsigned since,
	       const struct wanted *wanted, size_t n_wanted, struct go_types *ret, const char **ret_why)
{
	struct walk w = { .img = img, .m = m, .wanted = wanted, .n_wanted = n_wanted, .out = ret };

	/* each has bytes of its own, and no more bytes are read than the budget has */
	w.most = MIN(img->budget / TYPE_LEN, (size_t)TYPES_MAX);
	w.most = (size_t)MIN((m->etypes - m->types) / TYPE_LEN, (uint64_t)w.most);
	w.wide_names = minor ? minor < 17 : since < 16;
	map_init(&w.seen, sizeof(uint64_t), 1);
	add_roots(&w);
	for (size_t i = 0; i < w.queue.len && !w.no_memory; i++) {
		struct desc d;

		if (read_desc(&w, w.queue.items[i], &d))
			push_next(&w, &d);
	}
	w.shifted = minor ? minor < 19 : since < 20 && looks_shifted(&w);
	for (size_t i = 0; i < w.queue.len && !w.no_memory; i++) {
		struct desc d;

		if (read_desc(&w, w.queue.items[i], &d))
			keep_wanted(&w, &d);
	}
	find_pointers(&w);
	ret->n_types = (uint32_t)w.queue.len;
	vec_fini(&w.queue);
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
}

const struct go_type *types_find(const struct go_types *t, enum go_pkg pkg, const char *name)
{
	for (size_t i = 0; i < t->found.len; i++)
		if (t->found.items[i].pkg == pkg && !strcmp(t->found.items[i].name, name))
			return &t->found.items[i];
	return NULL;
}

const struct struct_field *types_field(const struct go_type *t, const char *name)
{
	for (size_t i = 0; i < t->fields.len; i++)
		if (gobin_names_match(t->match, t->fields.items[i].name, name))
			return &t->fields.items[i];
	return NULL;
}
