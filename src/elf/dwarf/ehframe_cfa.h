/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call frame programs (DWARF 5, 6.4.2): the state of the three registers that find the caller, and running a program
 * to turn states into rows of an unwind table.
 */
#ifndef ELF_EHFRAME_CFA_H
#define ELF_EHFRAME_CFA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"

struct cfi_arch {
	uint8_t sp, fp, ra;	/* DWARF register numbers */
	uint8_t n_regs;		/* possible CFA base registers */
	bool link;		/* calls store the return address in a register */
};

/* Location of a saved register of the caller. */
enum cfi_where {
	CFI_SAME,
	CFI_UNDEFINED,
	CFI_AT_CFA,		/* in memory at CFA + off */
	CFI_AT_REG,		/* in memory at reg + off */
	CFI_IN_REG,
	CFI_ELSEWHERE,		/* in a form that the walker does not support */
	CFI__MAX,
};

struct cfi_saved {
	enum cfi_where where;
	uint8_t reg;
	int64_t off;
};

/* State at one address. */
struct cfi_state {
	uint8_t cfa;		/* SONDE_CFA_*: REG, DEREF, PLT, OTHER */
	uint8_t reg;
	int64_t off, aux;
	struct cfi_saved fp, ra;
};

struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra;		/* DWARF number of the register on this machine */
	uint8_t pointers;	/* DW_EH_PE_* of addresses in FDEs */
	bool sized;		/* FDEs have augmentation data */
	bool signal;		/* of signal frames */
	bool good;
	struct cfi_state init;	/* after the CIE's own instructions */
};

/* One run of a call frame program. */
struct cfi_run {
	const struct cfi_arch *arch;
	const struct cfi_cie *cie;
	uint64_t section;	/* virtual address of the section; of the bytes at @bytes */
	const uint8_t *bytes;
	uint64_t loc, end;	/* virtual addresses not yet covered */
	uint64_t bias;		/* virtual address - file offset */
	struct cfi_state now;
	struct cfi_table *table;	/* NULL while the CIE's own instructions run */
};

/* Runs @program; rows go to the table. -EBADMSG for a program that makes no sense, -ENOMEM, -E2BIG. */
int ehframe_cfa_run(struct cfi_run *r, struct cursor program);

#endif
