/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Executable mappings of a live process, with the keys of their files in unwind tables. Part of the live half.
 */
#ifndef CPU_PROC_MAPS_H
#define CPU_PROC_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "probes/cpu/cpu_unwind_wire.h"

enum cpu_place_kind { CPU_PLACE_FILE, CPU_PLACE_VDSO, CPU_PLACE_ANON, CPU_PLACE__MAX };

struct cpu_place {
	uint64_t start, end;	/* addresses */
	uint64_t off;		/* of start in the file, bytes; of the vDSO 0 */
	enum cpu_place_kind kind;
	bool exact;		/* key.generation is known: not all file systems tell */
	struct cpu_file_key key; /* FILE: without mtime_ns until cpu_proc_maps_open(); VDSO: that of all */
};

typedef VEC(struct cpu_place) cpu_place_vec;

/*
 * Appends at most @max places. 0, also when the process is gone: then there are none; or -ENOMEM. @proc_fd: the
 * host's /proc.
 */
int cpu_proc_maps_read(int proc_fd, uint32_t tgid, size_t max, cpu_place_vec *ret);

/* The file of a CPU_PLACE_FILE, read-only; fills the rest of its key. A descriptor or -errno: mapped_file_open(). */
int cpu_proc_maps_open(int proc_fd, uint32_t tgid, struct cpu_place *p);

#endif
