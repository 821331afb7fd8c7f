/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A sub-command: one file, one row in src/main/cmds.def. Help, man pages and shell completion come from this struct
 * and from its option rows.
 */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/log.h"
#include "base/opt.h"

/* The exit status of every command; CMD_BY_SIGNAL + n after a clean flush on signal n. */
enum cmd_exit { CMD_OK = 0, CMD_FAIL = 1, CMD_USAGE = 2, CMD_DENIED = 3, CMD__MAX };

#define CMD_BY_SIGNAL 128 /* as shells report it */

#define CMD_MAX_SETS 8

/* The command line without its options. */
struct cmd_words {
	struct opt_strv words;		/* filter words, file names... */
	struct opt_strv command;	/* behind "--" */
	char *line;			/* the whole command line, for file headers; owned by main */
	const struct cmd *const *all;	/* every command, NULL-terminated */
};

struct cmd_example { const char *line, *what; };

struct cmd {
	const char *name, *summary;
	const char *args;		/* "[FILTER WORDS]" */
	const char *doc;		/* paragraphs separated by an empty line, for the man page */
	const struct cmd_example *examples;	/* up to a row with line NULL; may be NULL */
	/* Is @word an argument of this command, as the tools of compat are? For the hint at an unknown command. */
	bool (*has)(const char *word);
	/* Replaces the members below: gets argv unchanged, starting at its own name. */
	int (*main)(int argc, char **argv, char *line);
	size_t conf_size;
	bool dialect; /* another tool's command: its rows override the common ones */
	/* Sets defaults in @conf (zeroed) and lists the option sets. Returns their number, <= CMD_MAX_SETS. */
	size_t (*sets)(void *conf, struct opt_set *ret_sets);
	/* Returns an exit status. */
	int (*run)(void *conf, const struct cmd_words *w);
};

const struct cmd *cmd_find(const struct cmd *const *all, const char *name); /* NULL if it does not exist */

/*
 * The option sets of @cmd; @conf may be NULL (help). The caller frees the rows: cmd_free_sets(). Returns the number
 * of sets or -ENOMEM.
 */
int cmd_option_sets(const struct cmd *cmd, void *conf, struct opt_set *ret_sets);
void cmd_free_sets(struct opt_set *sets, int n);

/* Parses argv[1..] and runs @cmd; @line: the whole command line. Returns an exit status. */
int cmd_run(const struct cmd *cmd, const struct cmd *const *all, int argc, char **argv, char *line);

/* Prints and releases @b. Returns an exit status. */
int cmd_print(struct buf *b, FILE *out);
/* --help: the options, with @detail OPT_ALL all texts; and --version. Both return an exit status. */
int cmd_print_help(const struct cmd *cmd, enum opt_detail detail, FILE *out);
int cmd_print_version(FILE *out, bool json);

/* Appends the paragraphs of @text, wrapped at 80 columns. */
void cmd_add_wrapped(struct buf *b, const char *text);

/* The exit status @status, after an error message. */
#define cmd_error(status, ...) (log_error(__VA_ARGS__), (status))

/* Exit status for a negative errno: not permitted, usage or failure. */
int cmd_exit_status(int error);
/* The same, after the sentence of @err as an error message. */
int cmd_fail(int error, const struct err *err);

#endif
