/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables in the kernel: compiled from the files that the walker asks for (CPU_REC_NEED), in a process without
 * rights, and kept within a budget, those unused for longest going first. Part of the live half.
 */
#ifndef CPU_TABLES_H
#define CPU_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/cpu/cpu_proc_maps.h"

struct bpf_object;
struct cpu_need_rec;
struct cpu_tables;
struct err;
struct loop;
struct probe_env;

struct cpu_tables_stats {
	uint64_t files;		/* that have a table now, empty ones included */
	uint64_t rows, bytes;	/* of these tables; bytes in the kernel */
	uint64_t pool_bytes;	/* kernel memory taken for tables; it grows up to the budget and stays */
	uint64_t loaded, evicted;
	uint64_t gone;		/* requests whose process or file was gone */
	uint64_t refused;	/* files that make no sense or are too large: they have an empty table */
	uint64_t late;		/* compilations that took too long: tried again half a minute later */
	uint64_t load_ns, load_max_ns;	/* from the request's arrival to the table, sum and maximum */
};

/* What is granted of @budget_bytes where memory is scarce. */
uint64_t cpu_tables_budget(const struct probe_env *env, uint64_t budget_bytes);

/* Between open and load: sizes of the maps. @budget_bytes: of all tables. */
void cpu_tables_configure(struct bpf_object *obj, uint64_t budget_bytes);

struct cpu_tables_opts {
	uint64_t budget_bytes;	/* of all tables */
	const char *proc_path;	/* the host's /proc */
	uint16_t instance;		/* of the probe */
	struct probe_env *env;	/* workers are no samples */
	int nice;		/* of the workers, 0 = as it is */
	struct loop *loop;	/* compiling goes on while it runs; NULL = cpu_tables_need() waits for it */
	void (*complain)(void *ctx, const struct err *err);	/* of files that are refused; may be NULL */
	void *ctx;
};

int cpu_tables_new(const struct cpu_tables_opts *o, struct cpu_tables **ret, struct err *err);
void cpu_tables_free(struct cpu_tables *t);	/* NULL is fine */

/*
 * Before the object is loaded: has the files of the processes compiled that are selected (@tids: threads, may be
 * none) or use the CPUs now, by workers while this process loads. Only with a loop, for then nobody waits.
 */
void cpu_tables_ahead(struct cpu_tables *t, const uint32_t *tids, size_t n_tids);

/* After load. Loads the table of the vDSO. @obj outlives the tables. -ENOENT when it has no unwinder. */
int cpu_tables_begin(struct cpu_tables *t, struct bpf_object *obj, struct err *err);

/* For the tables asked for so far, but not longer than so. */
void cpu_tables_wait(struct cpu_tables *t, uint64_t limit_ns);

/*
 * Opens the file that was asked for and has it compiled. 0, also when it has a table already; -ESRCH, -ENOENT or
 * -ESTALE: it is gone, and may be asked for again soon; -ENOBUFS: likewise, too many are waiting; or -errno: it got
 * an empty table.
 */
int cpu_tables_need(struct cpu_tables *t, const struct cpu_need_rec *r);

/* From time to time: ends a worker that takes too long. */
void cpu_tables_poll(struct cpu_tables *t);

/* ---- for walks in user space ---- */

/* @loaded is called when a file has got its table, or will get none. */
void cpu_tables_watch(struct cpu_tables *t, void (*loaded)(void *ctx), void *ctx);

bool cpu_tables_busy(const struct cpu_tables *t);	/* files are being compiled */

/* What a process has mapped to run; nothing when it is gone. Its files will be loaded. 0 or -ENOMEM. */
int cpu_tables_places(struct cpu_tables *t, uint32_t tgid, cpu_place_vec *ret);

/* The table of a file or of the vDSO, if it is loaded. */
bool cpu_tables_find(const struct cpu_tables *t, const struct cpu_place *p, struct cpu_unwind_file *ret);

/* The rule for an offset in the file of a table. False: there is none. */
bool cpu_tables_rule(const struct cpu_tables *t, const struct cpu_unwind_file *f, uint64_t off,
		     struct sonde_unwind_rule *ret);

void cpu_tables_stats(const struct cpu_tables *t, struct cpu_tables_stats *ret);

#endif
