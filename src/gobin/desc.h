/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the runtime's type descriptors. Format: internal/abi/type.go (before Go 1.21: runtime/type.go). A name is a
 * byte of flags, the length (a varint since Go 1.17, two bytes before), the text. Offsets of names and types count
 * from moduledata.types. Internal to src/gobin.
 */
#ifndef GOBIN_DESC_H
#define GOBIN_DESC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gobin/image.h"

/* Bytes into a descriptor. */
enum {
	TYPE_SIZE = 0, TYPE_TFLAG = 20, TYPE_KIND = 23, TYPE_STR = 40, TYPE_TO_THIS = 44, TYPE_LEN = 48,
	TYPE_ELEM = 48, TYPE_KEY = 48, TYPE_MAP_ELEM = 56, TYPE_MAP_GROUP = 64,
	FUNC_IN = 48, FUNC_OUT = 50, FUNC_LEN = 56, INTER_METHODS = 56, STRUCT_FIELDS = 56, FIELD_LEN = 24,
	UNCOMMON_LEN = 16, METHOD_LEN = 16, IMETHOD_LEN = 8,
};
enum { TFLAG_UNCOMMON = 1, TFLAG_EXTRA_STAR = 2, TFLAG_NAMED = 4, TFLAG_DIRECT = 32 /* since Go 1.26 */ };
enum {
	KIND_ARRAY = 17, KIND_CHAN, KIND_FUNC, KIND_INTERFACE, KIND_MAP, KIND_POINTER, KIND_SLICE, KIND_STRING,
	KIND_STRUCT, KIND_UNSAFE, KIND_MASK = 31, KIND_DIRECT = 32, /* up to Go 1.25 */
};

#define DESC_METHODS_MAX 4096	/* of one type */
#define DESC_NAME_MAX 256	/* bytes of a name or path, with NUL; longer ones do not occur in the rows */
#define DESC_FIELDS_MAX 512	/* of one struct */

struct desc_reader {
	struct image *img;
	uint64_t types, etypes;		/* range of addresses */
	bool wide_names;		/* length in two bytes */
	bool shifted;			/* offsets of fields have the mark of embedding in bit 0: before Go 1.19 */
};

struct desc {				/* head of a descriptor */
	uint64_t addr, size;
	uint8_t tflag, kind;
	bool direct;			/* an interface holds the value in place of a pointer to it */
	int32_t str, to_this;
};

struct desc_field {
	char name[64];			/* "" = longer */
	uint64_t type;			/* address of its descriptor */
	uint64_t off;
	bool embedded;
};

bool desc_read(const struct desc_reader *r, uint64_t addr, struct desc *ret);
/* Text of the name at offset @off from the types; false if there is none that fits. */
bool desc_name_at(const struct desc_reader *r, int32_t off, char *out, size_t size);
/* Address of the part about package and methods; 0 = has none. */
uint64_t desc_uncommon(const struct desc *d);
/* Fields of a struct, at most DESC_FIELDS_MAX. */
uint64_t desc_n_fields(const struct desc_reader *r, const struct desc *d);
void desc_field(const struct desc_reader *r, const struct desc *d, uint64_t i, struct desc_field *ret);

#endif
