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
#include "cmd/run.h"
#include "probes/sys/sys.h"
#include "probes/sys/pushdown/sys_pushdown.h"

struct cmd_words;
struct pipeline;
struct views;

struct syscalls_conf {
	struct run_conf run;
	struct sys_conf sys;
	bool pushdown;
	bool event_summary; /* a table of events behind the lines */
	bool top;
	struct buf view;    /* names with commas between them; empty = none */
	uint32_t view_rows; /* 0 = the default */

	/* while it runs */
	struct sys_pushdown push;
	struct views *views;	   /* NULL = none */
	struct pipeline *pipeline; /* of a live run */
	bool paused, keys;	   /* keys: Enter is read from the terminal */
	struct sys_stats stats;
};

/* As struct cmd has them. */
size_t syscalls_sets(void *conf, struct opt_set *ret_sets);
int syscalls_run(void *conf, const struct cmd_words *w);

#endif
