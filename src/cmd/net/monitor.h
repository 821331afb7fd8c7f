/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sonde monitor, for other commands that show the same.
 */
#ifndef CMD_MONITOR_H
#define CMD_MONITOR_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/opt.h"
#include "cmd/run/run.h"
#include "probes/net/net_conf.h"

struct cmd_words;

struct monitor_conf {
	struct run_conf run;
	struct net_conf net;
	const char *cilium; /* socket of a Cilium agent; NULL = this host */
	const char *serve_cilium;
	const char *flow;
	uint64_t reconnect_ns;

	/* while it runs */
	struct cilium_listener *listener;
	struct run_ops *ops;
	unsigned lacks;	/* 1u << NET_KIND_*: kinds that were asked for and whose hook does not work */
	struct buf ready;
};

/* As in struct cmd. */
size_t monitor_sets(void *conf, struct opt_set *ret_sets);
int monitor_run(void *conf, const struct cmd_words *w);

#endif
