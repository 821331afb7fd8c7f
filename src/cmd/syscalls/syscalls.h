/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sonde syscalls, for other commands that show the same.
 */
#ifndef CMD_SYSCALLS_H
#define CMD_SYSCALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/opt.h"
#include "cmd/run/run.h"
#include "probes/sys/sys_conf.h"
#include "probes/sys/pushdown/sys_pushdown.h"

struct cmd_words;

struct syscalls_conf {
	struct run_conf run;
	struct sys_conf sys;
	bool pushdown;
	bool event_summary; /* a table of events behind the lines */
	bool top;
	struct buf view;    /* names separated by commas; empty = none */
	uint32_t view_rows; /* 0 = the default */

	/* set by a caller that prints the lines itself */
	const struct sink_ops *watcher; /* in place of lines; NULL = none */
	void *watcher_ctx;
	const struct child_opts *child; /* of the command; NULL = none */
	const char *ready;		/* message once records flow; NULL = the command's own, "" = none */
	void (*on_ready)(void *ctx);	/* once records flow; NULL = none */
	void *on_ready_ctx;
	const struct cpu_conf *stacks;	/* the cpu probe too, before the calls; NULL = not */

	/* while it runs */
	struct sys_pushdown push;
	struct sysdig_views *views;	   /* NULL = none */
	struct pipeline *pipeline; /* of a live run */
	bool paused, keys;	   /* keys: reads Enter from the terminal */
	struct sys_stats stats;
};

/* As in struct cmd. */
size_t syscalls_sets(void *conf, struct opt_set *ret_sets);
int syscalls_run(void *conf, const struct cmd_words *w);

#endif
