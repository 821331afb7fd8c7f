/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * .eh_frame, for Go code gopclntab, compiled to an unwind table (sonde/unwind_wire.h): the call frame program of each
 * function is run once, and of what it says for each address only that is kept which finds the caller: CFA, frame
 * pointer, return address. The entry point without an FDE is a bottom of stacks too.
 *
 * The bytes are hostile; what is allocated is bounded by their number. Runs in src/worker in production.
 * Format: DWARF 5, 6.4; Linux Standard Base, "Exception Frames"; psABIs of x86-64 and AArch64.
 */
#ifndef ELF_EHFRAME_H
#define ELF_EHFRAME_H

#include <stddef.h>
#include <stdint.h>

#include "sonde/unwind_wire.h"

struct buf;
struct elf;

/*
 * Appends the table of @e to @ret. Of 32-bit files it holds the entry point only. -ENOENT for other machines, -E2BIG
 * when the table has more than @max_bytes, -ENOMEM, or the error of the file's reader.
 */
int ehframe_compile(struct elf *e, size_t max_bytes, struct buf *ret);

/* A table without rows: frame pointers everywhere. 0 or -ENOMEM. */
int ehframe_empty(struct buf *ret);

/* Whether @table is what its header says, so that its numbers may be believed. -EBADMSG. */
int ehframe_check(const void *table, size_t len, struct sonde_unwind_head *ret);

/* The rule for file offset @off in a checked table, found as the kernel side finds it. */
struct sonde_unwind_rule ehframe_find(const void *table, uint64_t off);

#endif
