/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The mapping that holds an address, with what the unwinder knows of it. Built with -Dunwind=false no mapping has a
 * table, which leaves frame pointers.
 */
#ifndef CPU_MAPPING_BPF_H
#define CPU_MAPPING_BPF_H

#include "probes/cpu/bpf/cpu_vma.bpf.h"
#include "sonde/stack_wire.h"
#if SONDE_UNWIND
#include "probes/cpu/bpf/cpu_table.bpf.h"
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
#define PLACE_SHIFT 18		/* a mapping has a slot for every 256 KB that are looked up in it */
#define PLACE_UNITS 16		/* of 2^30 ns; then it is read again, which is when a table is seen to be in use */

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

/* Whether it is in its process's tree: 6.4 to 6.14. */
struct vm_area_struct___detached {
	bool detached;
};

/* Since. 0 = it is not. */
struct refcount_struct___cpu {
	int any;
};

struct vm_area_struct___count {
	struct refcount_struct___cpu vm_refcnt;
};

/* x86: of all that ever were. */
struct mm_context___id {
	__u64 ctx_id;
};

struct mm_struct___id {
	struct mm_context___id context;
};

#pragma clang attribute pop

enum bpf_func_id___mapping { BPF_FUNC_get_current_task_btf___mapping };

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

/* What its mappings are known by. */
struct mm_key {
	__u64 id;		/* 0 = what was read of them lately cannot be trusted */
	__u32 seq;
};

/* Of @mm, a pointer that the verifier knows: no calls. */
static __always_inline void mm_key_of(struct mm_struct *mm, struct mm_key *ret)
{
	struct mm_struct___count *count = (void *)mm;
	struct mm_struct___seq *seq = (void *)mm;
	struct mm_struct___id *id = (void *)mm;

	ret->id = ret->seq = 0;
	if (!bpf_core_field_exists(id->context.ctx_id))
		return;
	if (bpf_core_field_exists(count->mm_lock_seq.sequence)) {
		ret->seq = count->mm_lock_seq.sequence;
		ret->id = ret->seq & 1 ? 0 : id->context.ctx_id;
	} else if (bpf_core_field_exists(seq->mm_lock_seq)) {
		ret->seq = seq->mm_lock_seq;
		ret->id = id->context.ctx_id;
	}
}

/* Of any. */
static __always_inline void mm_key_of_probed(struct mm_struct *mm, struct mm_key *ret)
{
	struct mm_struct___id *id = (void *)mm;

	ret->id = ret->seq = 0;
	if (bpf_core_field_exists(id->context.ctx_id) && mm_sequence(mm, &ret->seq))
		ret->id = BPF_CORE_READ(id, context.ctx_id);
}

/*
 * At the beginning of a walk: the current task's mappings, and may what is known of them be used? A function that is
 * verified once: for each way to a load of a typed pointer the verifier searches all of the kernel's types by name.
 */
__noinline int cpu_proc_maps_begin(__u32 class)
{
	struct cpu_scratch *d = desk_of(class);
	struct mm_key key = { 0 };
	struct mm_struct *mm;

	if (!d)
		return 0;
	if (bpf_core_enum_value_exists(enum bpf_func_id___mapping, BPF_FUNC_get_current_task_btf___mapping)) {
		mm = bpf_get_current_task_btf()->mm;
		if (mm)
			mm_key_of(mm, &key);
	} else {
		mm = BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), mm);
		mm_key_of_probed(mm, &key);
	}
	d->u.mm = mm;
	d->u.mm_id = key.id;
	d->u.mm_seq = key.seq;
	if (key.id) {
		d->u.now_s = bpf_ktime_get_boot_ns() >> 30;
		d->u.tables = tables_number();
	}
	return 0;
}

static __always_inline struct cpu_unwind_trace *trace_of(struct cpu_scratch *d)
{
	return &d->traces[d->u.trace & ((1 << TRACE_SLOTS_SHIFT) - 1)];
}

