/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside src/probe only: what the live probes of one pipeline share.
 */
#ifndef PROBE_ENV_IMPL_H
#define PROBE_ENV_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "probe/env.h"

struct btf_root;
struct coop;
struct async_map_update;
struct kname;
struct ksyms;
struct map_types;

enum lane { LANE_BULK, LANE_LIFE, LANE__MAX };

struct shared_map { char name[32]; int fd; int instance; };
/* A loaded program. @misses: what it missed by recursion counts as lost. */
struct watched { int prog_fd; uint32_t id; uint16_t instance; bool misses; };
struct failed_hook { char hook[64]; };

struct probe_env {
	struct coop *coop;		/* borrowed; NULL = none */
	unsigned n_cpus;
	size_t ring_bytes[LANE__MAX];
	uint32_t wakeup_bytes[LANE__MAX];
	unsigned wakeup_pct;
	bool owners;			/* of sockets are looked up */
	unsigned lru_shift;		/* tables that may forget are made smaller by this power of two */
	char small[160];		/* what was made smaller, and why; "" = nothing */
	size_t plain_bytes;		/* data of each plain ring; 0 = not made yet */
	uint32_t self;			/* own process */
	struct probe_select select;	/* borrowed lists */
	const struct probe_select *own_select[SONDE_INSTANCES];	/* borrowed; NULL = that of all */
	unsigned probe_select_flags[SONDE_INSTANCES];
	int selecting;			/* whose selection is being made */
	int preparing;			/* whose object was prepared last: it is the one that is loaded next */
	char *host_root;		/* owned */
	struct ring_reader *reader;
	struct btf *btf;		/* NULL: not asked for yet, or there is none */
	bool no_btf;
	struct btf_root *btf_root;	/* owned; NULL: libbpf finds the kernel's BTF by itself, or not at all */
	uint64_t scarce_bytes;		/* memory left at the start where that is little, else 0 */
	struct map_types *types;	/* owned; NULL = maps made here have none */
	struct kname *kname;		/* NULL: not asked for yet, or the kernel has no way */
	bool no_kname;
	struct ksyms *ksyms;
	uint64_t ksyms_again_ns;	/* when they may be read again */
	struct map named;		/* kernel addresses that have their name in the stream */
	VEC(struct shared_map) shared;
	int *ring_fds;			/* owned, of each lane and CPU; -1 = none */
	struct async_map_update *puts;	/* NULL = all are in place, and nobody has to wait for it */
	VEC(struct watched) watched;
	VEC(struct failed_hook) failed;
	int (*sink)(void *ctx, const struct sonde_rec *r);
	void (*catch_up)(void *ctx);
	void *sink_ctx;
	void (*complain)(void *ctx, const char *hook, const struct err *err);
	void *complain_ctx;
	void (*note)(const char *text);
};

void env_remember_programs(struct probe_env *env, const struct bpf_object *obj, uint16_t instance);

/*
 * Puts the variables of a loaded object where its image was, as libbpf does for skeletons alone: from then on
 * probe_rodata_var() is what programs see. 0 or -errno.
 */
int probe_rodata_map_variables(struct bpf_object *obj);

#endif
