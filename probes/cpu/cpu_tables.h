/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables in the kernel: compiled from the files that the walker requests (CPU_REC_NEED) in a process without
 * rights, kept within a budget, evicted least recently used first. Part of the live half.
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
struct probe_env;

struct cpu_tables_stats {
	uint64_t files;		/* with a table now, empty ones included */
	uint64_t rows, bytes;	/* of these tables; bytes of kernel memory */
	uint64_t pool_bytes;	/* kernel memory of the pool, up to the budget; it does not shrink */
	uint64_t loaded, evicted;
	uint64_t gone;		/* requests whose process or file had gone */
	uint64_t refused;	/* invalid or too large files: their table is empty */
	uint64_t late;		/* compilations that timed out: retried after 30 s */
	uint64_t load_ns, load_max_ns;	/* from request to table, sum and maximum */
};

/* The part of @budget_bytes that scarce memory allows. */
uint64_t cpu_tables_budget(const struct probe_env *env, uint64_t budget_bytes);

/* Between open and load: sizes of the maps. @budget_bytes: of all tables. */
void cpu_tables_configure(struct bpf_object *obj, uint64_t budget_bytes);

struct cpu_tables_opts {
	uint64_t budget_bytes;	/* of all tables */
	const char *proc_path;	/* the host's /proc */
	uint16_t instance;		/* of the probe */
	struct probe_env *env;	/* excludes the workers from samples */
	int nice;		/* of the workers, 0 = unchanged */
	struct loop *loop;	/* compiles while it runs; NULL = cpu_tables_need() waits */
	void (*complain)(void *ctx, const struct err *err);	/* for files that are refused; may be NULL */
	void *ctx;
};

int cpu_tables_new(const struct cpu_tables_opts *o, struct cpu_tables **ret, struct err *err);
void cpu_tables_free(struct cpu_tables *t);	/* NULL is fine */

/*
 * Before the object is loaded: workers compile the files of the selected processes (@tids: threads, may be none),
 * or of those that use the CPUs now. Only with a loop, which then does not wait.
 */
void cpu_tables_ahead(struct cpu_tables *t, const uint32_t *tids, size_t n_tids);

/* The same for the executable @path and what this process has mapped: the C library and its loader. */
void cpu_tables_ahead_of(struct cpu_tables *t, const char *path);

/* After load. Loads the table of the vDSO. @obj outlives the tables. -ENOENT: it has no unwinder. */
int cpu_tables_begin(struct cpu_tables *t, struct bpf_object *obj, struct err *err);

/* Waits for the requested tables, at most @limit_ns. */
void cpu_tables_wait(struct cpu_tables *t, uint64_t limit_ns);

/*
 * Opens the requested file and has it compiled. 0, also if it has a table; -ESRCH, -ENOENT, -ESTALE: it is gone,
 * and may be requested again soon; -ENOBUFS: the queue is full, and so it may; or -errno: it got an empty table.
 */
int cpu_tables_need(struct cpu_tables *t, const struct cpu_need_rec *r);

/* Periodically: kills a worker that takes too long. */
void cpu_tables_poll(struct cpu_tables *t);

/* ---- for walks in user space ---- */

/* Calls @loaded when a file has got its table, or will get none. */
void cpu_tables_watch(struct cpu_tables *t, void (*loaded)(void *ctx), void *ctx);

bool cpu_tables_busy(const struct cpu_tables *t);	/* files are being compiled */

/* Executable mappings of a process; none if it has ended. Their files will be loaded. 0 or -ENOMEM. */
int cpu_tables_places(struct cpu_tables *t, uint32_t tgid, cpu_place_vec *ret);

/* The table of a file or of the vDSO, if it is loaded. */
bool cpu_tables_find(const struct cpu_tables *t, const struct cpu_place *p, struct cpu_unwind_file *ret);

/* The rule for an offset in the file of a table. False: none. */
bool cpu_tables_rule(const struct cpu_tables *t, const struct cpu_unwind_file *f, uint64_t off,
		     struct sonde_unwind_rule *ret);

void cpu_tables_stats(const struct cpu_tables *t, struct cpu_tables_stats *ret);

#endif
