/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command lines of other tools. A dialect is a table of the tool's options: each row is the tool's, differs from it,
 * or is refused with the native way (base/opt.h). Parsing, refusals, help, the lists of `sonde compat` and the tables
 * of doc/COMPATIBILITY.md come from the rows. A dialect fills the configuration of a native command and calls its run
 * function. No file outside this folder includes one of it.
 */
#ifndef COMPAT_COMPAT_H
#define COMPAT_COMPAT_H

#include <stdbool.h>
#include <stdio.h>

#include "cmd/cmd.h"

/* The row of an option that the tool has and sonde refuses. */
#define REFUSED(...) OPT_REFUSED_ROW(__VA_ARGS__)

struct dialect {
	const char *tool;		/* "hubble" */
	const char *verb;		/* "observe"; a tool has a row for each, or NULL: it has none */
	const struct cmd *cmd;		/* .name: "compat hubble observe"; its first option set is the tool's table */
	const char *native;		/* command whose options work too unless a row takes their name or letter */
	bool first_word_ends;		/* options end at the first word, which starts a command line */
};

extern const struct dialect *const compat_dialects[];	/* NULL-terminated */

extern const struct dialect dialect_hubble, dialect_cilium_dbg, dialect_sysdig, dialect_strace, dialect_tcpdump;
extern const struct dialect dialect_profile_bpfcc;
extern const struct dialect dialect_perf_record, dialect_perf_script, dialect_perf_report, dialect_perf_top;
extern const struct dialect dialect_perf_trace;

/* The dialects with the share of options that they honour. Returns an exit status. */
int compat_print_list(FILE *out);
/* An object for each option of each tool: {v tool option letter arg status text}. Returns an exit status. */
int compat_print_rows(FILE *out);
/* The verbs of one tool, in the manner of the list. Returns an exit status. */
int compat_print_verbs(const char *tool, FILE *out);
/* The tool's options by status. Returns an exit status. */
int compat_print_help(const struct dialect *d, FILE *out);

#endif
