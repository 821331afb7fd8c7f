/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Cached mappings (struct cpu_place_slot), shared by the compile units of a walk.
 *
 * Finding a mapping touches some fifty cold cache lines, validating a cached one touches two: each change of a
 * process's mappings changes a sequence number (since 6.4, with per-VMA locks). Kernels without that number have no
 * cache.
 */
#ifndef CPU_MAPPING_BPF_H
#define CPU_MAPPING_BPF_H

#include "probes/cpu/bpf/cpu_state.bpf.h"
#include "sonde/stack_wire.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define VM_EXEC 4
#define PLACE_UNITS 16		/* lifetime of a cached mapping, 2^30 ns: a new look-up marks its table as used */

UNIT_SHARED const volatile __u32 cpu_page_shift = 12;	/* filled before load */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct mm_struct___seq {
	int mm_lock_seq;	/* until 6.12 */
};

struct seqcount {
	unsigned int sequence;
};

struct mm_struct___count {
	struct seqcount mm_lock_seq;	/* since 6.13 */
};

/* Set when it leaves its process's tree: 6.4 to 6.14. */
struct vm_area_struct___detached {
	bool detached;
};

/* Since 6.15. 0 = detached. */
struct refcount_struct___cpu {
	int any;
};

struct vm_area_struct___count {
	struct refcount_struct___cpu vm_refcnt;
};

#pragma clang attribute pop

/* Reads the sequence number of @mm's mappings. False: this kernel has none, or a change is in progress. */
static __always_inline bool mm_sequence(struct mm_struct *mm, __u32 *ret)
{
	struct mm_struct___count *count = (void *)mm;
	struct mm_struct___seq *seq = (void *)mm;

	if (bpf_core_field_exists(count->mm_lock_seq.sequence)) {
		*ret = BPF_CORE_READ(count, mm_lock_seq.sequence);
		return !(*ret & 1);
	}
	if (!bpf_core_field_exists(seq->mm_lock_seq))
		return false;
	*ret = BPF_CORE_READ(seq, mm_lock_seq);
	return true;
}

#if SONDE_UNWIND
/* Number of evictions: a cached table of an earlier number may have lost its words to another table. */
UNIT_MAP(cpu_unwind_gone, ARRAY, 1, __u32, __u32);

static __always_inline __u32 tables_number(void)
{
	__u32 zero = 0, *gone = bpf_map_lookup_elem(&cpu_unwind_gone, &zero);

	return gone ? *(volatile __u32 *)gone : 0;
}
#else
static __always_inline __u32 tables_number(void)
{
	return 0;
}
#endif

static __always_inline struct cpu_unwind_trace *trace_of(struct cpu_scratch *d)
{
	return &d->traces[d->u.trace & ((1 << TRACE_SLOTS_SHIFT) - 1)];
}

static __always_inline struct cpu_place_slot *place_slot(struct cpu_scratch *d, __u32 i)
{
	return &d->places[i & ((1 << PLACE_SLOTS_SHIFT) - 1)];
}

static __always_inline bool vma_attached(struct vm_area_struct *vma)
{
	struct vm_area_struct___detached *flag = (void *)vma;
	struct vm_area_struct___count *count = (void *)vma;
	__u32 refs = 0;

	if (bpf_core_field_exists(count->vm_refcnt))
		return !bpf_probe_read_kernel(&refs, sizeof(refs),
					      (void *)vma + bpf_core_field_offset(count->vm_refcnt)) && refs;
	return bpf_core_field_exists(flag->detached) && !BPF_CORE_READ(flag, detached);
}

/* True if the mapping of @s still exists, of the same file, although the process's mappings have changed. */
static __always_inline bool place_same(const struct cpu_place_slot *s, const struct cpu_unwind *u)
{
	struct vm_area_struct *vma = s->vma;
	struct file *file = s->file;
	struct inode *inode;

	if (!vma || !vma_attached(vma) || BPF_CORE_READ(vma, vm_mm) != u->mm ||
	    BPF_CORE_READ(vma, vm_start) != s->start || BPF_CORE_READ(vma, vm_end) != s->end ||
	    BPF_CORE_READ(vma, vm_file) != file || !(BPF_CORE_READ(vma, vm_flags) & VM_EXEC))
		return false;
	if (!file)
		return true;
	inode = BPF_CORE_READ(file, f_inode);
	return BPF_CORE_READ(vma, vm_pgoff) << cpu_page_shift == s->off && BPF_CORE_READ(inode, i_ino) == s->ino &&
	       BPF_CORE_READ(inode, i_generation) == s->generation;
}

/* True if the cached mapping @s is still valid. */
static __always_inline bool place_holds(struct cpu_place_slot *s, const struct cpu_unwind *u)
{
	__u32 seq;

	if (!u->mm_id || s->mm_id != u->mm_id || s->tables != u->tables || u->now_s >= s->until_s)
		return false;
	if (s->mm_seq == u->mm_seq)
		return true;
	if (!place_same(s, u) || !mm_sequence(u->mm, &seq) || seq != u->mm_seq)
		return false;
	s->mm_seq = seq;
	return true;
}

#define PLACE_VERSION(s, i) ((s)->version << PLACE_SLOTS_SHIFT | (i))

/* Starts a walk: u->mm of the current task, and whether its cached mappings may be used. 0. */
int cpu_proc_maps_begin(__u32 class);

/* Fills the next mapping with that of u->w.pc. 0, or SONDE_STACK_*. */
int cpu_mapping_read(__u32 class);

/* Writes the unwind rule for u->w.pc to u->w.rule. 0. */
int cpu_rule_find(__u32 class);

#endif
