/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Structs from the runtime's type descriptors: visits every type that an itab, a type link or another type leads to,
 * and keeps the requested ones. Internal to src/gobin.
 */
#ifndef GOBIN_TYPES_H
#define GOBIN_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "gobin/desc.h"
#include "gobin/image.h"
#include "gobin/module.h"
#include "gobin/names.h"

struct type_query {
	enum go_pkg pkg;
	const char *name;
};

struct struct_field {
	char name[64];
	uint64_t off, size;		/* bytes */
	bool has_size;
};

struct go_type {			/* a requested type */
	enum go_pkg pkg;
	const char *name;		/* the row's */
	enum go_match match;
	char full[DESC_NAME_MAX];		/* as it stands in the program */
	uint64_t addr, size;		/* 0 = only its pointer is known */
	uint64_t ptr;			/* descriptor of the pointer to it; 0 = unknown */
	bool is_struct;
	VEC(struct struct_field) fields;
};

struct go_itab {
	uint64_t addr;
	uint64_t type, inter;		/* descriptors */
};

struct go_types {
	VEC(struct go_type) found;
	VEC(struct go_itab) itabs;
	uint32_t n_types, n_itabs;	/* visited */
	VEC(uint64_t) all;		/* descriptors visited */
	struct desc_reader reader;	/* valid as long as the image */
};

/*
 * @minor: release, 0 = unknown. @since: lowest release that .gopclntab allows. 0, -ENOMEM, or -E2BIG, -EBADMSG with a
 * sentence in *ret_why (findings up to the error are kept).
 */
int types_read(struct image *img, const struct go_module *m, unsigned minor, unsigned since,
	       const struct type_query *queries, size_t n_queries, struct go_types *ret, const char **ret_why);
void types_fini(struct go_types *t);

const struct go_type *types_find(const struct go_types *t, enum go_pkg pkg, const char *name);
const struct struct_field *types_field(const struct go_type *t, const char *name);

#endif
