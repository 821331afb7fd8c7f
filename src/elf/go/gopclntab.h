/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions, files and lines of Go programs from .gopclntab, which stripping leaves in place. Formats of Go 1.2,
 * 1.16, 1.18 and 1.20 (the last two differ only in parts that are not read here).
 *
 * The function of an address is the function that the linker placed there; file and line are those of the source, so
 * inside inlined code they belong to the inlined function.
 */
#ifndef ELF_GOPCLNTAB_H
#define ELF_GOPCLNTAB_H

#include <stddef.h>
#include <stdint.h>

struct elf;
struct gopclntab;

struct gofunc {
	uint64_t entry, end;	/* virtual addresses of the file */
	const char *name;	/* "main.(*T).Method"; owned by the table, never NULL */
	uint64_t info;		/* for gopclntab_line() */
};

/*
 * Found by section name or else by searching the non-executable segments. The table is owned by @e, which must
 * outlive it. -ENOENT if the file is not a Go program, -EBADMSG, -E2BIG, -ENOMEM.
 */
int gopclntab_open(struct elf *e, struct gopclntab **ret);
void gopclntab_free(struct gopclntab *t);	/* NULL is fine */

/* The table's own address, and the base of function addresses (0 before Go 1.18). */
uint64_t gopclntab_addr(const struct gopclntab *t);
uint64_t gopclntab_text(const struct gopclntab *t);
/* Lowest minor release of Go that writes this format: 2, 16, 18 or 20. */
unsigned gopclntab_since(const struct gopclntab *t);

/* Function by index, ascending by address. -EBADMSG if its record is invalid. */
size_t gopclntab_n(const struct gopclntab *t);
int gopclntab_func(const struct gopclntab *t, size_t i, struct gofunc *ret);

/* -ENOENT if no function covers @pc. */
int gopclntab_find_pc(const struct gopclntab *t, uint64_t pc, struct gofunc *ret);

#define GOFUNC_TOP 1		/* outermost: a thread or a goroutine begins here */
#define GOFUNC_SWITCHES 2	/* changes the stack pointer in ways that gopclntab_sp() cannot follow */

/* GOFUNC_* flags of @f, by its function id (Go 1.17) or its name. */
unsigned gopclntab_flags(const struct gopclntab *t, const struct gofunc *f);

/*
 * Calls @fn for each part [@start, @end) of @f, ascending, with the distance in bytes of the stack pointer below its
 * value at the call of @f. A negative result of @fn ends the walk. -EBADMSG if the table is invalid.
 */
typedef int (*gopclntab_sp_fn)(void *ctx, uint64_t start, uint64_t end, int32_t bytes);
int gopclntab_sp(const struct gopclntab *t, const struct gofunc *f, gopclntab_sp_fn fn, void *ctx);

/* Source position of @pc in @f. -ENOENT if the table has none. */
int gopclntab_line(const struct gopclntab *t, const struct gofunc *f, uint64_t pc, const char **ret_file,
		   uint32_t *ret_line);

#endif
