/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * What a CPU works with: the walk that goes on, the record that is made, and what was found lately. In a map: global
 * functions take numbers only before 5.13, and the program's stack is short.
 *
 * At a hundred samples a second nothing of this is in a cache when it is wanted, so what counts is how many cache
 * lines and pages are touched: what belongs together lies together, aligned, in one array that is indexed by CPU (an
 * array per CPU costs two more lines for each lookup).
 */
#ifndef CPU_STATE_BPF_H
#define CPU_STATE_BPF_H

#include "bpf/kernel.h"
#include "probes/cpu/cpu_unwind_wire.h"
#include "probes/cpu/cpu_wire.h"

#include <bpf/bpf_helpers.h>

#define BPF_F_MMAPABLE (1U << 10)	/* of a map: begins at a page boundary */

#define MAPLE_WORDS 32		/* of a node in the kernel's tree of mappings */
#define UNWIND_MAPPINGS 4	/* of one stack that are remembered: a power of two */
#define DESK_WORDS 40		/* room to read registers */

/* Of the interrupted user registers, those that only odd frames need: none is left to take, ... */
enum { REGS_NONE, REGS_WORDS, REGS_TASK };	/* ... they are in the desk's words, or still with the task */
#define PLACE_SLOTS_SHIFT 8
#define RULE_SLOTS_SHIFT 11

/* Filled before load (cpu.c). */
UNIT_SHARED const volatile __u32 cpu_n_cpus = 1;
UNIT_SHARED const volatile __u32 cpu_user_depth = 127;	/* frames; 0 = no user stacks */

struct cpu_mapping {
	__u64 start, end;
	__u64 off;		/* of start in the file, bytes */
	__u32 first_page;	/* likewise below: struct cpu_unwind_file */
	__u32 rules, pages;	/* words of the pool; rows come behind the pages */
	__u32 n_pages;		/* 0 = frame pointers */
	__u32 id;		/* 0 = the file's table is not there */
	__u32 no_file;
};

/* A mapping found lately: a cache line, and one more for whether it is the same after something changed. */
struct cpu_place_slot {
	__u64 mm_id;
	__u32 mm_seq, tables;
	__u64 start, end, off;
	__u32 until_s;		/* boot clock, in units of 2^30 ns */
	__u32 first_page, rules, pages, n_pages, id;

	struct vm_area_struct *vma;
	struct file *file;
	__u64 ino;
	__u32 generation, no_file;
	__u32 version;		/* changes with what is here */
	__u32 room[7];
};
_Static_assert(sizeof(struct cpu_place_slot) == 128, "a place is two cache lines");

/* A rule found lately. Half a cache line. */
struct cpu_rule_slot {
	__u64 key;
	struct sonde_unwind_rule rule;
	__s32 start;		/* of the row, from that of the grain of the file's bytes */
	__u32 len;
};
#define RULE_GRAIN_SHIFT 5

/*
 * Addresses that have one rule: the first, shifted by 16, and how many bytes. What does not fit is left out. The rule
 * packed (cpu_unwind_trace.bpf.h), so that four spans fill a cache line.
 */
#define SPAN_LEN 0xffffull

struct cpu_span {
	__u64 at;
	__u64 rule;		/* 0 = does not fit, remembered nowhere; a gap's aux: why a walk ends there */
};

#define TRACE_SLOTS_SHIFT 7
#define TRACE_SPANS 64		/* likewise below: a power of two */
#define TRACE_OTHERS 32
#define TRACE_PLACES 7		/* mappings; room for a power of two */
#define TRACE_PLACES_ROOM 8

