// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * One level of the kernel's maple tree. Layout: include/linux/maple_tree.h. A node is 256 bytes, aligned; bits 3-6 of
 * the pointer to it hold its type.
 */
#include "probes/cpu/bpf/cpu_vma.bpf.h"

enum maple_type { maple_dense, maple_leaf_64, maple_range_64, maple_arange_64 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct maple_range_64 {
	unsigned long pivot[15];
	void *slot[16];
};

struct maple_arange_64 {
	unsigned long pivot[9];
	void *slot[10];
};

#pragma clang attribute pop

/* The slot for @addr has the index of the first pivot that is not below it; a pivot of 0 ends the row. */
static __always_inline __u64 maple_slot(const __u64 *node, __u64 addr, __u32 pivots, __u32 first_slot)
{
	__u32 i;

	for (i = 0; i < 15; i++) {
		__u64 pivot;

		if (i >= pivots)
			break;
		pivot = node[i + 1];
		if (addr <= pivot || (i && !pivot))
			break;
	}
	return node[(first_slot + i) & (MAPLE_WORDS - 1)];
}

/*
 * One level down from u->entry, towards u->w.pc. A function of its own, with its state in a map, so the verifier
 * checks it once, not once per level.
 */
__noinline int cpu_maple_level(__u32 class)
{
	struct cpu_scratch *d = get_scratch(class);
	__u32 type, range_slot, arange_slot;
	__u64 entry, pc;

	/* the verifier checks this function also on kernels without such a tree */
	if (!bpf_core_enum_value_exists(enum maple_type, maple_arange_64))
		return MAPLE_UNKNOWN;
	range_slot = bpf_core_field_offset(struct maple_range_64, slot) / 8;
	arange_slot = bpf_core_field_offset(struct maple_arange_64, slot) / 8;
	if (!d)
		return MAPLE_UNKNOWN;
	entry = d->u.entry;
	pc = d->u.w.pc;
	if (bpf_probe_read_kernel(d->node, sizeof(d->node), (void *)(entry & ~255ull)))
		return MAPLE_UNKNOWN;
	type = entry >> 3 & 15;
	if (type == bpf_core_enum_value(enum maple_type, maple_arange_64)) {
		d->u.entry = maple_slot(d->node, pc, arange_slot - 1, arange_slot);
		return MAPLE_DEEPER;
	}
	d->u.entry = maple_slot(d->node, pc, range_slot - 1, range_slot);
	if (type == bpf_core_enum_value(enum maple_type, maple_leaf_64))
		return MAPLE_FOUND;
	return type == bpf_core_enum_value(enum maple_type, maple_range_64) ? MAPLE_DEEPER : MAPLE_UNKNOWN;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
