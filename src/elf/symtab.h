/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Function symbols of an ELF file: .symtab, .dynsym, the table in .gnu_debugdata (MiniDebugInfo) and stubs of the
 * procedure linkage table.
 *
 * Look-ups are made in batches: one pass over the tables as they stand in the file, no sorted copy. A table of half
 * a million symbols costs some milliseconds and 64 KiB that way; a copy would cost more than the few hundred
 * addresses that are asked for at a time. Names are read one by one, those that are wanted only.
 *
 * Which symbol names an address: of those with a size that cover it, the one that starts last; where none does, the
 * nearest one before it if that has no size (hand-written assembler), as far as their section goes. Of several that
 * start at the same place: typed ones before labels, global or weak before local, fewer leading underscores, then
 * the shorter and the alphabetically first name. Not symbols of functions, and skipped: the mapping symbols of ARM
 * ("$x"), assembler locals (".L..."), undefined and absolute ones.
 */
#ifndef ELF_SYMTAB_H
#define ELF_SYMTAB_H

#include <stddef.h>
#include <stdint.h>

struct elf;
struct symtab;

#define SYMTAB_NAME_MAX 16384	/* bytes; the rest of a longer name is cut off */

struct symtab_hit {
	uint64_t start, size;	/* size 0: unknown */
	char *name;		/* as in the table; NULL = no symbol; "x@plt" for a stub; owned by the caller */
};

/* @e is borrowed and must outlive it. @budget: bytes for the unpacked MiniDebugInfo. 0 or -ENOMEM. */
int symtab_new(struct elf *e, size_t budget, struct symtab **ret);
void symtab_free(struct symtab *t);	/* NULL is fine */

/*
 * @addrs: virtual addresses of the file, ascending. Fills ret[@n]. How many were found, or -ENOMEM, or -errno of
 * reading. Tables that make no sense count as absent.
 */
int symtab_lookup(struct symtab *t, const uint64_t *addrs, size_t n, struct symtab_hit *ret);

#endif
