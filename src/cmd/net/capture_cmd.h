/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sonde capture, for other commands that show the same.
 */
#ifndef CMD_CAPTURE_CMD_H
#define CMD_CAPTURE_CMD_H

#include <stddef.h>

#include "base/opt.h"
#include "cmd/net/recorder.h"
#include "cmd/run/run.h"
#include "probes/net/net_conf.h"

struct cmd_words;

struct capture_conf {
	struct run_conf run;
	struct net_conf net;
	const char *flow;
	struct record_conf record;

	/* set by a caller that prints the lines itself */
	const struct sink_ops *watcher; /* in place of lines; NULL = none */
	void *watcher_ctx;
	const char *ready; /* message once packets flow; NULL = the command's own */

	/* while it runs */
	struct packet_filter *words;
	struct recorder *recorder; /* NULL = packets are written as they arrive */
};

extern const char *const capture_direction_names[]; /* by NET_DIR_*, NULL-terminated */

/* As in struct cmd. */
size_t cmd_capture_sets(void *conf, struct opt_set *ret_sets);
int cmd_capture_run(void *conf, const struct cmd_words *w);

#endif
