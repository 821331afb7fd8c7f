/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Per-CPU working memory: the current walk, the current record, and caches. It is a map because before 5.13 global
 * functions take only numbers, and the program's stack is short.
 *
 * At a hundred samples per second all of it is cold, so the number of cache lines and pages that are touched
 * counts: related data is adjacent and aligned, in one array that is indexed by CPU (a per-CPU array costs two more
 * lines per look-up).
 */
#ifndef CPU_STATE_BPF_H
#define CPU_STATE_BPF_H

#include "bpf/kernel.h"
#include "probes/cpu/cpu_unwind_wire.h"
#include "probes/cpu/cpu_wire.h"

#include <bpf/bpf_helpers.h>

#define MAPLE_WORDS 32		/* of a node in the kernel's tree of mappings */
#define UNWIND_MAPPINGS 4	/* cached per walk: a power of two */
#define SCRATCH_WORDS 40		/* room for registers */

/* Registers that only unusual frames need: all read, ... */
enum { REGS_NONE, REGS_WORDS, REGS_TASK };	/* ... in scratch words, or still in the task */
#define PLACE_SLOTS_SHIFT 8
#define RULE_SLOTS_SHIFT 11

/* Filled before load (cpu.c). */
UNIT_SHARED const volatile __u32 cpu_n_cpus = 1;
UNIT_SHARED const volatile __u32 cpu_user_depth = 127;	/* frames; 0 = no user stacks */

struct cpu_mapping {
	__u64 start, end;
	__u64 off;		/* of start in the file, bytes */
	__u32 first_page;	/* this and the next: as in struct cpu_unwind_file */
	__u32 rules, pages;	/* words of the pool; rows follow the pages */
	__u32 n_pages;		/* 0 = frame pointers */
	__u32 id;		/* 0 = the file's table is not there */
	__u32 no_file;
};

/* A cached mapping: one cache line, and another to revalidate it after a change. */
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

/* A cached rule. Half a cache line. */
struct cpu_rule_slot {
	__u64 key;
	struct sonde_unwind_rule rule;
	__s32 start;		/* of the row, from that of the grain of the file's bytes */
	__u32 len;
};
#define RULE_GRAIN_SHIFT 5

/*
 * Addresses with one rule: the first, shifted by 16, and the number of bytes. Longer spans are truncated. The rule
 * is packed (cpu_unwind.bpf.c), so four spans fill a cache line.
 */
#define SPAN_LEN 0xffffull

struct cpu_span {
	__u64 at;
	__u64 rule;		/* 0 = does not fit, not cached; a gap's aux: why a walk ends there */
};

#define TRACE_SLOTS_SHIFT 7
#define TRACE_SPANS 64		/* this and the next: powers of two */
#define TRACE_OTHERS 32
#define TRACE_PLACES 7		/* mappings */
#define TRACE_PLACES_ROOM 8

/* The last walk of a thread: its rules, and those that later walks needed in addition. */
struct cpu_unwind_trace {
	__u64 mm_id;
	__u32 mm_seq, tables;
	__u32 tid, until_s;	/* as in struct cpu_place_slot */
	__u32 n, n_others;	/* others: ever added */
	__u32 n_places;		/* of the spans; more than TRACE_PLACES = not all are known */
	__u32 places[TRACE_PLACES_ROOM];	/* index in cpu_scratch.places, version << PLACE_SLOTS_SHIFT */
	struct cpu_span spans[TRACE_SPANS];
	struct cpu_span others[TRACE_OTHERS];
} __attribute__((aligned(64)));

#define UNWIND_TURN 32	/* frames per call of cpu_unwind_some() */
#define WINDOW_WORDS 64		/* of the stack, per read: 8 bytes cost as much as 512 */

/* One walk. */
struct cpu_unwind {
	struct cpu_walk w;
	struct mm_struct *mm;
	__u64 mm_id;		/* of mm, never reused; 0 = cached mappings cannot be trusted */
	__u32 mm_seq;		/* of mm's mappings: a change of them changes it */
	__u32 tables;		/* changes with each eviction */
	__u32 now_s;		/* boot clock, in units of 2^30 ns */
	__u32 cap;		/* maximum number of frames */
	__u32 at;		/* index in the record's addresses */
	__u32 n_mappings;	/* filled so far in this walk */
	__u32 mapping;		/* index of the current one */
	__u32 no_window;	/* the stack is not readable in large pieces */
	__u32 trace;		/* index of the thread's last walk */
	__u32 trace_at, trace_end;	/* its next spans */
	__u32 trace_missed;	/* frames without a span in it */
	__u32 trace_others;	/* how many there are */
	struct cpu_span span;	/* of w.rule; at 0 = none yet */
	__u64 window;		/* address of cpu_scratch.window, WINDOW_NONE = empty */
	struct vm_area_struct *vma;	/* this and the next: of the current mapping */
	struct file *file;
	__u64 ino;
	__u32 generation, tid;
	__u32 regs_left;	/* REGS_* */
	struct cpu_mapping mappings[UNWIND_MAPPINGS];
	__u64 entry;		/* current entry of the tree of mappings */
};

#define WINDOW_NONE (~0ull)	/* empty */

/* The room after a record is a power of two of addresses, so an index can be masked. */
#define SCRATCH_IPS 2048
_Static_assert(CPU_WAIT_WORDS + CPU_KERN_MAX + CPU_USER_MAX <= SCRATCH_IPS, "a record has room for its stacks");

/* Bytes of a record before its addresses. */
static __always_inline __u32 fixed_bytes(__u32 class)
{
	return sizeof(struct cpu_sample_rec) + (class == CPU_CLASS_SWITCH ? sizeof(struct cpu_wait) : 0);
}

/* Of one CPU and hook class: a class does not interrupt itself. The data of every walk is in the first page. */
struct cpu_scratch {
	struct cpu_unwind u;
	__u64 window[WINDOW_WORDS] __attribute__((aligned(64)));
	__u64 words[SCRATCH_WORDS];
	struct cpu_unwind_trace fresh;
	struct cpu_copy copy;	/* header of a record in the ring of copies (cpu_copy.bpf.h) */
	__u64 rec[sizeof(struct cpu_sample_rec) / 8];	/* a record; its addresses follow */
	__u64 ips[SCRATCH_IPS];
	__u64 node[MAPLE_WORDS] __attribute__((aligned(64)));
	struct cpu_quota quota;
	__u64 stack[(sizeof(struct cpu_copy_stack) + CPU_COPY_CHUNKS * CPU_COPY_CHUNK) / 8];
	struct cpu_unwind_trace traces[1 << TRACE_SLOTS_SHIFT];
	struct cpu_place_slot places[1 << PLACE_SLOTS_SHIFT] __attribute__((aligned(64)));
	struct cpu_rule_slot rules[1 << RULE_SLOTS_SHIFT];
} __attribute__((aligned(4096)));

/* Sized at run time: classes x CPUs. */
UNIT_MAP_FLAGS(cpu_scratches, ARRAY, BPF_F_MMAPABLE, 2, __u32, struct cpu_scratch);

static __always_inline struct cpu_scratch *get_scratch(__u32 class)
{
	__u32 i = bpf_get_smp_processor_id() + (class ? cpu_n_cpus : 0);

	return bpf_map_lookup_elem(&cpu_scratches, &i);
}

#endif
