// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See desc.h.
 */
#include "gobin/desc.h"

#include <string.h>

#include "base/cursor.h"
#include "base/macros.h"

#define NAME_EMBEDDED 8		/* flag of a field's name, since Go 1.19 */

bool desc_read(const struct desc_reader *r, uint64_t addr, struct desc *ret)
{
	uint8_t raw[TYPE_LEN];
	struct cursor c = cur_init(raw, sizeof(raw));

	if (!image_read(r->img, addr, raw, sizeof(raw)))
		return false;
	ret->addr = addr;
	ret->size = cur_u64(&c);
	ret->tflag = raw[TYPE_TFLAG];
	ret->kind = raw[TYPE_KIND] & KIND_MASK;
	ret->direct = raw[TYPE_KIND] & KIND_DIRECT || ret->tflag & TFLAG_DIRECT;
	memcpy(&ret->str, raw + TYPE_STR, 4);
	memcpy(&ret->to_this, raw + TYPE_TO_THIS, 4);
	return ret->kind && ret->kind <= KIND_UNSAFE;
}

/* Text of the name at @addr; false if there is none that fits. */
static bool read_name(const struct desc_reader *r, uint64_t addr, char *out, size_t size)
{
	uint8_t head[4];
	size_t len, at;

	if (!image_read(r->img, addr, head, sizeof(head)))
		return false;
	if (r->wide_names) {
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
	if (!len || len >= size || !image_read(r->img, addr + at, out, len))
		return false;
	out[len] = '\0';
	return strlen(out) == len;
}

bool desc_name_at(const struct desc_reader *r, int32_t off, char *out, size_t size)
{
	return off > 0 && read_name(r, r->types + (uint32_t)off, out, size);
}

uint64_t desc_uncommon(const struct desc *d)
{
	static const uint8_t lens[KIND_UNSAFE + 1] = {
		[KIND_ARRAY] = 72, [KIND_CHAN] = 64, [KIND_FUNC] = 56, [KIND_INTERFACE] = 80, [KIND_POINTER] = 56,
		[KIND_SLICE] = 56, [KIND_STRUCT] = 80,
	};

	if (!(d->tflag & TFLAG_UNCOMMON) || d->kind == KIND_MAP)	/* maps: the length differs by release */
		return 0;
	return d->addr + (lens[d->kind] ? lens[d->kind] : TYPE_LEN);
}

uint64_t desc_n_fields(const struct desc_reader *r, const struct desc *d)
{
	return MIN(image_u64(r->img, d->addr + STRUCT_FIELDS + 8), (uint64_t)DESC_FIELDS_MAX);
}

void desc_field(const struct desc_reader *r, const struct desc *d, uint64_t i, struct desc_field *ret)
{
	uint64_t at = image_u64(r->img, d->addr + STRUCT_FIELDS) + i * FIELD_LEN, name = image_u64(r->img, at);
	uint8_t flags = 0;

	ret->type = image_u64(r->img, at + 8);
	ret->off = image_u64(r->img, at + 16);
	image_read(r->img, name, &flags, 1);
	ret->embedded = flags & NAME_EMBEDDED;
	if (r->shifted) {
		ret->embedded = ret->off & 1;
		ret->off >>= 1;
	}
	if (!read_name(r, name, ret->name, sizeof(ret->name)))
		ret->name[0] = '\0';
}
