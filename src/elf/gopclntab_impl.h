/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Internal to src/elf: the table in memory, and what finding the start of the text needs.
 */
#ifndef ELF_GOPCLNTAB_IMPL_H
#define ELF_GOPCLNTAB_IMPL_H

#include "elf/elf_impl.h"
#include "elf/gopclntab.h"

enum go_version { GO_1_2, GO_1_16, GO_1_18, GO_VERSION__MAX };

struct go_part {
	const uint8_t *data;
	size_t len;
};

struct gopclntab {
	enum go_version version;
	uint8_t since;		/* lowest minor release that writes this magic */
	uint8_t quantum;	/* bytes that one step of a program counter stands for */
	uint8_t ptr;		/* bytes of a pointer */
	uint8_t width;		/* bytes of a number in the table of functions */
	uint64_t text;		/* that addresses count from; 0 before 1.18 */
	uint64_t n_funcs;
	uint64_t addr;		/* virtual address of the table */
	struct go_part names, units, files, pcs, funcs;
};

/* The pointer at @vaddr as it will be after relocation. -ENOENT. */
int go_pointer(struct elf *e, uint64_t vaddr, uint64_t *ret);

/*
 * runtime.text: what the addresses in the table count from. The header has it up to Go 1.25 (in programs that are
 * relocated, the relocation has it), the module data (which point to the table) always.
 */
int go_text_start(struct elf *e, const struct gopclntab *t, uint64_t *ret);

#endif
