// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A pass over all types finds their offsets and the named types; types that these hold by value, directly or not, are
 * added and renumbered. References to other types, through pointers only, become void. The input is the kernel's own
 * and trusted: inconsistent data is refused, and libbpf uses the complete BTF instead.
 */
#include "btf/btf_cut.h"

#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/map.h"
#include "base/vec.h"
#include "btf/kernel_btf.h"

struct cut {
	const uint8_t *types, *types_end;
	const char *strs;
	size_t strs_len;
	struct map names;		/* of @names: uint64_t hash -> uint8_t */
	VEC(uint32_t) offs;		/* offset of each type; type 1 first */
	uint32_t *ids;			/* owned; new id of each type, 0 = left out */
	VEC(uint32_t) taken;		/* old ids, in order of the new ones from 1 */
	struct buf text;		/* the new strings */
};

static void cut_fini(struct cut *c)
{
	map_fini(&c->names);
	vec_fini(&c->offs);
	vec_fini(&c->taken);
	free(c->ids);
	buf_fini(&c->text);
}

/* Bytes that follow struct btf_type; SIZE_MAX for an unknown kind. */
static size_t tail_bytes(const struct btf_type *t)
{
	switch (btf_kind(t)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return sizeof(uint32_t);
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return btf_vlen(t) * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return btf_vlen(t) * sizeof(struct btf_enum);
	case BTF_KIND_ENUM64:
		return btf_vlen(t) * sizeof(struct btf_enum64);
	case BTF_KIND_FUNC_PROTO:
		return btf_vlen(t) * sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
		return btf_vlen(t) * sizeof(struct btf_var_secinfo);
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return 0;
	default:
		return SIZE_MAX;
	}
}

/* Kinds that a relocation can name. */
static bool is_root(const struct btf_type *t)
{
	switch (btf_kind(t)) {
	case BTF_KIND_INT:
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
	case BTF_KIND_TYPEDEF:
		return t->name_off;
	default:
		return false;
	}
}

/* ---- names ---- */

/* Length without the flavour "___x" (libbpf: bpf_core_essential_name_len()). */
static size_t essential_len(const char *name)
{
	for (const char *p = strstr(name, "___"); p; p = strstr(p + 1, "___"))
		if (p > name && p[-1] != '_' && p[3] && p[3] != '_')
			return (size_t)(p - name);
	return strlen(name);
}

static int want_names(struct cut *c, const struct btf *names)
{
	const uint32_t n = btf__type_cnt(names);

	map_init(&c->names, sizeof(uint64_t), sizeof(uint8_t));
	for (uint32_t i = 1; i < n; i++) {
		const struct btf_type *t = btf__type_by_id(names, i);
		const char *name = is_root(t) ? btf__name_by_offset(names, t->name_off) : NULL;
		uint64_t hash;

		if (!name)
			continue;
		hash = map_hash(name, essential_len(name));
		if (!map_add(&c->names, &hash, NULL))
			return -ENOMEM;
	}
	return 0;
}

/* ---- types ---- */

static const char *name_of(const struct cut *c, uint32_t off)
{
	return off < c->strs_len ? c->strs + off : "";
}

static const struct btf_type *type_at(const struct cut *c, uint32_t id)
{
	return (const struct btf_type *)(c->types + c->offs.items[id - 1]);
}

/* False for functions, which only typedefs hold by value. */
static bool is_data(const struct btf_type *t)
{
	return !btf_is_func_proto(t) && !btf_is_func(t) && !btf_is_var(t) && !btf_is_datasec(t) &&
	       !btf_is_decl_tag(t);
}

/* Gives @id a new number; types without one become void. */
static int take(struct cut *c, uint32_t id)
{
	if (!id || c->ids[id] || !is_data(type_at(c, id)))
		return 0;
	if (vec_push(&c->taken, id) < 0)
		return -ENOMEM;
	c->ids[id] = (uint32_t)c->taken.len;
	return 0;
}

