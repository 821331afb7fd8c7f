/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sonde flows, for other commands that show the same.
 */
#ifndef CMD_FLOWS_H
#define CMD_FLOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/opt.h"
#include "cmd/run/run.h"
#include "probes/net/net_conf.h"

struct cmd_words;

struct flows_conf {
	struct run_conf run;
	struct net_conf net;
	const char *flow;
	const struct view *top; /* NULL = lines */
	uint32_t rows;
	uint64_t interval_ns; /* 0 = default interval of reports, tables only at the end */

	/* set by a caller that prints the lines itself */
	const struct sink_ops *watcher; /* in place of lines; NULL = none */
	void *watcher_ctx;
	bool packets;	/* shows packets of a recording too */
};

/* As in struct cmd. */
size_t flows_sets(void *conf, struct opt_set *ret_sets);
int flows_run(void *conf, const struct cmd_words *w);

#endif
