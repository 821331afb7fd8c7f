/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits of -o store, the same in every command.
 */
#ifndef CMD_RUN_STORE_H
#define CMD_RUN_STORE_H

#include "base/opt.h"
#include "event/redact/redact.h"

struct run_conf;
struct store_writer_opts;

/* Rows of the global options, for a struct run_conf. */
int run_store_min_free(void *conf, const char *arg, struct err *err);

#define RUN_STORE_ROWS \
	OPT_ROW(run_conf, store.max_bytes, "max-size", 0, OPT_BYTES, "SIZE", \
		"store: remove the oldest segments beyond SIZE (10G)"), \
		OPT_ROW(run_conf, store.max_age_ns, "max-age", 0, OPT_DURATION, "TIME", \
			"store: remove segments older than TIME"), \
		OPT_CALL_ROW(run_store_min_free, "min-free", 0, "PERCENT", \
			     "store: remove the oldest while less of the disk is free (10%)"), \
		OPT_ROW(run_conf, store.segment_bytes, "segment", 0, OPT_BYTES, "SIZE", \
			"store: start a new segment at SIZE (64M)"), \
		OPT_ROW(run_conf, store.segment_ns, "segment-time", 0, OPT_DURATION, "TIME", \
			"store: and after TIME (10m)"), \
		OPT_ROW(run_conf, store.sync_ns, "sync", 0, OPT_DURATION, "TIME", \
			"store: write to the disk each TIME", \
			.more = "bounds the loss of a power cut; a killed sonde loses at most the last second"), \
		OPT_ROW(run_conf, store.group, "group", 0, OPT_BOOL, NULL, "store: the group sonde may read it", \
			.more = "all of it, like allow-content = group of the agent; without it only root can"), \
		OPT_PARSE_ROW(run_conf, store.redact, redact_parse, "redact", 0, "FIELD,...", \
			      "store, rec: omit args, env, paths, payload, dns", \
			      .more = "texts become <redacted:LENGTH>; packets end with their headers. paths: of " \
				      "files and unix sockets, and other strings of system calls; dns: messages on " \
				      "its ports, and names learned from them. Command names, cgroups and " \
				      "addresses stay")

/* Sets the limits of @ret to those of the options. -EINVAL with a sentence for limits that cannot work. */
int run_store_limits(const struct run_conf *c, struct store_writer_opts *ret, struct err *err);

#endif
