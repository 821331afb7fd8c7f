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
#endif

/* Fills the next mapping with the one that holds u->pc. 0, or why not (SONDE_STACK_*). */
__noinline int cpu_mapping_read(__u32 class)
{
	struct cpu_unwind *u = unwind_state(class);
	struct vm_area_struct *vma;
	struct cpu_mapping *m;

	if (!u)
		return SONDE_STACK_BUSY;
	m = &u->mappings[u->n_mappings & (UNWIND_MAPPINGS - 1)];
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
