/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sonde syscalls: the parts of its filter that the kernel decides, and --explain-filter.
 */
#ifndef CMD_SYSCALLS_FILTER_H
#define CMD_SYSCALLS_FILTER_H

#include <stdbool.h>

#include "cmd/run/run.h"

struct err;
struct filter;
struct registry;

/* -EINVAL with the expression that was meant if @words are names of system calls alone: "openat close". */
int syscalls_filter_check(const struct opt_strv *words, struct err *err);

struct syscalls_filter {
	const struct run_conf *run;
	struct sys_conf *sys;		/* gets @push */
	struct sys_pushdown *push;
	bool pushdown;			/* false: user space decides everything that it can */
};

/* As run_ops.push, once the needs are known. */
int syscalls_filter_push(const struct syscalls_filter *sf, const struct filter *f, const struct registry *reg,
		  struct buf *rest, struct err *err);

/*
 * Prints where each part is decided; @needs as run_ops.needs, called first. Returns an exit status.
 */
int syscalls_filter_explain(const struct syscalls_filter *sf, run_needs_fn needs, void *ctx);

#endif
