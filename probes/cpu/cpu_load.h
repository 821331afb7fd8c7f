/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compiles files to unwind tables, in batches, in workers beside the pipeline.
 */
#ifndef CPU_LOAD_H
#define CPU_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/cpu/cpu_unwind_wire.h"

#define CPU_ELF_BYTES (128u << 20)	/* limit of what the compiler loads of a file */
#define CPU_TABLE_BYTES (32u << 20)	/* maximum size of a table */

struct cpu_loader;
struct loop;
struct probe_env;

struct cpu_load {
	struct cpu_file_key key;
	uint64_t asked_ns;
	bool guessed;		/* as given to cpu_load_add() */
	int result;		/* 0 or -errno: -ETIMEDOUT when it took too long */
	const void *blob;	/* from the worker, unchecked; valid during the call */
	size_t len;
	const struct err *err;
	int fd;			/* the file; borrowed */
};
/* -EAGAIN: it cannot be taken now, and is offered again a moment later; else 0. */
typedef int (*cpu_load_fn)(void *ctx, const struct cpu_load *l);

/* @loop NULL: cpu_load_add() returns when @fn was called. @nice: struct worker_opts. */
int cpu_load_new(struct loop *loop, struct probe_env *env, int nice, cpu_load_fn fn, void *ctx,
		 struct cpu_loader **ret);
void cpu_load_free(struct cpu_loader *l); /* NULL is fine; what waits is dropped */

bool cpu_load_has(const struct cpu_loader *l, const struct cpu_file_key *key); /* waiting or being compiled */

/* Takes @fd. @guessed: not requested yet. -ENOBUFS: the queue is full. */
int cpu_load_add(struct cpu_loader *l, const struct cpu_file_key *key, int fd, bool guessed);

/* Collects files between true and false, so one worker gets many. Nests. */
void cpu_load_hold(struct cpu_loader *l, bool on);

/* Waits until the queue is empty, at most @limit_ns. */
void cpu_load_wait(struct cpu_loader *l, uint64_t limit_ns);

bool cpu_load_busy(const struct cpu_loader *l); /* files are waiting or being compiled */

void cpu_load_poll(struct cpu_loader *l); /* kills workers that take too long */

#endif
