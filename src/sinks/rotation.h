/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rotation of output files: when the next one begins, and its name. Pure: the caller passes sizes and times. Names
 * are FILE0, FILE1 (or strftime(3) of FILE) for every format, or tcpdump's for formats with its -C, -G and -W
 * (sinks/sink.h). A known suffix stays behind the number: ring0.pcapng, ring1.pcapng.
 */
#ifndef SINKS_ROTATION_H
#define SINKS_ROTATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sinks/sink.h"

/* State of a rotated output. */
struct rotation {
	const struct sink_rotation *rule;	/* borrowed */
	const char *path;	/* as given; borrowed */
	size_t suffix_len;	/* bytes at the end of path that stay behind the number */
	uint32_t n_files;	/* files before this one; restarts at a change by time if that restarts numbers */
	uint32_t n_periods;	/* changes by time so far */
	uint64_t since_ns;	/* time of the first event in this file; 0 = empty */
	uint64_t events;	/* events in this file */
};

enum rotation_step {
	ROTATION_STAY,
	ROTATION_NEXT,	/* next file: rotation_name() */
	ROTATION_END,	/* the last file is full */
	ROTATION__MAX,
};

/* Does this rule ever change files? */
bool rotation_asked(const struct sink_rotation *rule);

/* Before an event of time @ts_ns is written to the current file of @bytes. */
enum rotation_step rotation_step(struct rotation *r, uint64_t ts_ns, uint64_t bytes);

/* Name of the current file, begun at @wall_ns since 1970. 0 or -ENAMETOOLONG. */
int rotation_name(const struct rotation *r, int64_t wall_ns, char *ret, size_t cap);

#endif
