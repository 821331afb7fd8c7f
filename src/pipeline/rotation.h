/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When an output goes on in another file, and what that is called. Pure: sizes and times come from the caller.
 *
 * Two manners of names: FILE0, FILE1 (or what strftime(3) makes of FILE) for every format, and tcpdump's for those
 * who know its -C, -G and -W (sinks/sink.h).
 */
#ifndef AGENT_ROTATION_H
#define AGENT_ROTATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sinks/sink.h"

/* Where a rotated output stands. */
struct rotation {
	const struct sink_rotation *rule;	/* borrowed */
	const char *path;	/* as the user named it; borrowed */
	uint32_t n_files;	/* begun before this one; since the last change by time, where that numbers anew */
	uint32_t n_periods;	/* changes by time */
	uint64_t since_ns;	/* time of the first event in this file; 0 = none yet */
	uint64_t events;	/* in this file */
};

enum rotation_step {
	ROTATION_STAY,
	ROTATION_NEXT,	/* another file: rotation_name() has its name */
	ROTATION_END,	/* the last file is full: the output is complete */
	ROTATION__MAX,
};

/* Does this rule ever change files? */
bool rotation_asked(const struct sink_rotation *rule);

/* Before an event of time @ts_ns is written to the present file, which has @bytes. */
enum rotation_step rotation_step(struct rotation *r, uint64_t ts_ns, uint64_t bytes);

/* Name of the present file, which begins at @wall_ns since 1970. 0 or -ENAMETOOLONG. */
int rotation_name(const struct rotation *r, int64_t wall_ns, char *ret, size_t cap);

#endif
