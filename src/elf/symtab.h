/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Function symbols of an ELF file: .symtab, .dynsym, the table in .gnu_debugdata (MiniDebugInfo) and PLT stubs.
 *
 * Look-ups come in batches: one pass over the tables in file order, no sorted copy. A pass over half a million
 * symbols takes some milliseconds and 64 KiB; a copy would cost more than the few hundred addresses of a batch. Only
 * names of selected symbols are read.
 *
 * Which symbol names an address: of the sized symbols that cover it, the one with the highest start; if none covers
 * it, the nearest preceding symbol if that has no size (hand-written assembler), up to the end of its section. Among
 * symbols with the same start: typed ones before labels, global or weak before local, fewer leading underscores, then
 * the shorter and the alphabetically first name. Skipped: the mapping symbols of ARM ("$x"), assembler locals
 * (".L..."), undefined and absolute symbols.
 */
#ifndef ELF_SYMTAB_H
#define ELF_SYMTAB_H

#include <stddef.h>
#include <stdint.h>

struct elf;
struct symtab;

#define SYMTAB_NAME_MAX 16384	/* limit in bytes; longer names are truncated */

struct symtab_hit {
	uint64_t start, size;	/* size 0: unknown */
	char *name;		/* name in the table; NULL = no symbol; "x@plt" for a stub; owned by the caller */
};

/* @e is borrowed and must outlive it. @budget: bytes for the unpacked MiniDebugInfo. 0 or -ENOMEM. */
int symtab_new(struct elf *e, size_t budget, struct symtab **ret);
void symtab_free(struct symtab *t);	/* NULL is fine */

/*
 * @addrs: virtual addresses of the file, ascending. Fills ret[@n]. Returns how many were found, or -ENOMEM, or -errno
 * of reading. Invalid tables count as absent.
 */
int symtab_lookup(struct symtab *t, const uint64_t *addrs, size_t n, struct symtab_hit *ret);

#endif
