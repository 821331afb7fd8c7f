/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command lines of other tools: each dialect has the tool's option rows, fills the configuration of a native command
 * and calls its run function. No file outside this folder includes one of it.
 */
#ifndef COMPAT_COMPAT_H
#define COMPAT_COMPAT_H

#include <stdbool.h>

#include "cmd/cmd.h"

/* An option of the tool that is not honoured, and what to use instead. */
struct compat_load_error {
	const char *name;    /* long name; NULL = none */
	char key;	     /* letter; 0 = none */
	const char *instead; /* "use sonde syscalls --view" */
};

struct dialect {
	const char *tool;			 /* "hubble" */
	const char *verb;			 /* "observe"; NULL = the tool has none */
	const struct cmd *cmd;			 /* .name: "compat hubble observe" */
	const struct compat_load_error *refused; /* up to a row without name and letter; NULL = none */
	bool first_word_ends;			 /* options end at the first word, which begins a command to run */
};

extern const struct dialect dialect_hubble, dialect_cilium_dbg, dialect_sysdig, dialect_strace, dialect_profile_bpfcc;

#endif
