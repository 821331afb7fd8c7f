/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Progress and closing lines of commands that show or write packets (cmd/closing.h).
 */
#ifndef CMD_NET_CLOSING_H
#define CMD_NET_CLOSING_H

#include <stdbool.h>
#include <stdint.h>

struct net_closing {
	const struct run_conf *run;
	const char *file;	/* file of the packets; NULL = none */
	bool no_packets, no_drops; /* not watched, although they were asked for */
	bool neither;		/* they were not asked for */
	uint64_t packets, bytes, drops, lost;
	uint64_t others;	/* events without a packet */
	bool captured;		/* packets of a capture file, which does not tell drops */
	uint64_t refused;	/* connections, shown */
	uint64_t counted, unexplained; /* by the kernel, and those of them that no program saw */
	uint64_t begin_ns, end_ns;
	struct progress *progress;
};

struct loop;
struct pipeline;
struct run_ops;
struct err;

/* Lets @c (zeroed but for run and file, valid during the run) count events, if closing_needed(). */
void net_closing_set_spec(struct net_closing *c, struct run_ops *spec);

/* After run(), which returned @status: one line on stderr, none if standard output lost its reader. */
void net_closing_say(const struct net_closing *c, int status);

/* For run_ops.started and stopped: a line each second while a file is written. @ctx: struct net_closing. */
int net_closing_started(void *ctx, struct loop *loop, struct pipeline *p, struct err *err);
void net_closing_stopped(void *ctx);

#endif
