/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the symbol reader share. Internal to src/elf.
 */
#ifndef ELF_SYMTAB_IMPL_H
#define ELF_SYMTAB_IMPL_H

#include <stdbool.h>

#include "elf/elf_impl.h"
#include "elf/symtab.h"

struct sym {
	uint64_t start, size;
	uint32_t name;		/* offset in the strings */
	uint16_t section;	/* SHN_* or index */
	uint8_t type;		/* STT_* */
	bool local;
};

struct sym_table {
	struct elf *elf;	/* borrowed */
	struct elf_section syms, strings;
};

struct symtab {
	struct elf *elf;	/* borrowed */
	struct elf *mini;	/* owned: MiniDebugInfo; NULL = none */
	uint8_t *mini_data;	/* owned */
	struct sym_table tables[3];
	size_t n_tables;
};

/* Called for a symbol that may name code; a result other than 0 ends the walk. */
typedef int (*sym_fn)(void *ctx, const struct sym_table *tab, const struct sym *s);

/* A name, to be freed. -ENOENT when it is empty. */
int symtab_string(const struct sym_table *tab, uint64_t off, char **ret);

/* The ELF file in .gnu_debugdata, unpacked into *ret_data. -ENOENT without one. */
int minidebug_open(struct elf *e, size_t budget, uint8_t **ret_data, struct elf **ret);

/* Names the addresses that have none in @ret and lie in stubs. How many. */
int plt_lookup(const struct symtab *t, const uint64_t *addrs, size_t n, struct symtab_hit *ret);

#endif
