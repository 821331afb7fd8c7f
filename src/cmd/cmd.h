/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A sub-command: one file, one row in cmds.def. Help, man pages and shell completion come from this struct
 * and from its option rows.
 */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include <stddef.h>

#include "base/opt.h"

/* The exit status of every command; 128 + n after a clean flush on signal n. */
enum cmd_exit { CMD_OK = 0, CMD_FAIL = 1, CMD_USAGE = 2, CMD_DENIED = 3, CMD__MAX };

#define CMD_MAX_SETS 8

/* What stood on the command line besides options. */
struct cmd_words {
	struct opt_strv words;		/* filter words, file names... */
	struct opt_strv command;	/* behind "--" */
	char *line;			/* the whole command line, for file headers; owned by main */
};

struct cmd_example { const char *line, *what; };

struct cmd {
	const char *name, *summary;
	const char *args;		/* "[FILTER WORDS]" */
	const char *doc;		/* paragraphs separated by an empty line, for the man page */
	const struct cmd_example *examples;	/* up to a row with line NULL; may be NULL */
	const char *letters;		/* "t=type j=json": short letters it gives to options that have none */
	size_t conf_size;
	/* Sets defaults in @conf (zeroed) and lists the option sets. Returns their number, <= CMD_MAX_SETS. */
	size_t (*sets)(void *conf, struct opt_set *ret_sets);
	/* Returns an exit status. */
	int (*run)(void *conf, const struct cmd_words *w);
};

extern const struct cmd *const all_cmds[];	/* NULL-terminated */
const struct cmd *cmd_find(const char *name);

/*
 * The option sets of @cmd with its letters filled in; @conf may be NULL (help). The rows are the caller's:
 * cmd_free_sets(). Returns the number of sets or -ENOMEM.
 */
int cmd_option_sets(const struct cmd *cmd, void *conf, struct opt_set *ret_sets);
void cmd_free_sets(struct opt_set *sets, int n);

/* Exit status for a negative errno: not permitted, usage or failure. */
int cmd_exit_status(int error);

#endif
