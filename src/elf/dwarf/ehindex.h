/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where functions begin, by the search table of .eh_frame_hdr, which stripping leaves in place.
 */
#ifndef ELF_EHINDEX_H
#define ELF_EHINDEX_H

#include <stdint.h>

struct elf;

/*
 * Begin of the last function at or below @vaddr, both virtual addresses of the file. -ENOENT if the file has no
 * table or no function lies below, -ENOTSUP for a table in a form that no linker writes, or the error of the reader.
 */
int ehindex_find(struct elf *e, uint64_t vaddr, uint64_t *ret);

#endif
