/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that the Go compiler inlined.
 */
#ifndef ELF_GOINLINE_H
#define ELF_GOINLINE_H

#include <stddef.h>
#include <stdint.h>

struct elf;
struct gofunc;
struct gopclntab;

struct goframe {
	const char *name;	/* owned by the table, like the file */
	const char *file;	/* NULL = unknown */
	uint32_t line;		/* 0 = unknown */
};

/* Finds the trees of inlined functions. -ENOENT if the program has none; goinline_frames() then returns one frame. */
int goinline_open(struct elf *e, struct gopclntab *t);

/*
 * The functions at @pc in @f, innermost first: the inlined ones, then @f. Writes at most @cap (>= 1) to @ret; returns
 * how many.
 */
size_t goinline_frames(struct elf *e, const struct gopclntab *t, const struct gofunc *f, uint64_t pc,
		       struct goframe *ret, size_t cap);

#endif
