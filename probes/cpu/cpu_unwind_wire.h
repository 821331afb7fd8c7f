/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Maps of the unwinder, written by cpu_tables.c and read by cpu_unwind.bpf.c. Not a stream format: both are built
 * together.
 *
 * Tables lie in a pool of units, which grows by segments (inner maps of cpu_unwind_pool) up to the memory budget. A
 * table (sonde/unwind_wire.h) without its header has consecutive units, beginning with its rules.
 */
#ifndef CPU_UNWIND_WIRE_H
#define CPU_UNWIND_WIRE_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#include "sonde/unwind_wire.h"

#if defined(__TARGET_ARCH_x86) || (!defined(__bpf__) && defined(__x86_64__))
#define CPU_WALK_X86 1
#elif defined(__TARGET_ARCH_arm64) || (!defined(__bpf__) && defined(__aarch64__))
#define CPU_WALK_ARM64 1
#endif

#define CPU_UNIT_WORDS_SHIFT 10
#define CPU_UNIT_WORDS (1u << CPU_UNIT_WORDS_SHIFT)	/* 4 KB */
#define CPU_SEGMENT_UNITS_SHIFT 8
#define CPU_SEGMENT_UNITS (1u << CPU_SEGMENT_UNITS_SHIFT)	/* 1 MB */

struct cpu_unwind_unit {
	__u32 words[CPU_UNIT_WORDS];
};

/* The file behind a mapping. The vDSO, which has none, has number CPU_FILE_VDSO on device 0. */
struct cpu_file_key {
	__u64 ino;
	__u64 mtime_ns;		/* since 1970: a file that is rewritten in place is another */
	__u32 dev;		/* as in the kernel: major << 20 | minor */
	__u32 generation;
};

#define CPU_FILE_VDSO 1

#define CPU_TABLE_NONE 1	/* number of the table of what has none: frame pointers */
#define CPU_CLASS_NEED 2	/* ledger: this and the next are of requests made by the walker for class 0 and 1 */

/* A walk over a user stack, at one frame (probes/cpu/cpu_walk_wire.h). */
struct cpu_walk {
	__u64 ip, sp, fp, link;	/* of the frame at hand */
	__u64 pc;		/* the address that is looked up */
	struct sonde_unwind_rule rule;
	__u32 n;		/* frames so far */
	__u8 all_regs;		/* regs are those of the frame at hand */
	__u8 exact;		/* ip is not a return address */
	__u8 by_fp;		/* the last step went by the frame pointer */
	__u8 compat;		/* 32-bit code */
	__u64 regs[34];		/* by DWARF number, while all are known; the rest is room to read them */
};

/*
 * Entries of the ring cpu_copies: what user space needs to walk a stack on that came to a file without a table. The
 * memory comes when the walk stopped, the record (struct cpu_sample_rec) when it is made: of a block, later.
 */
#define CPU_COPY_STACK 1
#define CPU_COPY_REC 2

struct cpu_copy {
	__u64 at_ns;		/* when the walk stopped, boot clock; with tid: which walk */
	__u32 tid;
	__u32 kind;		/* CPU_COPY_* */
	__u32 tgid;
	__u32 len;		/* bytes of what follows */
};

#define CPU_COPY_CHUNK 4096u
#define CPU_COPY_CHUNKS 8u	/* at most: 32 KB of a stack */

/* CPU_COPY_STACK: the walk at the frame whose file has no table, which is noted; then the stack from w.sp on. */
struct cpu_copy_stack {
	struct cpu_copy head;
	struct cpu_walk w;
	__u8 bytes[];
};

struct cpu_unwind_file {
	__u64 used_ns;		/* CLOCK_BOOTTIME, written by the walker */
	__u64 first_page;	/* file offset >> SONDE_UNWIND_PAGE_SHIFT */
	__u32 first_word;	/* of the pool */
	__u32 n_rules, n_pages;
	__u32 n_rows;		/* 0 = frame pointers */
	__u32 id;		/* of this table, no other has or had it; more than CPU_TABLE_NONE */
	__u32 pad;
};

#endif
