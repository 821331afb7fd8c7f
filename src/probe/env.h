/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The environment that all live probes of a pipeline share: rings, ledger, maps shared by BPF objects, the selection
 * in the kernel, and injection of records into the stream.
 *
 * Maps are shared by name. A map "sonde_*" of a BPF object is created by the first object that has it; later objects
 * reuse it, so that probes join on keys without naming each other. A map "inst_*" is shared by the objects of an
 * instance.
 */
#ifndef PROBE_ENV_H
#define PROBE_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/probe.h"
#include "probe/rodata.h"
#include "probe/select.h"
#include "sonde/wire.h"

struct bpf_program;
struct coop;

struct probe_env_opts {
	size_t ring_bytes;		/* per CPU, bulk; a power of two; 0 = 4 MiB, less with many CPUs */
	size_t life_ring_bytes;		/* per CPU, life-cycle; 0 = default: a share of the bulk ring */
	unsigned wakeup_pct;		/* fill of a ring that wakes the reader; 0 = 25; 512 KiB at most */
	struct probe_select select;
	const char *host_root;		/* --host-root; NULL = "/" */
	const char *btf;		/* --btf: the running kernel's types (btf/kernel_btf.h); NULL = none */
	unsigned max_cpu_permille;	/* limit of CPU time (probe/budget/budget.h); 0 = none; the pipeline's */
	uint32_t spawner;		/* tgid of a process of its own that is excluded, too; 0 = none */
};

/* Creates rings and ledger, and excludes the calling process in the kernel. -EPERM, -EACCES without the rights. */
int probe_env_new(const struct probe_env_opts *o, struct probe_env **ret, struct err *err);
void probe_env_free(struct probe_env *env);	/* NULL is fine */
/* Drops the capabilities that the caller has dropped for good from the threads of @env. */
void probe_env_follow_rights(struct probe_env *env);

/*
 * The second thread, which opens and attaches probes while the loop runs (loop/coop.h). Probes may submit jobs to it.
 * Borrowed; NULL = the loop's thread does everything.
 */
void probe_env_set_coop(struct probe_env *env, struct coop *coop);
struct coop *probe_env_coop(const struct probe_env *env);

struct ring_reader *probe_env_reader(struct probe_env *env);
/* The running kernel's BTF, read by the first call; valid until probe_env_settle(). NULL if unavailable. */
const struct btf *probe_env_btf(struct probe_env *env);
/* Id of type @name of @kind (BTF_KIND_*) in it, or -ENOENT. Searches all types; the loop runs meanwhile. */
int probe_env_btf_find(struct probe_env *env, const char *name, uint32_t kind);
/* btf_percpu_distance() in it. */
int probe_env_percpu_distance(struct probe_env *env, const char *from, const char *to, int64_t *ret);
/* Every probe is attached: frees the memory that only their start needs. */
void probe_env_settle(struct probe_env *env);
unsigned probe_env_n_cpus(const struct probe_env *env);	/* possible CPUs */

/*
 * Between open and load of an object: sets sizes, shares maps, fills the common read-only data (instance, own tgid,
 * selection). -EINVAL if a shared map of the object has another type, key or value.
 */
int probe_env_prepare(struct probe_env *env, struct bpf_object *obj, uint16_t instance, struct err *err);

/*
 * Loads the object prepared last and keeps its shared maps. @err explains the refusal of libbpf or the verifier. In a
 * job the loop runs meanwhile; -ECANCELED if the job is to end.
 */
int probe_env_load(struct probe_env *env, struct bpf_object *obj, struct err *err);

/* Does this kernel leave preemption on in programs at tracepoints (bpf/preempt.bpf.h)? */
bool probe_env_tracepoints_preempt(struct probe_env *env);

/* Counts the recursion misses of @prog as seen and lost (SONDE_LOST_RECURSION) by @instance. */
int probe_env_watch(struct probe_env *env, const struct bpf_program *prog, uint16_t instance);

/* The selection of @instance; valid as long as @env. */
const struct probe_select *probe_env_select(const struct probe_env *env, uint16_t instance);

