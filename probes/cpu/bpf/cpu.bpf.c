// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The programs of the cpu probe, in one object: opening an object costs a reading of the kernel's BTF.
 */
#include "probes/cpu/bpf/cpu_block.bpf.h"
#include "probes/cpu/bpf/cpu_sample.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
