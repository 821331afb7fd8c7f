/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Internal to src/elf: the table in memory, and what finding the start of the text needs.
 */
#ifndef ELF_GOPCLNTAB_IMPL_H
#define ELF_GOPCLNTAB_IMPL_H

#include "elf/elf_impl.h"
#include "elf/go/gopclntab.h"

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
	uint64_t funcdata;	/* that offsets of function data count from; 0 = unknown */
	struct go_part names, units, files, pcs, funcs;
};

/* Numbers of a function's record: the first is the entry, as wide as the version says, the others 4 bytes. */
enum { GO_FIELD_NAME = 1, GO_FIELD_SP = 4, GO_FIELD_FILE = 5, GO_FIELD_LINE = 6, GO_FIELD_N_PCDATA = 7,
       GO_FIELD_UNIT = 8, GO_FIELD_START_LINE = 9 };

/* ---- gopclntab.c: all answer with bad cursors and NULL where the file makes no sense ---- */

struct cursor gopclntab_at(struct go_part p, uint64_t off);
const char *gopclntab_string(struct go_part p, uint64_t off);
struct cursor gopclntab_field(const struct gopclntab *t, uint64_t info, uint32_t n);

/* ---- gopcvalue.c ---- */

/* What the table at @off of the pc tables says for @pc in a function that starts at @entry. -1 when nothing. */
int32_t gopcvalue_at(const struct gopclntab *t, uint64_t off, uint64_t entry, uint64_t pc);

/* ---- gotext.c ---- */

/* The pointer at @vaddr as it will be after relocation. -ENOENT. */
int gotext_pointer(struct elf *e, uint64_t vaddr, uint64_t *ret);

/* Where the runtime's data about the module are: what points to the table. -ENOENT. */
int gotext_module(struct elf *e, const struct gopclntab *t, uint64_t *ret);

/*
 * runtime.text: what the addresses in the table count from. The header has it up to Go 1.25 (in programs that are
 * relocated, the relocation has it), the module data (which point to the table) always.
 */
int gotext_start(struct elf *e, const struct gopclntab *t, uint64_t *ret);

#endif
