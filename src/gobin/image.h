/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program's bytes by link address, as the loader would relocate them (to the link address): in position-independent
 * programs pointers are zero in the file and relocations hold them. Loaded in chunks on demand, charged to the
 * budget; only file bytes of PT_LOADs can be read. Internal to src/gobin.
 *
 * Relocations: psABI, R_*_RELATIVE and R_*_64/ABS64 of symbols that are defined here. Relocations packed as RELR have
 * their addend in place, so the file's bytes are right already.
 */
#ifndef GOBIN_IMAGE_H
#define GOBIN_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct reloc {
	uint64_t place, value;
};

struct image {
	struct elf *elf;		/* borrowed */
	struct map chunks;		/* address / chunk size -> bytes, owned */
	size_t budget, used;		/* bytes */
	struct reloc *relocs;		/* ascending by address; owned */
	size_t n_relocs;
	uint64_t last;			/* number of the most recently read chunk */
	uint8_t *last_data;
};

/* 0 or -ENOMEM, -E2BIG, -EBADMSG. @img must be zeroed. */
int image_init(struct image *img, struct elf *e, size_t budget);
void image_fini(struct image *img);

/* Are [@addr, @addr + @len) backed by bytes of the file? */
bool image_has(const struct image *img, uint64_t addr, uint64_t len);

/* Copies bytes out; false, with @buf zeroed, if they do not exist or exceed the budget. */
bool image_read(struct image *img, uint64_t addr, void *buf, size_t len);
uint64_t image_u64(struct image *img, uint64_t addr);	/* 0 if it has none */
uint32_t image_u32(struct image *img, uint64_t addr);

/* Address of the first PT_LOAD, rounded down to its page. */
uint64_t image_base(const struct image *img);

/* End of the PT_LOADs that precede the first writable one: from image_base() to here the image is constant. */
uint64_t image_fixed_end(const struct image *img);

#endif
