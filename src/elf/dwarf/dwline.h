/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source lines and inlined functions from DWARF 2 to 5, through elfutils' libdw.
 *
 * libdw gets a memory image with unpacked debug sections only: it opens no separate files, makes no system calls but
 * for memory, and reads within the budget. Split units (.dwo) have no lines here. A single walk visits the entries
 * that cover any of the requested addresses.
 */
#ifndef ELF_DWLINE_H
#define ELF_DWLINE_H

#include <stddef.h>
#include <stdint.h>

struct elf;
struct dwline;

struct dwline_func {
	const char *name;	/* linkage name if present; NULL = unknown */
	uint64_t start;		/* lowest address; 0 = unknown */
	const char *file;	/* NULL = unknown */
	uint32_t line;		/* 0 = unknown */
};

struct dwline_hit {
	size_t n;			/* functions, innermost first; 0 = unknown */
	struct dwline_func *funcs;	/* owned by the dwline, like the strings */
};

/* -ENOENT: no debug information. Counts against the budget of @e. */
int dwline_open(struct elf *e, struct dwline **ret);
void dwline_free(struct dwline *d);	/* NULL is fine */

/* @addrs ascending, unique. Fills ret[@n]. Returns how many have a line, or -ENOMEM. */
int dwline_lookup(struct dwline *d, const uint64_t *addrs, size_t n, struct dwline_hit *ret);

#endif
