/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flows as `hubble observe` prints them: compact, dict, table, JSON.
 */
#ifndef COMPAT_HUBBLE_LINES_H
#define COMPAT_HUBBLE_LINES_H

#include <stdbool.h>
#include <stdint.h>

enum hubble_form { HUBBLE_COMPACT, HUBBLE_DICT, HUBBLE_TABLE, HUBBLE_JSON, HUBBLE_FORM__MAX };

/* --time-format; all in UTC. */
enum hubble_time {
	HUBBLE_TIME_STAMP_MILLI,	/* Jan  2 15:04:05.000 */
	HUBBLE_TIME_DAY,		/* 2006-01-02 */
	HUBBLE_TIME_HOUR,		/* 2006-01-02T15Z */
	HUBBLE_TIME_MINUTE,		/* 2006-01-02T15:04Z */
	HUBBLE_TIME_SECOND,		/* RFC 3339 */
	HUBBLE_TIME_MILLI,		/* with up to 3 decimals, without zeros at the end */
	HUBBLE_TIME_MICRO,		/* up to 6 */
	HUBBLE_TIME_NANO,		/* up to 9 */
	HUBBLE_TIME_RFC1123,		/* Mon, 02 Jan 2006 15:04:05 +0000 */
	HUBBLE_TIME__MAX,
};

struct hubble_lines_opts {
	enum hubble_form form;
	enum hubble_time time;
	bool addresses;		/* no names of DNS */
	bool node;		/* the host's name in each line */
	uint64_t first, last;	/* number of flows to print; 0 = all */
};

/* @o is borrowed. NULL if memory runs out. */
struct hubble_lines *hubble_lines_new(const struct hubble_lines_opts *o);
/* Prints what waits for the end. 0 or -errno. */
int hubble_lines_finish(struct hubble_lines *l);
void hubble_lines_free(struct hubble_lines *l); /* NULL is fine */

extern const struct sink_ops hubble_lines_sink; /* sink_opts.ctx is a struct hubble_lines */

#endif
