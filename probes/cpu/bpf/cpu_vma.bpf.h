/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Finds the mapping that holds an address of the current task in the kernel's tree of mappings: a maple tree since
 * 6.1, a red-black tree before. Programs cannot take its lock, so the caller checks that the mapping holds the
 * address; a concurrent change costs the walk of one stack.
 */
#ifndef CPU_VMA_BPF_H
#define CPU_VMA_BPF_H

#include "probes/cpu/bpf/cpu_state.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define MAPLE_DEPTH 8		/* levels of 16 slots each */
#define RB_DEPTH 48		/* more than twice log2 of the maximum number of mappings */
#define VM_EXEC 4

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct maple_tree {
	void *ma_root;
};

/* Since 6.1. */
struct mm_struct___maple {
	struct maple_tree mm_mt;
};

struct rb_node {
	struct rb_node *rb_right, *rb_left;
};

struct rb_root {
	struct rb_node *rb_node;
};

/* Before 6.1. */
struct mm_struct___rb {
	struct rb_root mm_rb;
};

struct vm_area_struct___rb {
	struct rb_node vm_rb;
};

#pragma clang attribute pop

/* ---- maple tree ---- */

enum { MAPLE_DEEPER, MAPLE_FOUND, MAPLE_UNKNOWN };

/* One level down from u->entry, towards u->w.pc: MAPLE_*. */
int cpu_maple_level(__u32 class);

/* Finds the entry for u->w.pc. 0: there is none, or the tree has an unknown node type. */
static __always_inline __u64 maple_find(struct cpu_unwind *u, __u32 class)
{
	struct mm_struct___maple *mm = (void *)u->mm;
	int r = MAPLE_DEEPER;

	u->entry = (__u64)BPF_CORE_READ(mm, mm_mt.ma_root);
	if ((u->entry & 3) != 2)	/* not a node: a tree of one entry */
		return u->entry;
	for (int i = 0; i < MAPLE_DEPTH && r == MAPLE_DEEPER; i++)
		r = cpu_maple_level(class);
	return r == MAPLE_FOUND ? u->entry : 0;
}

/* ---- red-black tree ---- */

static __always_inline __u64 rb_find(struct mm_struct *mm, __u64 addr)
{
	struct rb_node *node = BPF_CORE_READ((struct mm_struct___rb *)mm, mm_rb.rb_node);

	for (int i = 0; i < RB_DEPTH && node; i++) {
		struct vm_area_struct *vma = (void *)node - bpf_core_field_offset(struct vm_area_struct___rb, vm_rb);

		if (addr >= BPF_CORE_READ(vma, vm_end))
			node = BPF_CORE_READ(node, rb_right);
		else if (addr < BPF_CORE_READ(vma, vm_start))
			node = BPF_CORE_READ(node, rb_left);
		else
			return (__u64)vma;
	}
	return 0;
}

/* Finds the mapping of u->w.pc, unchecked, or NULL. */
static __always_inline struct vm_area_struct *vma_find(struct cpu_unwind *u, __u32 class)
{
	__u64 vma;

	if (bpf_core_field_exists(struct mm_struct___maple, mm_mt))
		vma = maple_find(u, class);
	else
		vma = rb_find(u->mm, u->w.pc);
	return (__s64)vma < 0 ? (struct vm_area_struct *)vma : NULL;	/* kernel addresses only */
}

/* Address of the vDSO of @mm, 0 = none. */
static __always_inline __u64 mm_vdso(struct mm_struct *mm)
{
	if (!bpf_core_field_exists(mm->context.vdso))
		return 0;
	return (__u64)BPF_CORE_READ(mm, context.vdso);
}

#endif
