/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * .eh_frame, or gopclntab for Go code, compiled to an unwind table (sonde/unwind_wire.h): runs the call frame program
 * of each function once and keeps only the rules that find the caller: CFA, frame pointer, return address. An entry
 * point without an FDE becomes a bottom of stacks.
 *
 * The input is hostile; allocations are bounded by its size. Production code calls this in src/worker only.
 * Format: DWARF 5, 6.4; Linux Standard Base, "Exception Frames"; psABIs of x86-64 and AArch64.
 */
#ifndef ELF_EHFRAME_H
#define ELF_EHFRAME_H

#include <stddef.h>

struct buf;
struct elf;

/*
 * Appends the table of @e to @ret; of a 32-bit file, only the entry point. -ENOENT for other machines, -E2BIG if the
 * table exceeds @max_bytes, -ENOMEM, or the error of the file's reader.
 */
int ehframe_compile(struct elf *e, size_t max_bytes, struct buf *ret);

#endif
