/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of strace's options.
 */
#ifndef COMPAT_STRACE_OPTS_H
#define COMPAT_STRACE_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"
#include "compat/strace/strace_set.h"

enum strace_clock { STRACE_CLOCK_NONE, STRACE_CLOCK_TIME, STRACE_CLOCK_UNIX, STRACE_CLOCK__MAX };
enum strace_hex { STRACE_HEX_NONE, STRACE_HEX_CHARS, STRACE_HEX_STRINGS, STRACE_HEX_ALL, STRACE_HEX__MAX };

#define STRACE_FDS_PATH 1u
#define STRACE_FDS_SOCKET 2u
#define STRACE_FDS_DEV 4u

#define STRACE_QUIET_ATTACH 1u
#define STRACE_QUIET_EXIT 2u
#define STRACE_QUIET_PATH 4u
#define STRACE_QUIET_OTHERS 8u /* messages that sonde has not */

#define STRACE_STATUS_SUCCESSFUL 1u
#define STRACE_STATUS_FAILED 2u
#define STRACE_STATUS_UNFINISHED 4u
#define STRACE_STATUS_UNAVAILABLE 8u
#define STRACE_STATUS_DETACHED 16u

/* Columns of a summary; sorted by one of them. */
enum strace_column {
	STRACE_COLUMN_NONE,
	STRACE_COLUMN_PERCENT,
	STRACE_COLUMN_TOTAL,
	STRACE_COLUMN_MIN,
	STRACE_COLUMN_MAX,
	STRACE_COLUMN_AVG,
	STRACE_COLUMN_CALLS,
	STRACE_COLUMN_ERRORS,
	STRACE_COLUMN_NAME,
	STRACE_COLUMN__MAX
};

struct strace_opts {
	unsigned follow;    /* -f: once or more */
	bool separately;    /* a file per thread */
	const char *output; /* file, or "|command"; NULL = standard error */
	bool append;
	struct opt_u32v pids;
	const char *user;
	struct opt_strv env, paths;
	struct opt_strv resolved; /* what relative paths and links in `paths` lead to; items are owned */

	unsigned absolute, digits; /* enum strace_clock; decimals of the second */
	bool relative, times;
	unsigned relative_digits, times_digits;
	unsigned stamps, quiets, names, hexes; /* how often -t, -q, -y and -x stood there */

	unsigned quiet, status, fds; /* STRACE_QUIET_*, STRACE_STATUS_*, STRACE_FDS_* */
	unsigned hex;		     /* enum strace_hex */
	bool comms, numbers, full;
	bool ips, stacks;    /* -i, -k */
	bool detach;	     /* -b execve */
	unsigned daemonize;  /* -D: once a grandchild, twice in a group, three times in a session of its own */
	uint32_t strings, column;
	uint64_t signals; /* bits by number */
	struct strace_fds read, write;
	struct strace_calls trace, raw, abbrev;

	bool summary, lines_too;
	unsigned sort;			     /* enum strace_column */
	uint8_t columns[STRACE_COLUMN__MAX]; /* enum strace_column, up to STRACE_COLUMN_NONE */
	bool version;
	bool always; /* what options ask for that is always so */
};

/* Rows of a struct strace_opts. */
extern const struct opt strace_opts_rows[];

void strace_opts_default(struct strace_opts *o);
void strace_opts_fini(struct strace_opts *o);

#endif
