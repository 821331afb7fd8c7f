/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Unwind tables for BPF programs, compiled from .eh_frame (src/elf/dwarf/ehframe.h) and used by the cpu probe. A
 * table is a sequence of 32-bit words: header, rules, pages, rows. Its addresses are offsets in the file, so a
 * look-up needs the mapping only, not the program headers.
 */
#ifndef SONDE_UNWIND_WIRE_H
#define SONDE_UNWIND_WIRE_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define SONDE_UNWIND_PAGE_SHIFT 10	/* some 20 rows a page: a look-up touches three cache lines */
#define SONDE_UNWIND_MAGIC 0x32776e75u	/* "unw2" */

/* Canonical frame address (CFA: the stack pointer of the caller after the return). */
#define SONDE_CFA_GAP 0		/* no rule for the address: use the frame pointer */
#define SONDE_CFA_REG 1		/* register + cfa_off */
#define SONDE_CFA_DEREF 2	/* value at register + cfa_off, + aux */
#define SONDE_CFA_PLT 3		/* sp + cfa_off, + 8 when (ip & 15) >= aux: x86-64 linkage stubs */
#define SONDE_CFA_SIGNAL 4	/* the kernel's signal frame; x86-64: the saved sp is at sp + cfa_off */
#define SONDE_CFA_OTHER 5	/* unsupported kind of rule */
#define SONDE_CFA_SWITCH 6	/* switches stacks: frame pointer and return address form a pair on the other stack */
#define SONDE_CFA__MAX 7

/* Location of the caller's frame pointer. */
#define SONDE_FP_SAME 0
#define SONDE_FP_AT_CFA 1	/* at CFA + fp_off */
#define SONDE_FP_AT_FP 2	/* at frame pointer + fp_off */
#define SONDE_FP_AT_SP 3	/* at stack pointer + fp_off */
#define SONDE_FP_LOST 4

/* Location of the return address. */
#define SONDE_RA_CFA8 0		/* at CFA - 8 */
#define SONDE_RA_AT_CFA 1	/* at CFA + aux */
#define SONDE_RA_LINK 2		/* in the link register */
#define SONDE_RA_NONE 3		/* none: the outermost function */
#define SONDE_RA_REG 4		/* in register aux: vfork(), whose frame is shared with the child */

struct sonde_unwind_rule {
	__u8 cfa;		/* SONDE_CFA_* */
	__u8 reg;		/* DWARF number of the base register of the CFA */
	__u8 fp;		/* SONDE_FP_* */
	__u8 ra;		/* SONDE_RA_* */
	__s32 cfa_off, fp_off, aux;
};

struct sonde_unwind_head {
	__u32 magic;
	__u32 n_rules;		/* rule 0 is SONDE_CFA_GAP */
	__u32 n_pages;
	__u32 n_rows;
	__u64 first_page;	/* file offset >> SONDE_UNWIND_PAGE_SHIFT of the first page */
	__u32 n_fdes;		/* frame descriptions in the table */
	__u32 n_skipped;	/* frame descriptions that are not supported */
};

/*
 * struct sonde_unwind_head, struct sonde_unwind_rule [n_rules], __u32 first row of each page [n_pages + 1], rows
 * [n_rows]: offset in the page | rule << 16, ascending in each page; a page's first row is at 0.
 */
#define SONDE_UNWIND_ROW(low, rule) ((low) | (rule) << 16)
#define SONDE_UNWIND_ROW_LOW(row) ((row) & 0xffff)
#define SONDE_UNWIND_ROW_RULE(row) ((row) >> 16)

#ifndef __cplusplus
_Static_assert(sizeof(struct sonde_unwind_rule) == 16, "sonde_unwind_rule is ABI");
_Static_assert(sizeof(struct sonde_unwind_head) == 32, "sonde_unwind_head is ABI");
#endif

#endif
