/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Threads and how they left their CPUs, by tid.
 */
#ifndef CPU_SLOT_BPF_H
#define CPU_SLOT_BPF_H

#include "bpf/kernel.h"
#include "probes/cpu/cpu_wire.h"

#include <bpf/bpf_helpers.h>

/* Preallocated: a program cannot allocate with the run queue locked. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set at run time, as the size of a slot */
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct cpu_slot) + 127 * sizeof(__u64));
} cpu_slots UNIT_SHARED SEC(".maps");

#endif
