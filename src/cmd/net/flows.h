/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sonde flows, for other commands that show the same.
 */
#ifndef CMD_FLOWS_H
#define CMD_FLOWS_H

#include <stddef.h>
#include <stdint.h>

#include "base/opt.h"
#include "cmd/run.h"
#include "probes/net/net.h"

struct cmd_words;
struct flow_top;
struct painter;

struct flows_conf {
	struct run_conf run;
	struct net_conf net;
	const char *flow;
	unsigned top; /* enum flow_top_kind */
	uint32_t rows;
	uint64_t interval_ns; /* 0 = the default of reports, and no tables before the end */

	/* while it runs */
	struct flow_top *table;
	struct painter *painter; /* of its intervals on a terminal; NULL = none */
};

/* As struct cmd has them. */
size_t flows_sets(void *conf, struct opt_set *ret_sets);
int flows_run(void *conf, const struct cmd_words *w);

#endif
