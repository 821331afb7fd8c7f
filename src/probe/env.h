/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What all live probes of one pipeline share: the rings, the ledger, maps that BPF objects have in common,
 * the kernel-side filter and the way to put records into the stream.
 *
 * Sharing is by name: a map whose name begins with "sonde_" in a BPF object is created once, by the first
 * object that has it, and every later object reuses it. So probes join on keys without naming each other. With
 * "inst_" in front it is shared by the objects of one instance.
 */
#ifndef PROBE_ENV_H
#define PROBE_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/probe.h"
#include "sonde/wire.h"

struct bpf_object;
struct bpf_program;
struct btf;
struct coop;
struct err;
struct loop;
struct ring_reader;

/* Common selection, compiled into read-only data of each BPF object (bpf/filter.bpf.h). */
struct probe_select {
	const uint32_t *pids;
	size_t n_pids;			/* 0 = all */
	const char *const *comms;
	size_t n_comms;
	const uint64_t *cgroups;
	size_t n_cgroups;
	const uint32_t *netns;		/* inodes */
	size_t n_netns;
	const uint32_t *tree;		/* with the processes that they make from now on */
	size_t n_tree;			/* 0 = all */
};

struct probe_env_opts {
	size_t ring_bytes;		/* per CPU, bulk; a power of two; 0 = 4 MiB, less with many CPUs */
	size_t life_ring_bytes;		/* per CPU, life-cycle; 0 = default: a share of the bulk ring */
	unsigned wakeup_pct;		/* force a wake-up when a ring is so full; 0 = 25; 512 KiB at most */
	struct probe_select select;
	const char *host_root;		/* --host-root; NULL = "/" */
	const char *btf;		/* --btf: the running kernel's types (btf/kernel_btf.h); NULL = none */
};

/* Creates rings and ledger, and excludes the calling process in the kernel. Needs rights: -EPERM, -EACCES. */
int probe_env_new(const struct probe_env_opts *o, struct probe_env **ret, struct err *err);
void probe_env_free(struct probe_env *env);	/* NULL is fine */
/* The caller has given up capabilities for good: so do the threads of @env. */
void probe_env_follow_rights(struct probe_env *env);

/*
 * The second thread, on which probes are opened and attached while the loop goes on (loop/coop.h). A probe may submit
 * jobs to it. Borrowed; NULL = the loop's thread does everything.
 */
void probe_env_set_coop(struct probe_env *env, struct coop *coop);
struct coop *probe_env_coop(const struct probe_env *env);

struct ring_reader *probe_env_reader(struct probe_env *env);
/* Of the running kernel, read when it is first asked for; good until probe_env_settle(). NULL without BTF. */
const struct btf *probe_env_btf(struct probe_env *env);
/*
 * The number of type @name of @kind (BTF_KIND_*) there, or -ENOENT. All types are searched, while the loop goes
 * on.
 */
int probe_env_btf_find(struct probe_env *env, const char *name, uint32_t kind);
/* Every probe is attached: gives back what only their start needed. */
void probe_env_settle(struct probe_env *env);
unsigned probe_env_n_cpus(const struct probe_env *env);	/* possible CPUs */

/*
 * Between open and load of a skeleton: sets sizes, shares maps, fills the common read-only data (instance,
 * own tgid, selection). -EINVAL when the object lacks what it must have.
 */
int probe_env_prepare(struct probe_env *env, struct bpf_object *obj, uint16_t instance, struct err *err);

/*
 * Sets the read-only variable @name of @size bytes before load. -ENOENT when the object has none: one that does
 * not use a variable of a shared header does not have it.
 */
int probe_rodata_set(struct bpf_object *obj, const char *name, const void *value, size_t size);

/* What such a variable holds before load, or NULL. */
const void *probe_rodata(struct bpf_object *obj, const char *name, size_t size);

/*
 * A variable of @size bytes that is not read-only: where to read and write it, once the object is loaded, for as
 * long as it lives. NULL when the object has none.
 */
void *probe_rodata_var(struct bpf_object *obj, const char *name, size_t size);

/*
 * Loads a prepared object; remembers its shared maps. Turns libbpf's and the verifier's words into @err. In a job the
 * loop goes on meanwhile; -ECANCELED when the job is to end.
 */
