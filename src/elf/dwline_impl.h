/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Internal to src/elf.
 */
#ifndef ELF_DWLINE_IMPL_H
#define ELF_DWLINE_IMPL_H

#include "elf/dwline.h"
#include "elf/elf_impl.h"

/* The debug sections of @e as a file of their own, to be freed. -ENOENT without .debug_info. */
int dwimage_build(struct elf *e, uint8_t **ret, size_t *ret_len);

#endif
