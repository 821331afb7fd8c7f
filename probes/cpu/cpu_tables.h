/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables in the kernel: compiled from the files that the walker asks for (CPU_REC_NEED), in a process without
 * rights, and kept within a budget, those unused for longest going first. Part of the live half.
 */
#ifndef CPU_TABLES_H
#define CPU_TABLES_H

#include <stddef.h>
#include <stdint.h>

struct bpf_object;
struct cpu_need_rec;
struct cpu_tables;
struct err;

struct cpu_tables_stats {
	uint64_t files;		/* that have a table now, empty ones included */
	uint64_t rows, bytes;	/* of these tables; bytes in the kernel */
	uint64_t pool_bytes;	/* kernel memory taken for tables; it grows up to the budget and stays */
	uint64_t loaded, evicted;
	uint64_t gone;		/* requests whose process or file was gone */
	uint64_t refused;	/* files that make no sense or are too large: they have an empty table */
	uint64_t load_ns, load_max_ns;	/* from the request's arrival to the table, sum and maximum */
};

/* Between open and load: sizes of the maps. @budget_bytes: of all tables. */
void cpu_tables_configure(struct bpf_object *obj, uint64_t budget_bytes);

/*
 * After load. @proc_path: the host's /proc; borrowed. Loads the table of the vDSO. @obj must outlive the result.
 * -ENOENT when the object has no unwinder.
 */
int cpu_tables_new(struct bpf_object *obj, uint64_t budget_bytes, const char *proc_path, struct cpu_tables **ret,
		   struct err *err);
void cpu_tables_free(struct cpu_tables *t);	/* NULL is fine */

/*
 * Loads the table that was asked for; blocks for as long as a worker takes to compile it, at most two seconds.
 * 0 when it is there. Negative, with a sentence in @err: the file is gone (-ESRCH, -ENOENT, -ESTALE: it may be asked
 * for again), or refused (then it has an empty table: frame pointers).
 */
int cpu_tables_need(struct cpu_tables *t, const struct cpu_need_rec *r, struct err *err);

void cpu_tables_stats(const struct cpu_tables *t, struct cpu_tables_stats *ret);

#endif
