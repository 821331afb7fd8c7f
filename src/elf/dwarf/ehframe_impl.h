/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the .eh_frame compiler share. Internal to src/elf.
 */
#ifndef ELF_EHFRAME_IMPL_H
#define ELF_EHFRAME_IMPL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/map.h"
#include "base/vec.h"
#include "sonde/unwind_wire.h"

struct buf;
struct elf_segment;
struct gopclntab;

struct cfi_arch {
	uint8_t sp, fp, ra;	/* DWARF register numbers */
	uint8_t n_regs;		/* that a CFA may be counted from */
	bool link;		/* calls leave the return address in a register */
};

/* Where a register of the caller is. */
enum cfi_where {
	CFI_SAME,
	CFI_UNDEFINED,
	CFI_AT_CFA,		/* in memory at CFA + off */
	CFI_AT_REG,		/* in memory at reg + off */
	CFI_IN_REG,
	CFI_ELSEWHERE,		/* said in a way that is not walked */
	CFI__MAX,
};

struct cfi_saved {
	enum cfi_where where;
	uint8_t reg;
	int64_t off;
};

/* What holds at one address. */
struct cfi_state {
	uint8_t cfa;		/* SONDE_CFA_*: REG, DEREF, PLT, OTHER */
	uint8_t reg;
	int64_t off, aux;
	struct cfi_saved fp, ra;
};

struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra;		/* the register's number in this file */
	uint8_t pointers;	/* DW_EH_PE_* of addresses in FDEs */
	bool sized;		/* FDEs have augmentation data */
	bool signal;		/* of signal frames */
	bool good;
	struct cfi_state init;	/* after the CIE's own instructions */
};

struct cfi_row {
	uint64_t off;		/* in the file */
	uint32_t rule;
};

/* The table in the making. */
struct cfi_table {
	VEC(struct cfi_row) rows;
	VEC(struct sonde_unwind_rule) rules;
	struct map numbers;	/* rule -> u32 number */
	size_t max_rows;
	uint32_t n_fdes, n_skipped;
};

/* One run of a call frame program. */
struct cfi_run {
	const struct cfi_arch *arch;
	const struct cfi_cie *cie;
	uint64_t section;	/* virtual address of the section; of the bytes at @bytes */
	const uint8_t *bytes;
	uint64_t loc, end;	/* virtual addresses of the function that are left */
	uint64_t bias;		/* virtual address - file offset */
	struct cfi_state now;
	struct cfi_table *table;	/* NULL while the CIE's own instructions run */
};

#define CFI_GAP 0u		/* number of the rule for addresses of no function */

int ehframe_table_init(struct cfi_table *t, size_t max_rows);
void ehframe_table_fini(struct cfi_table *t);
/* From @off on @rule holds. Offsets must not fall. -E2BIG, -ENOMEM. */
int ehframe_table_add(struct cfi_table *t, uint64_t off, const struct sonde_unwind_rule *rule);
int ehframe_table_gap(struct cfi_table *t, uint64_t off);
/* Splits the rows into pages and appends the whole. */
int ehframe_table_write(struct cfi_table *t, uint64_t end_off, size_t max_bytes, struct buf *ret);

/* ---- gounwind.c ---- */

/*
 * Rows for the functions of @t, all of which are in @seg; *ret_end: offset behind the last. The rows before must end
 * below the first.
 */
int gounwind_rows(const struct gopclntab *t, const struct cfi_arch *arch, const struct elf_segment *seg,
		  struct cfi_table *table, uint64_t *ret_end);

/* Runs @program; rows go to the table. -EBADMSG when it makes no sense, -ENOMEM, -E2BIG. */
int ehframe_cfa_run(struct cfi_run *r, struct cursor program);

/* A value by DW_EH_PE encoding @enc; @c->pos - @bytes is its place in the section at @section. -EBADMSG, -ENOTSUP. */
int ehframe_pointer(struct cursor *c, uint8_t enc, const uint8_t *bytes, uint64_t section, uint64_t *ret);

#endif