static bool is_named(const struct cut *c, const struct btf_type *t)
{
	const char *name = name_of(c, t->name_off);
	uint64_t hash = map_hash(name, strlen(name));

	return map_find(&c->names, &hash);
}

static int find_types(struct cut *c)
{
	const uint8_t *p = c->types;

	while ((size_t)(c->types_end - p) >= sizeof(struct btf_type)) {
		const size_t tail = tail_bytes((const struct btf_type *)p);

		if (tail > (size_t)(c->types_end - p) - sizeof(struct btf_type))
			return -EBADMSG;
		if (vec_push(&c->offs, (uint32_t)(p - c->types)) < 0)
			return -ENOMEM;
		p += sizeof(struct btf_type) + tail;
	}
	return p == c->types_end ? 0 : -EBADMSG;
}

static int take_named(struct cut *c)
{
	int r = 0;

	c->ids = calloc(c->offs.len + 1, sizeof(*c->ids));
	if (!c->ids)
		return -ENOMEM;
	for (uint32_t id = 1; r == 0 && id <= c->offs.len; id++)
		if (is_root(type_at(c, id)) && is_named(c, type_at(c, id)))
			r = take(c, id);
	return r;
}

/* The @i-th type that @t holds by value; false if there are fewer. */
static bool held(const struct btf_type *t, uint32_t i, uint32_t *ret)
{
	switch (btf_kind(t)) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		if (i < btf_vlen(t))
			*ret = btf_members(t)[i].type;
		return i < btf_vlen(t);
	case BTF_KIND_ARRAY:
		*ret = i ? btf_array(t)->index_type : btf_array(t)->type;
		return i < 2;
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG:
		*ret = t->type;
		return i < 1;
	default:
		return false;
	}
}