/* Path of the host's root directory, without a trailing slash: "" or --host-root. */
const char *probe_env_host_root(const struct probe_env *env);

/* fd of a map that all share, or -ENOENT. */
int probe_env_shared_map(struct probe_env *env, const char *name);

/* fd of a map of @instance, else of a map that all share, else -ENOENT. */
int probe_env_instance_map(struct probe_env *env, int instance, const char *name);

/*
 * Gives an instance its own selection in place of the common one. Call it before its objects are prepared. @s is
 * borrowed until probe_env_forget().
 */
int probe_env_set_select(struct probe_env *env, uint16_t instance, const struct probe_select *s, struct err *err);

/* Drops maps, selection and counts of @instance, whose objects are closed: the number may be reused. */
int probe_env_forget(struct probe_env *env, uint16_t instance);

/* Calls @fn for each loaded program. */
void probe_env_programs(struct probe_env *env, void (*fn)(void *ctx, uint16_t instance, int prog_fd), void *ctx);

/* Excludes a process from every probe. Call it for a helper process before attaching. */
int probe_env_exclude(struct probe_env *env, uint32_t tgid);
/* The helper has exited: another process may get its tgid. */
void probe_env_include(struct probe_env *env, uint32_t tgid);

/*
 * Injects a record into the stream: from control() before the current record, else with the next drain. Fills len,
 * and ts_ns if it is 0.
 */
int probe_env_inject(struct probe_env *env, struct sonde_rec *r, size_t len);
int probe_env_inject_name(struct probe_env *env, uint32_t space, uint64_t key, const char *name);
/* Injects the name of a kernel address (SONDE_NAME_KSYM), once per address. 0 also for an address without a name. */
int probe_env_inject_ksym(struct probe_env *env, uint64_t addr);
/*
 * Drains the rings: all records written before the call have been handled when it returns, without waiting for the
 * reader's latency deadline. Call it from timers and tick() only, not while a record is being handled.
 */
void probe_env_catch_up(struct probe_env *env);
/* The pipeline's handlers of injected records and of probe_env_catch_up(). */
void probe_env_set_sink(struct probe_env *env, int (*fn)(void *ctx, const struct sonde_rec *r),
			void (*catch_up)(void *ctx), void *ctx);

/* Reports that a hook of @instance does not work. PROBE_OWNERS: of every probe that names the owners of sockets. */
#define PROBE_OWNERS SONDE_INSTANCES
void probe_env_hook_failed(struct probe_env *env, unsigned instance, const char *hook, const struct err *err);
/* An output names the owners of sockets (probe_ops.wants_owners). */
void probe_env_want_owners(struct probe_env *env);
bool probe_env_wants_owners(const struct probe_env *env);
bool probe_env_is_limited(const struct probe_env *env);	/* by probe_env_opts.max_cpu_permille */
/* Memory left at the start if below 64 MiB, else 0. Probes reduce their tables then. */
uint64_t probe_env_scarce_bytes(const struct probe_env *env);
/* Reports a decision of the probe to the user, in one sentence. */
void probe_env_note(struct probe_env *env, const char *text);
/* The pipeline's handlers of notes and of failed hooks. */
void probe_env_set_note(struct probe_env *env, void (*fn)(const char *text));
typedef void (*probe_complain_fn)(void *ctx, unsigned instance, const char *hook, const struct err *err);
void probe_env_set_complain(struct probe_env *env, probe_complain_fn fn, void *ctx);

/* Sums of all CPUs and classes of one instance, recursion misses included. */
int probe_env_ledger(struct probe_env *env, uint16_t instance, struct sonde_ledger *ret);
/* Adds all members of @row but seq to @sum. */
void probe_env_add_ledger(struct sonde_ledger *sum, const struct sonde_ledger *row);

/*
 * Waits until running programs have ended, some 10 ms. A program may still run while it is detached: after this call
 * its counts and records are complete.
 */
void probe_env_wait_for_programs(void);

/* ksym_range() of host/ksym.h. */
int probe_env_ksym_range(struct probe_env *env, const char *name, unsigned nth, uint64_t *ret_start,
			 uint64_t *ret_end);

#endif
