/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of an ELF file by name, from .dynsym and .symtab. Names are compared without their version.
 */
#ifndef ELF_SYMFIND_H
#define ELF_SYMFIND_H

#include <stddef.h>
#include <stdint.h>

struct elf;

/*
 * Fills ret[@n] with the virtual addresses of the functions @names; 0 = not defined in the file. One pass over each
 * table. Returns how many were found, or -ENOTSUP for a 32-bit file. Invalid tables count as absent.
 */
int symfind_functions(struct elf *e, const char *const *names, size_t n, uint64_t *ret);

#endif
