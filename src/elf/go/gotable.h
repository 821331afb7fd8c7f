/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A parsed gopclntab, for the readers of its neighbour tables. Internal to src/elf/go.
 */
#ifndef ELF_GOTABLE_H
#define ELF_GOTABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"

enum go_version { GO_1_2, GO_1_16, GO_1_18, GO_VERSION__MAX };

struct go_part {
	const uint8_t *data;
	size_t len;
};

struct gopclntab {
	enum go_version version;
	uint8_t since;		/* lowest minor release that writes this magic */
	uint8_t quantum;	/* code bytes per unit of a program counter */
	uint8_t ptr;		/* bytes of a pointer */
	uint8_t width;		/* bytes of a number in the table of functions */
	uint64_t text;		/* base of function addresses; 0 before 1.18 */
	uint64_t n_funcs;
	uint64_t addr;		/* virtual address of the table */
	uint64_t funcdata;	/* base of function data offsets; 0 = unknown */
	struct go_part names, units, files, pcs, funcs;
};

/* Fields of a function's record by index. Field 0 is the entry, gopclntab.width bytes; the others have 4. */
enum { GO_FIELD_NAME = 1, GO_FIELD_SP = 4, GO_FIELD_FILE = 5, GO_FIELD_LINE = 6, GO_FIELD_N_PCDATA = 7,
       GO_FIELD_UNIT = 8, GO_FIELD_START_LINE = 9 };

/*
 * The string at @off of @p, and field @n of the record at @info. NULL, or a bad cursor, if the offset is out of
 * bounds.
 */
const char *gopclntab_string(struct go_part p, uint64_t off);
struct cursor gopclntab_field(const struct gopclntab *t, uint64_t info, uint32_t n);

/* Value at @pc of the pc-value table at @off, for a function that starts at @entry. -1 if the table has none. */
int32_t gopclntab_value(const struct gopclntab *t, uint64_t off, uint64_t entry, uint64_t pc);

#endif
