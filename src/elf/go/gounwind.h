/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind rows of Go code, which has no .eh_frame, from gopclntab.
 */
#ifndef ELF_GOUNWIND_H
#define ELF_GOUNWIND_H

#include <stdint.h>

struct cfi_arch;
struct cfi_table;
struct elf_segment;
struct gopclntab;

/*
 * Adds rows for the functions of @t, which must lie in @seg above all rows of @table. *ret_end: file offset of the
 * end of the last function. -E2BIG, -ENOMEM.
 */
int gounwind_rows(const struct gopclntab *t, const struct cfi_arch *arch, const struct elf_segment *seg,
		  struct cfi_table *table, uint64_t *ret_end);

#endif
