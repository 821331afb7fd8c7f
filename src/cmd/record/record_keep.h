/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sonde record --keep: a flight recorder over all probes. An event that meets --on, or SIGUSR2, makes a dump.
 */
#ifndef CMD_RECORD_KEEP_H
#define CMD_RECORD_KEEP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/opt.h"

struct event;
struct loop;
struct record_sets;

struct record_keep {
	uint64_t keep_ns, after_ns;
	const char *on, *exec;

	/* of the run */
	const char *store;	/* path of the store; borrowed */
	struct filter *filter;	/* owned; NULL = signals only */
	struct pipeline *pipeline;
	uint64_t dumps;		/* reported so far */
	pid_t child;		/* of --exec; 0 = none */
};

extern const struct opt record_keep_opts[];	/* of a struct record_keep */

/* -EINVAL with a sentence for options that do not fit. */
int record_keep_check(const struct record_keep *k, bool has_store, struct err *err);

/* Before the probes are opened. -EINVAL if no probe of @sets makes the events of --on. */
int record_keep_begin(struct record_keep *k, const struct record_sets *sets, struct loop *loop, struct pipeline *p,
		      struct err *err);
void record_keep_end(struct record_keep *k);

/* For each event of the run. */
void record_keep_event(struct record_keep *k, const struct event *ev);

#endif