static __always_inline __u32 place_index(const struct cpu_scratch *d)
{
	__u64 key = d->u.mm_id << 32 ^ d->u.w.pc >> PLACE_SHIFT;

	return key * 0x9e3779b97f4a7c15ull >> (64 - PLACE_SLOTS_SHIFT);
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

/* Something changed in this process: the mapping of @s did not, when it is there, of the same file. */
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

/* Is what @s says still true? */
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

static __always_inline bool place_take(struct cpu_place_slot *s, const struct cpu_unwind *u, struct cpu_mapping *m)
{
	__u64 pc = u->w.pc;

	if (pc < s->start || pc >= s->end || !place_holds(s, u))
		return false;
	m->start = s->start;
	m->end = s->end;
	m->off = s->off;
	m->first_page = s->first_page;
	m->rules = s->rules;
	m->pages = s->pages;
	m->n_pages = s->n_pages;
	m->id = s->id;
	m->no_file = s->no_file;
	return true;
}

static __always_inline void place_keep(struct cpu_place_slot *s, const struct cpu_unwind *u,
				       const struct cpu_mapping *m)
{
	__u32 seq;

	/* changed while it was read, or still waiting for its table */
	if (!u->mm_id || u->w.compat || !m->id || !mm_sequence(u->mm, &seq) || seq != u->mm_seq)
		return;
	s->mm_id = u->mm_id;
	s->mm_seq = u->mm_seq;
	s->tables = u->tables;
	s->until_s = u->now_s + PLACE_UNITS;
	s->start = m->start;
	s->end = m->end;
	s->off = m->off;
	s->first_page = m->first_page;
	s->rules = m->rules;
	s->pages = m->pages;
	s->n_pages = m->n_pages;
	s->id = m->id;
	s->no_file = m->no_file;
	s->vma = u->vma;
	s->file = u->file;
	s->ino = u->ino;
	s->generation = u->generation;
	s->version++;
}

#define PLACE_VERSION(s, i) ((s)->version << PLACE_SLOTS_SHIFT | (i))

/* Spans of this walk lie in @s: noted with the trace that is in use, else for the one that this walk makes. */
static __always_inline void place_note(struct cpu_scratch *d, const struct cpu_place_slot *s,
				       const struct cpu_mapping *m)
{
	__u32 place = PLACE_VERSION(s, place_index(d));
	struct cpu_unwind_trace *t = trace_of(d);
	__u32 n;

	if (!d->u.trace_end)
		t = &d->fresh;
	n = t->n_places;
	if (s->mm_id != d->u.mm_id || s->mm_seq != d->u.mm_seq || s->start != m->start)
		n = TRACE_PLACES;	/* it was not kept */
	for (__u32 i = 0; i < TRACE_PLACES && i < n; i++) {
		if (t->places[i] == place)
			return;
	}
	if (n < TRACE_PLACES)
		t->places[n & (TRACE_PLACES_ROOM - 1)] = place;
	t->n_places = n + 1;	/* one too many: not all are known */
}

/* Out of the kernel's tree. 0, or why not (SONDE_STACK_*). */
static __always_inline int mapping_read(struct cpu_unwind *u, __u32 class, struct cpu_mapping *m)
{
	struct vm_area_struct *vma = vma_find(u, class);

	m->end = 0;
	if (!vma)
		return SONDE_STACK_NO_MAPPING;
	u->vma = vma;
	u->file = NULL;
	m->start = BPF_CORE_READ(vma, vm_start);
	m->end = BPF_CORE_READ(vma, vm_end);
	if (u->w.pc < m->start || u->w.pc >= m->end) {
		m->end = 0;
		return SONDE_STACK_BUSY;
	}
	if (!(BPF_CORE_READ(vma, vm_flags) & VM_EXEC)) {
		m->end = 0;
		return SONDE_STACK_NO_MAPPING;
	}
	m->off = BPF_CORE_READ(vma, vm_pgoff) << cpu_page_shift;
	m->n_pages = 0;
	m->id = CPU_TABLE_NONE;
	m->no_file = 0;
	table_find(u, class, vma, m);
	return 0;
}

/* Fills the next mapping with the one that holds the address looked up. 0, or why not (SONDE_STACK_*). */
__noinline int cpu_mapping_read(__u32 class)
{
	struct cpu_scratch *d = desk_of(class);
	struct cpu_place_slot *slot;
	struct cpu_mapping *m;
	__u32 at;
	int r = 0;

	if (!d)
		return SONDE_STACK_BUSY;
	at = d->u.n_mappings & (UNWIND_MAPPINGS - 1);
	m = &d->u.mappings[at];
	slot = place_slot(d, place_index(d));
	if (!place_take(slot, &d->u, m)) {
		r = mapping_read(&d->u, class, m);
		if (r)
			return r;
		place_keep(slot, &d->u, m);
	}
	place_note(d, slot, m);
	d->u.mapping = at;
	d->u.n_mappings++;
	return 0;
}

/* Makes u->mapping the mapping that holds the address looked up. 0, or why not (SONDE_STACK_*). */
static __always_inline int mapping_find(struct cpu_unwind *u, __u32 class)
{
	for (__u32 i = 0; i < UNWIND_MAPPINGS; i++) {
		__u32 at = (u->mapping + i) & (UNWIND_MAPPINGS - 1);

		if (at >= u->n_mappings || u->w.pc < u->mappings[at].start || u->w.pc >= u->mappings[at].end)
			continue;
		u->mapping = at;
		return 0;
	}
	return cpu_mapping_read(class);
}

#endif