/* taken grows during the loop. */
static int take_held(struct cut *c)
{
	int r = 0;

	for (size_t k = 0; k < c->taken.len; k++) {
		const struct btf_type *t = type_at(c, c->taken.items[k]);
		uint32_t id = 0;

		for (uint32_t i = 0; r == 0 && held(t, i, &id); i++)
			r = id <= c->offs.len ? take(c, id) : -EBADMSG;
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- output ---- */

static uint32_t put_name(struct cut *c, uint32_t off)
{
	const char *name = name_of(c, off);
	uint32_t at = (uint32_t)c->text.len;

	if (!*name)
		return 0;
	buf_add(&c->text, name, strlen(name) + 1);
	return at;
}

static void renumber(struct cut *c, struct btf_type *t)
{
	switch (btf_kind(t)) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		for (uint32_t i = 0; i < btf_vlen(t); i++) {
			btf_members(t)[i].name_off = put_name(c, btf_members(t)[i].name_off);
			btf_members(t)[i].type = c->ids[btf_members(t)[i].type];
		}
		break;
	case BTF_KIND_ENUM:
		for (uint32_t i = 0; i < btf_vlen(t); i++)
			btf_enum(t)[i].name_off = put_name(c, btf_enum(t)[i].name_off);
		break;
	case BTF_KIND_ENUM64:
		for (uint32_t i = 0; i < btf_vlen(t); i++)
			btf_enum64(t)[i].name_off = put_name(c, btf_enum64(t)[i].name_off);
		break;
	case BTF_KIND_ARRAY:
		btf_array(t)->type = c->ids[btf_array(t)->type];
		btf_array(t)->index_type = c->ids[btf_array(t)->index_type];
		break;
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG:
		t->type = c->ids[t->type];
		break;
	case BTF_KIND_PTR:
		t->type = 0;
		break;
	default:	/* without references: int, float, declaration */
		break;
	}
}

static int write_types(struct cut *c, struct buf *ret)
{
	struct btf_header h = { .magic = BTF_MAGIC, .version = BTF_VERSION, .hdr_len = sizeof(h) };
	const size_t at = ret->len;

	buf_add(ret, &h, sizeof(h));
	buf_add_char(&c->text, '\0');
	for (size_t i = 0; i < c->taken.len; i++) {
		const struct btf_type *t = type_at(c, c->taken.items[i]);
		const size_t bytes = sizeof(*t) + tail_bytes(t);
		struct btf_type *copy = buf_reserve(ret, bytes);

		if (!copy)
			return -ENOMEM;
		memcpy(copy, t, bytes);
		copy->name_off = put_name(c, t->name_off);
		renumber(c, copy);
		buf_commit(ret, bytes);
	}
	h.type_len = h.str_off = (uint32_t)(ret->len - at - sizeof(h));
	h.str_len = (uint32_t)c->text.len;
	if (buf_error(&c->text) || buf_add(ret, c->text.data, c->text.len) < 0)
		return -ENOMEM;
	memcpy(ret->data + at, &h, sizeof(h));
	return 0;
}

static int take_header(struct cut *c, const uint8_t *raw, size_t len)
{
	struct btf_header h;

	if (len < sizeof(h))
		return -EBADMSG;
	memcpy(&h, raw, sizeof(h));
	if (h.magic != BTF_MAGIC || h.hdr_len < sizeof(h) || h.hdr_len > len || h.type_off > len - h.hdr_len ||
	    h.type_len > len - h.hdr_len - h.type_off || h.str_off > len - h.hdr_len ||
	    h.str_len > len - h.hdr_len - h.str_off || h.type_off % 4 || h.hdr_len % 4)
		return -EBADMSG;
	c->types = raw + h.hdr_len + h.type_off;
	c->types_end = c->types + h.type_len;
	c->strs = (const char *)raw + h.hdr_len + h.str_off;
	c->strs_len = h.str_len;
	return h.str_len && !c->strs[h.str_len - 1] ? 0 : -EBADMSG;
}

int btf_cut(const void *raw, size_t len, const struct btf *names, struct buf *ret)
{
	_cleanup_(cut_fini) struct cut c = { 0 };
	int r = take_header(&c, raw, len);

	if (r == 0)
		r = want_names(&c, names);
	if (r == 0)
		r = find_types(&c);
	if (r == 0)
		r = take_named(&c);
	if (r == 0)
		r = take_held(&c);
	return r == 0 ? write_types(&c, ret) : r;
}

/* ---- the kernel's ---- */

/* Maps the kernel's BTF (since 6.16) or reads it. *ret_mapped: release it by munmap(), else by free(). */
static int get_kernel(uint8_t **ret, size_t *ret_len, bool *ret_mapped)
{
	_cleanup_close_ int fd = open(KERNEL_BTF, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ uint8_t *copy = NULL;
	size_t len;
	struct stat st;
	void *p;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	len = (size_t)st.st_size;
	p = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
	*ret_mapped = p != MAP_FAILED;
	if (!*ret_mapped) {
		p = copy = malloc(len);
		if (p && io_read_all(fd, copy, len) < 0)
			return -EIO;
	}
	if (!p)
		return -ENOMEM;
	TAKE_PTR(copy);
	*ret = p;
	*ret_len = len;
	return 0;
}

static int write_file(const struct buf *b)
{
	_cleanup_close_ int fd = memfd_create("sonde-btf", MFD_CLOEXEC);
	int r = fd < 0 ? -errno : io_write_all(fd, b->data, b->len);

	return r < 0 ? r : TAKE_FD(fd);
}

int btf_cut_kernel(const struct btf *names)
{
	_cleanup_(buf_fini) struct buf b = { 0 };
	uint8_t *raw = NULL;
	bool mapped = false;
	size_t len = 0;
	int r = get_kernel(&raw, &len, &mapped);

	if (r < 0)
		return r;
	r = btf_cut(raw, len, names, &b);
	if (mapped)
		munmap(raw, len);
	else
		free(raw);
	return r < 0 ? r : write_file(&b);
}
