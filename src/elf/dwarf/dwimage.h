/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The debug sections of a file as a file of their own, unpacked within the budget: the reader (libdw) then opens and
 * unpacks nothing itself.
 */
#ifndef ELF_DWIMAGE_H
#define ELF_DWIMAGE_H

#include <stddef.h>
#include <stdint.h>

struct elf;

/* The caller frees it; counts against the budget of @e. -ENOENT without .debug_info, -E2BIG, -EBADMSG, -ENOMEM. */
int dwimage_build(struct elf *e, uint8_t **ret, size_t *ret_len);

#endif
