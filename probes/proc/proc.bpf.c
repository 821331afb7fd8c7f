// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The programs of the proc probe, in one object: opening an object costs a reading of the kernel's BTF, 15 ms
 * here. Which of them run is decided per program (src/probe/hooks.h).
 */
#include "probes/proc/proc_iter.bpf.h"
#include "probes/proc/proc_life.bpf.h"
#include "probes/proc/proc_owner.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
