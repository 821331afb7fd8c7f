/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The second source: members, descriptors of types and locations of arguments from DWARF 4 and 5, read with libdw.
 * Reads only the units of packages that rules refer to. Internal to src/gobin.
 *
 * Go's extensions: DW_AT_go_runtime_type (0x2904) is the descriptor's offset from moduledata.types.
 */
#ifndef GOBIN_DWARF_H
#define GOBIN_DWARF_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "gobin/abi.h"
#include "gobin/types.h"

struct elf;

struct dwarf_piece {			/* of an argument, at the function's entry */
	uint8_t where;			/* enum gobin_where */
	uint8_t dwarf_reg;
	int32_t off;			/* bytes above the stack pointer at entry */
	uint16_t at, size;		/* offset in the argument; size 0: the rest of it */
};

#define DWARF_PIECES_MAX 8

struct dwarf_arg {
	char name[24];
	uint32_t size;			/* of its type; 0 = unknown */
	struct dwarf_piece pieces[DWARF_PIECES_MAX];
	uint8_t n_pieces;		/* 0 = no location at entry */
};

struct dwarf_function {
	uint64_t entry;
	struct dwarf_arg args[ABI_ARGS_MAX];	/* parameters without results, in order */
	uint8_t n_args;
};

struct dwarf_facts {
	VEC(struct go_type) types;		/* addr, ptr: from go_runtime_type */
	VEC(struct dwarf_function) functions;	/* ascending by entry */
	uint32_t n_units, n_entries;		/* looked at */
};

/*
 * @entries: addresses of requested functions, ascending. @types_addr: moduledata.types; 0 = unknown, no descriptors.
 * 0, -ENOMEM, or -ENOENT, -EBADMSG, -E2BIG with a sentence in *ret_why; findings up to the error are kept.
 */
int dwarf_read(struct elf *e, const struct type_query *queries, size_t n_queries, const uint64_t *entries,
	       size_t n_entries, uint64_t types_addr, struct dwarf_facts *ret, const char **ret_why);
void dwarf_facts_fini(struct dwarf_facts *f);

const struct go_type *dwarf_find(const struct dwarf_facts *f, enum go_pkg pkg, const char *name);
const struct dwarf_function *dwarf_function_at(const struct dwarf_facts *f, uint64_t entry);

/* Of dwarf_loc.c: the pieces of @arg, whose size is set, from the @n operations of its location at function entry. */
void dwarf_loc_pieces(uint16_t machine, const Dwarf_Op *ops, size_t n, struct dwarf_arg *arg);

#endif