/* A walk over a thread's stack: the rules that it went by, and those that later walks needed beside them. */
struct cpu_unwind_trace {
	__u64 mm_id;
	__u32 mm_seq, tables;
	__u32 tid, until_s;	/* as in struct cpu_place_slot */
	__u32 n, n_others;	/* others: that were ever put in */
	__u32 n_places;		/* that the spans lie in; more than TRACE_PLACES = not all are known */
	__u32 places[TRACE_PLACES_ROOM];	/* index of the desk's, version << PLACE_SLOTS_SHIFT */
	struct cpu_span spans[TRACE_SPANS];
	struct cpu_span others[TRACE_OTHERS];
} __attribute__((aligned(64)));

#define UNWIND_TURN 32	/* frames per call of cpu_unwind_some() */
#define WINDOW_WORDS 64		/* of the stack, read at once: to read costs the same for 8 bytes as for 512 */

/* One walk. */
struct cpu_unwind {
	struct cpu_walk w;
	struct mm_struct *mm;
	__u64 mm_id;		/* of mm, no other has or had it; 0 = what was read of it lately cannot be trusted */
	__u32 mm_seq;		/* of mm's mappings: changes with them */
	__u32 tables;		/* changes when a table goes away */
	__u32 now_s;		/* boot clock, in units of 2^30 ns */
	__u32 cap;		/* frames wanted at most */
	__u32 at;		/* where frames go: index of the record's addresses */
	__u32 n_mappings;	/* that were ever filled in this walk */
	__u32 mapping;		/* index of the one at hand */
	__u32 no_window;	/* the stack cannot be read in large pieces */
	__u32 trace;		/* index of the thread's last walk */
	__u32 trace_at, trace_end;	/* spans of it that may come next */
	__u32 trace_missed;	/* frames that were not among them */
	__u32 trace_others;	/* how many there are */
	struct cpu_span span;	/* of w.rule; at is 0: it has not been read yet */
	__u64 window;		/* address of the desk's, WINDOW_NONE = nothing was read */
	struct vm_area_struct *vma;	/* of the mapping that is read, likewise below */
	struct file *file;
	__u64 ino;
	__u32 generation, tid;
	__u32 regs_left;	/* REGS_* */
	struct cpu_mapping mappings[UNWIND_MAPPINGS];
	__u64 entry;		/* of the tree of mappings, on the way to that of pc */
};

#define WINDOW_NONE (~0ull)	/* no word is there */

/* The room behind a record is a power of two of addresses, so that an index can be masked. */
#define SCRATCH_IPS 2048
_Static_assert(CPU_KERN_MAX + CPU_USER_MAX <= SCRATCH_IPS, "a record has room for its stacks");

/* Of one CPU and hook class: a class does not interrupt itself. What every walk touches lies in the first page. */
struct cpu_scratch {
	struct cpu_unwind u;
	__u64 window[WINDOW_WORDS] __attribute__((aligned(64)));
	__u64 words[DESK_WORDS];
	struct cpu_unwind_trace fresh;
	struct cpu_copy copy;	/* in front of the record, where it goes the other way (cpu_copy.bpf.h) */
	__u64 rec[sizeof(struct cpu_sample_rec) / 8];	/* one record: the room for its addresses follows */
	__u64 ips[SCRATCH_IPS];
	__u64 node[MAPLE_WORDS] __attribute__((aligned(64)));
	__u64 stack[(sizeof(struct cpu_copy_stack) + CPU_COPY_CHUNKS * CPU_COPY_CHUNK) / 8];
	struct cpu_unwind_trace traces[1 << TRACE_SLOTS_SHIFT];
	struct cpu_place_slot places[1 << PLACE_SLOTS_SHIFT] __attribute__((aligned(64)));
	struct cpu_rule_slot rules[1 << RULE_SLOTS_SHIFT];
} __attribute__((aligned(4096)));

/* Sized at run time: classes x CPUs. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct cpu_scratch);
} cpu_scratches UNIT_SHARED SEC(".maps");

static __always_inline struct cpu_scratch *desk_of(__u32 class)
{
	__u32 i = bpf_get_smp_processor_id() + (class ? cpu_n_cpus : 0);

	return bpf_map_lookup_elem(&cpu_scratches, &i);
}

#endif
