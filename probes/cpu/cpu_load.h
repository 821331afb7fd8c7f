/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files to unwind tables, some at a time in a worker, while the pipeline goes on.
 */
#ifndef CPU_LOAD_H
#define CPU_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/cpu/cpu_unwind_wire.h"

#define CPU_ELF_BYTES (128u << 20)	/* what the compiler may load of a file */
#define CPU_TABLE_BYTES (32u << 20)	/* of one table at most */

struct cpu_loader;
struct err;
struct loop;
struct probe_env;

struct cpu_load {
	struct cpu_file_key key;
	uint64_t asked_ns;
	bool guessed;		/* as given to cpu_load_add() */
	int result;		/* 0 or -errno: -ETIMEDOUT when it took too long */
	const void *blob;	/* what the worker sent, not checked; valid during the call */
	size_t len;
	const struct err *err;
};
/* -EAGAIN: it cannot be taken now, and is offered again a moment later; else 0. */
typedef int (*cpu_load_fn)(void *ctx, const struct cpu_load *l);

/* @loop NULL: cpu_load_add() returns when @fn was called. @nice: struct worker_opts. */
int cpu_load_new(struct loop *loop, struct probe_env *env, int nice, cpu_load_fn fn, void *ctx,
		 struct cpu_loader **ret);
void cpu_load_free(struct cpu_loader *l); /* NULL is fine; what waits is dropped */

bool cpu_load_has(const struct cpu_loader *l, const struct cpu_file_key *key); /* waiting, or at work */

/* @fd is taken over. @guessed: nobody asked for it yet. -ENOBUFS: too many wait. */
int cpu_load_add(struct cpu_loader *l, const struct cpu_file_key *key, int fd, bool guessed);

/* Between true and false files are only gathered: one worker then gets many. May nest. */
void cpu_load_hold(struct cpu_loader *l, bool on);

/* Until all is done that waits now, or for so long. */
void cpu_load_wait(struct cpu_loader *l, uint64_t limit_ns);

bool cpu_load_busy(const struct cpu_loader *l); /* any file waiting, or at work */

void cpu_load_poll(struct cpu_loader *l); /* ends what takes too long */

#endif
