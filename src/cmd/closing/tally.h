/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts the events of a run for its closing lines, and says once if nothing has come yet.
 */
#ifndef CMD_TALLY_H
#define CMD_TALLY_H

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct err;
struct event;
struct loop;
struct opt_strv;
struct pipeline;

struct tally {
	const struct run_conf *conf;
	/* Called for each displayed event, and for the line at the end; both may be NULL. */
	void (*event)(void *ctx, const struct event *ev);
	void (*closing)(void *ctx, struct buf *line);
	void *ctx;
	struct buf *nothing;	/* the sentence after five seconds without an event; NULL = none */
	uint64_t n_events, n_lost;
	uint64_t begin_ns, end_ns;	/* of the run, boot time */
};

extern const struct sink_ops tally_sink;	/* sink_opts.ctx is a struct tally */

/* run_ops.started; @ctx is the tally. */
int tally_started(void *ctx, struct loop *loop, struct pipeline *p, struct err *err);

/* After the run, which ended with @status. */
void tally_report(const struct tally *t, int status);

/* "no traffic yet on lo, eth0": @ifaces, or those of this network namespace unless the run watches others. */
void tally_add_no_traffic(struct buf *b, const struct opt_strv *ifaces, bool elsewhere);

#endif
