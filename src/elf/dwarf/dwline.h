/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source lines and inlined functions by DWARF 2 to 5, through elfutils' libdw.
 *
 * libdw gets a file in memory that has the debug sections only, unpacked here: so it opens nothing (no separate
 * files, no system calls but memory), and what it may read is inside the budget. Split units (.dwo) have no lines
 * here. The walk over the entries visits those that cover the addresses asked for, all addresses at once.
 */
#ifndef ELF_DWLINE_H
#define ELF_DWLINE_H

#include <stddef.h>
#include <stdint.h>

struct elf;
struct dwline;

struct dwline_func {
	const char *name;	/* linkage name if there is one; NULL = unknown */
	uint64_t start;		/* lowest address; 0 = unknown */
	const char *file;	/* NULL = unknown */
	uint32_t line;		/* 0 = unknown */
};

struct dwline_hit {
	size_t n;			/* functions, innermost first; 0 = nothing known */
	struct dwline_func *funcs;	/* owned by the dwline, strings too */
};

/* -ENOENT: no debug information. Counts against the budget of @e. */
int dwline_open(struct elf *e, struct dwline **ret);
void dwline_free(struct dwline *d);	/* NULL is fine */

/* @addrs ascending, at most once each. Fills ret[@n]. How many have a line, or -ENOMEM. */
int dwline_lookup(struct dwline *d, const uint64_t *addrs, size_t n, struct dwline_hit *ret);

#endif
