/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions, files and lines of Go programs out of .gopclntab, which stripping leaves in place. Formats of Go 1.2,
 * 1.16, 1.18 and 1.20 on (the last two differ in what is not read here).
 *
 * The function of an address is the one that the linker placed; the file and line are those of the source, so within
 * code that was inlined they belong to the inlined function.
 */
#ifndef ELF_GOPCLNTAB_H
#define ELF_GOPCLNTAB_H

#include <stddef.h>
#include <stdint.h>

struct elf;
struct gopclntab;

struct gofunc {
	uint64_t entry, end;	/* virtual addresses of the file */
	const char *name;	/* "main.(*T).Method"; the table's, never NULL */
	uint64_t info;		/* for gopclntab_line() */
};

/*
 * Found by its section or, where there is none, by searching the segments that are not executable. The table is
 * owned by @e, which must outlive it. -ENOENT: no Go program. -EBADMSG, -E2BIG, -ENOMEM.
 */
int gopclntab_open(struct elf *e, struct gopclntab **ret);
void gopclntab_free(struct gopclntab *t);	/* NULL is fine */

/* The table's own address, and what functions' addresses count from (0 before Go 1.18). */
uint64_t gopclntab_addr(const struct gopclntab *t);
uint64_t gopclntab_text(const struct gopclntab *t);
/* Lowest minor release of Go that writes this format: 2, 16, 18 or 20. */
unsigned gopclntab_since(const struct gopclntab *t);

/* Functions by number, ascending by address. -EBADMSG for one that makes no sense. */
size_t gopclntab_n(const struct gopclntab *t);
int gopclntab_func(const struct gopclntab *t, size_t i, struct gofunc *ret);

/* -ENOENT if no function covers @pc. */
int gopclntab_find_pc(const struct gopclntab *t, uint64_t pc, struct gofunc *ret);

#define GOFUNC_TOP 1		/* nothing is above it: a thread or a goroutine begins here */
#define GOFUNC_SWITCHES 2	/* it changes the stack pointer in ways that gopclntab_sp() does not know */

/* What is special about @f: by its mark (Go 1.17) or its name. GOFUNC_* */
unsigned gopclntab_flags(const struct gopclntab *t, const struct gofunc *f);

/*
 * Calls @fn for each part [@start, @end) of @f, ascending, with the bytes that the stack pointer is below where it
 * was when @f was called. What @fn returns ends the walk if it is below 0. -EBADMSG for a table that makes no sense.
 */
typedef int (*gopclntab_sp_fn)(void *ctx, uint64_t start, uint64_t end, int32_t bytes);
int gopclntab_sp(const struct gopclntab *t, const struct gofunc *f, gopclntab_sp_fn fn, void *ctx);

/* Source position of @pc in @f. -ENOENT when the table has none. */
int gopclntab_line(const struct gopclntab *t, const struct gofunc *f, uint64_t pc, const char **ret_file,
		   uint32_t *ret_line);

#endif