int probe_env_load(struct probe_env *env, struct bpf_object *obj, struct err *err);

/* A program whose recursion misses count as seen and lost (SONDE_LOST_RECURSION) of @instance. */
int probe_env_watch(struct probe_env *env, const struct bpf_program *prog, uint16_t instance);

/* What was selected; borrowed for the env's life. */
const struct probe_select *probe_env_select(const struct probe_env *env, uint16_t instance);

/* Root of the host's file system as seen from here, without a slash at the end: "" or --host-root. */
const char *probe_env_host_root(const struct probe_env *env);

/* fd of a shared map, or -ENOENT. */
int probe_env_shared_map(struct probe_env *env, const char *name);

/* Likewise; what @instance shares with nobody else comes first. */
int probe_env_instance_map(struct probe_env *env, int instance, const char *name);

/*
 * A selection of its own for an instance, before its objects are prepared; else that of the environment holds. @s
 * is borrowed until probe_env_forget().
 */
int probe_env_set_select(struct probe_env *env, uint16_t instance, const struct probe_select *s, struct err *err);

/* After the last object of @instance was closed: its maps, selection and counts go, another may take the number. */
int probe_env_forget(struct probe_env *env, uint16_t instance);

/* Every program that was loaded. */
void probe_env_programs(struct probe_env *env, void (*fn)(void *ctx, uint16_t instance, int prog_fd), void *ctx);

/* Excludes a process (tgid) from every probe. Before attach for our own helpers. */
int probe_env_exclude(struct probe_env *env, uint32_t tgid);
/* When such a helper is gone: its number may become somebody else's. */
void probe_env_include(struct probe_env *env, uint32_t tgid);

/*
 * Puts a record into the stream: at once when called from control() (before the record at hand), else with
 * the next drain. Fills len, and ts_ns when it is 0.
 */
int probe_env_inject(struct probe_env *env, struct sonde_rec *r, size_t len);
int probe_env_inject_name(struct probe_env *env, uint32_t space, uint64_t key, const char *name);
/* The name of a kernel address (SONDE_NAME_KSYM), once per address whoever asks. 0 also when it has none. */
int probe_env_inject_ksym(struct probe_env *env, uint64_t addr);
/*
 * Reads what is in the rings, so that everything that happened before this call has been handled when it returns:
 * readers are woken late on purpose. From timers and tick() only, never from within a record.
 */
void probe_env_catch_up(struct probe_env *env);
/* Who takes injected records, and who reads the rings; set by the pipeline. */
void probe_env_set_sink(struct probe_env *env, int (*fn)(void *ctx, const struct sonde_rec *r),
			void (*catch_up)(void *ctx), void *ctx);

/* Says that a hook does not work; it is told once. */
void probe_env_hook_failed(struct probe_env *env, const char *hook, const struct err *err);
/* Events name the owners of sockets (probe_ops.wants_owners). */
void probe_env_want_owners(struct probe_env *env);
bool probe_env_wants_owners(const struct probe_env *env);
/* Bytes of memory that were left at the start where they are few (less than 64 MB), else 0: probes then take less. */
uint64_t probe_env_scarce_bytes(const struct probe_env *env);
/* A sentence for whoever runs this, about what the probe does by itself. */
void probe_env_note(struct probe_env *env, const char *text);
/* Who is told of either; set by the pipeline. */
void probe_env_set_note(struct probe_env *env, void (*fn)(const char *text));
void probe_env_set_complain(struct probe_env *env, void (*fn)(void *ctx, const char *hook, const struct err *err),
			    void *ctx);

/* Sums of all CPUs and classes of one instance, recursion misses included. */
int probe_env_ledger(struct probe_env *env, uint16_t instance, struct sonde_ledger *ret);

/*
 * Waits until programs that were running have ended; some tens of milliseconds. After detaching, what they count is
 * complete then, and so is what they wrote: a program is detached while it runs.
 */
void probe_env_wait_for_programs(void);

/* The @nth function called @name: see ksym_range() in host/ksym.h. */
int probe_env_ksym_range(struct probe_env *env, const char *name, unsigned nth, uint64_t *ret_start,
			 uint64_t *ret_end);

#endif
