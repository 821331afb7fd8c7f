/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * What a walk over a user stack keeps while it goes on. In a map: global functions take numbers only before 5.13, and
 * the program's stack is short.
 */
#ifndef CPU_STATE_BPF_H
#define CPU_STATE_BPF_H

#include "bpf/kernel.h"
#include "probes/cpu/cpu_unwind_wire.h"
#include "sonde/stack_wire.h"
#include "sonde/unwind_wire.h"

#include <bpf/bpf_helpers.h>

#define MAPLE_WORDS 32		/* of a node in the kernel's tree of mappings */
#define UNWIND_MAPPINGS 8	/* of one stack that are remembered: a power of two */

struct cpu_mapping {
	__u64 start, end;
	__u64 off;		/* of start in the file, bytes */
	__u64 first_page;	/* likewise below: struct cpu_unwind_file */
	__u32 rules, pages, rows;	/* words of the pool */
	__u32 n_pages;		/* 0 = frame pointers */
	__u32 id;
	__u8 known;		/* the file has a table, be it empty */
	__u8 pad[3];
};

/* One walk. Per CPU and hook class, because a class does not interrupt itself. */
struct cpu_unwind {
	__u64 ip, sp, fp, link;	/* of the frame at hand */
	__u64 regs[32];		/* by DWARF number, while all are known */
	struct mm_struct *mm;
	__u64 mm_id;		/* of mm, no other has or had it; 0 = what was read of it lately cannot be trusted */
	__u64 begin_ns;		/* of the walk, boot clock */
	__u32 mm_seq;		/* of mm's mappings: changes with them */
	__u32 tables;		/* changes when a table goes away */
	__u64 pc;		/* the address that is looked up */
	__u32 n;		/* frames in ips */
	__u32 cap;		/* frames wanted at most */
	__u8 end;		/* SONDE_STACK_* */
	__u8 all_regs;		/* regs are those of the frame at hand */
	__u8 exact;		/* ip is no return address */
	__u8 by_fp;		/* the last step went by the frame pointer */
	__u8 compat;		/* 32-bit code */
	__u8 pad[3];
	__u32 n_mappings;	/* that were ever filled in this walk */
	__u32 mapping;		/* index of the one at hand */
	struct sonde_unwind_rule rule;
	struct cpu_mapping mappings[UNWIND_MAPPINGS];
	__u64 entry;		/* of the tree of mappings, on the way to that of pc */
	__u64 node[MAPLE_WORDS];
	__u64 ips[CPU_UNWIND_FRAMES];	/* innermost first */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct cpu_unwind);
} cpu_unwind_state SEC(".maps");

static __always_inline struct cpu_unwind *unwind_state(__u32 class)
{
	return bpf_map_lookup_elem(&cpu_unwind_state, &class);
}

#endif
