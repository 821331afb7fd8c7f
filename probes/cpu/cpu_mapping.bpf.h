/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The mapping that holds an address, with what the unwinder knows of it. Built with -Dunwind=false no mapping has a
 * table, which leaves frame pointers.
 */
#ifndef CPU_MAPPING_BPF_H
#define CPU_MAPPING_BPF_H

#include "probes/cpu/cpu_vma.bpf.h"
#if SONDE_UNWIND
#include "probes/cpu/cpu_table.bpf.h"
#endif

const volatile __u32 cpu_page_shift = 12;	/* filled before load */

#if !SONDE_UNWIND
static __always_inline void table_find(struct cpu_unwind *u, __u32 class, struct vm_area_struct *vma,
				       struct cpu_mapping *m)
{
}

static __always_inline void cpu_rule_find(__u32 class)
{
}

static __always_inline __u32 tables_number(void)
{
	return 0;
}
#endif

/*
 * Mappings found lately, by process and address. To find one costs some fifty cache lines that belong to nobody's
 * work at hand; to see that it is as it was, two: every change of a process's mappings changes a number in it (6.4,
 * with locks per mapping). Where there is no such number, nothing is remembered.
 */
#define PLACE_SLOTS_SHIFT 8
#define PLACE_SHIFT 16		/* a mapping has a slot for every 64 KB that are looked up in it */
#define PLACE_NS 2000000000ull	/* then it is read again, which is when a table is seen to be in use */

struct cpu_place_slot {
	__u64 mm_id;
	__u64 until_ns;
	__u32 mm_seq, tables;
	struct cpu_mapping m;
};

struct cpu_place_slots {
	struct cpu_place_slot slots[1 << PLACE_SLOTS_SHIFT];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct cpu_place_slots);
} cpu_unwind_places SEC(".maps");

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct mm_struct___seq {
	int mm_lock_seq;	/* until 6.12 */
};

struct seqcount {
	unsigned int sequence;
};

struct mm_struct___count {
	struct seqcount mm_lock_seq;	/* since */
};

/* x86: of all that ever were. */
struct mm_context___id {
	__u64 ctx_id;
};

struct mm_struct___id {
	struct mm_context___id context;
};

#pragma clang attribute pop

/* The number that every change of @mm's mappings changes. False: this kernel has none, or a change goes on. */
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

/* At the beginning of a walk: may what is known of u->mm be used, and what is it known by? */
static __always_inline void places_begin(struct cpu_unwind *u)
{
	struct mm_struct___id *mm = (void *)u->mm;

	u->mm_id = 0;
	if (!bpf_core_field_exists(mm->context.ctx_id) || !mm_sequence(u->mm, &u->mm_seq))
		return;
	u->begin_ns = bpf_ktime_get_boot_ns();
	u->tables = tables_number();
	u->mm_id = BPF_CORE_READ(mm, context.ctx_id);
}

static __always_inline struct cpu_place_slot *place_slot(const struct cpu_unwind *u, __u32 class)
{
	struct cpu_place_slots *s = u->mm_id ? bpf_map_lookup_elem(&cpu_unwind_places, &class) : NULL;
	__u64 key = u->mm_id << 32 ^ u->pc >> PLACE_SHIFT;
	__u32 i = key * 0x9e3779b97f4a7c15ull >> (64 - PLACE_SLOTS_SHIFT);

	return s ? &s->slots[i & ((1 << PLACE_SLOTS_SHIFT) - 1)] : NULL;
}

static __always_inline bool place_holds(const struct cpu_place_slot *s, const struct cpu_unwind *u)
{
	return s->mm_id == u->mm_id && s->mm_seq == u->mm_seq && s->tables == u->tables &&
	       u->begin_ns < s->until_ns && u->pc >= s->m.start && u->pc < s->m.end;
}

static __always_inline void place_keep(struct cpu_place_slot *s, const struct cpu_unwind *u,
				       const struct cpu_mapping *m)
{
	__u32 seq;

	/* changed while it was read, or still waiting for its table */
	if (!m->known || !mm_sequence(u->mm, &seq) || seq != u->mm_seq)
		return;
	s->mm_id = u->mm_id;
	s->mm_seq = u->mm_seq;
	s->tables = u->tables;
	s->until_ns = u->begin_ns + PLACE_NS;
	s->m = *m;
}

/* Fills the next mapping with the one that holds u->pc. 0, or why not (SONDE_STACK_*). */
__noinline int cpu_mapping_read(__u32 class)
{
	struct cpu_unwind *u = unwind_state(class);
	struct vm_area_struct *vma;
	struct cpu_place_slot *slot;
	struct cpu_mapping *m;

	if (!u)
		return SONDE_STACK_BUSY;
	m = &u->mappings[u->n_mappings & (UNWIND_MAPPINGS - 1)];
	slot = place_slot(u, class);
	if (slot && place_holds(slot, u)) {
		*m = slot->m;
		u->mapping = u->n_mappings++;
		return 0;
	}
	vma = vma_find(u, class);
	if (!vma)
		return SONDE_STACK_NO_MAPPING;
	m->start = BPF_CORE_READ(vma, vm_start);
	m->end = BPF_CORE_READ(vma, vm_end);
	if (u->pc < m->start || u->pc >= m->end) {
		m->end = 0;
		return SONDE_STACK_BUSY;
	}
	if (!(BPF_CORE_READ(vma, vm_flags) & VM_EXEC)) {
		m->end = 0;
		return SONDE_STACK_NO_MAPPING;
	}
	m->off = BPF_CORE_READ(vma, vm_pgoff) << cpu_page_shift;
	m->n_pages = 0;
	m->known = 1;
	u->mapping = u->n_mappings++;
	if (!u->compat)
		table_find(u, class, vma, m);
	if (slot && !u->compat)
		place_keep(slot, u, m);
	return 0;
}

/* Makes u->mapping the mapping that holds u->pc. 0, or why not (SONDE_STACK_*). */
static __always_inline int mapping_find(struct cpu_unwind *u, __u32 class)
{
	for (__u32 i = 0; i < UNWIND_MAPPINGS; i++) {
		__u32 at = (u->mapping + i) & (UNWIND_MAPPINGS - 1);

		if (u->pc < u->mappings[at].start || u->pc >= u->mappings[at].end)
			continue;
		u->mapping = at;
		return 0;
	}
	return cpu_mapping_read(class);
}

#endif
