// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Common to all commands: option rows, help, run.
 */
#include "cmd/cmd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"

const struct cmd *cmd_find(const struct cmd *const *all, const char *name)
{
	for (size_t i = 0; all && all[i]; i++)
		if (!strcmp(all[i]->name, name))
			return all[i];
	return NULL;
}

int cmd_exit_status(int error)
{
	switch (-error) {
	case 0: return CMD_OK;
	case EPERM:
	case EACCES: return CMD_DENIED;
	case EINVAL: return CMD_USAGE;
	default: return CMD_FAIL;
	}
}

int cmd_fail(int error, const struct err *err)
{
	log_error("%s", err->msg);
	return cmd_exit_status(error);
}

static bool is_taken(const struct opt_set *sets, size_t n, const struct opt *row)
{
	for (size_t i = 0; i < n; i++)
		for (const struct opt *o = sets[i].opts; opt_is_row(o); o++)
			if (o->name && !strcmp(o->name, row->name))
				return true;
	return false;
}

static bool is_taken_letter(const struct opt_set *sets, size_t n, char key)
{
	for (size_t i = 0; i < n; i++)
		for (const struct opt *o = sets[i].opts; opt_is_row(o); o++)
			if (key && o->key == key)
				return true;
	return false;
}

/* In a dialect, its own rows (set @at) override names and letters of the sets before. */
static struct opt *copy_rows(const struct cmd *cmd, const struct opt_set *sets, size_t at)
{
	const struct opt *rows = sets[at].opts;
	struct opt *copy;
	size_t n = 0, kept = 0;

	while (opt_is_row(&rows[n]))
		n++;
	copy = calloc(n + 1, sizeof(*copy));
	for (size_t i = 0; copy && i < n; i++) {
		if (cmd->dialect && rows[i].name && is_taken(sets, at, &rows[i]))
			continue;
		copy[kept] = rows[i];
		if (cmd->dialect && is_taken_letter(sets, at, rows[i].key))
			copy[kept].key = 0;
		kept++;
	}
	return copy;
}

void cmd_free_sets(struct opt_set *sets, int n)
{
	for (int i = 0; i < n; i++)
		free((struct opt *)sets[i].opts);
}

int cmd_option_sets(const struct cmd *cmd, void *conf, struct opt_set *ret_sets)
{
	_cleanup_free_ void *own = conf ? NULL : calloc(1, cmd->conf_size ? cmd->conf_size : 1);
	struct err err;
	size_t n;

	if (!conf && !own)
		return -ENOMEM;
	n = cmd->sets ? cmd->sets(conf ? conf : own, ret_sets) : 0;
	for (size_t i = 0; i < n; i++) {
		ret_sets[i].opts = copy_rows(cmd, ret_sets, i);
		if (cmd->dialect)
			ret_sets[i].hints = NULL;
		if (ret_sets[i].opts)
			continue;
		cmd_free_sets(ret_sets, (int)i);
		return -ENOMEM;
	}
	if (opt_check(ret_sets, n, &err) < 0) { /* two sets share a name or letter: a bug in the tables */
		log_error("%s: %s", cmd->name, err.msg);
		abort();
	}
	return (int)n;
}

/* Position of @name or @letter before "--"; 0 = absent. */
static int find_flag(int argc, char **argv, const char *name, const char *letter)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], name) || !strcmp(argv[i], letter))
			return i;
	return 0;
}

/* ---- help ---- */

int cmd_print(struct buf *b, FILE *out)
{
	bool ok = !buf_error(b) && fwrite(b->data, 1, b->len, out) == b->len;

	buf_fini(b);
	return ok ? CMD_OK : CMD_FAIL;
}

int cmd_print_version(FILE *out, bool json)
{
	fprintf(out, json ? "{\"v\":1,\"name\":\"sonde\",\"version\":\"%s\"}\n" : "sonde %s\n", SONDE_VERSION);
	return CMD_OK;
}

#define EXAMPLES_SHORT 4
#define COLUMNS 80

static void add_examples(const struct cmd_example *e, size_t max, struct buf *b)
{
	for (size_t i = 0; e && e[i].line && i < max; i++) {
		size_t len = strlen(e[i].line) + strlen(e[i].what) + 6;

		buf_printf(b, "%s  %s%s%s\n", i ? "" : "\nExamples:\n", e[i].line,
			   len > COLUMNS ? "\n      " : "   # ", e[i].what);
	}
}

void cmd_add_wrapped(struct buf *b, const char *text)
{
	size_t at = 0;

	while (*text) {
		size_t len = strcspn(text, " \n");

		if (at && at + 1 + len > COLUMNS) {
			buf_add_char(b, '\n');
			at = 0;
		}
		buf_printf(b, "%s%.*s", at ? " " : "", (int)len, text);
		at += len + (at != 0);
		text += len;
		for (; *text == ' ' || *text == '\n'; text++) {
			if (*text == '\n')
				buf_add_char(b, '\n');
			at = *text == '\n' ? 0 : at;
		}
	}
	buf_add_str(b, "\n");
}

int cmd_print_help(const struct cmd *cmd, enum opt_detail detail, FILE *out)
{
	struct opt_set sets[CMD_MAX_SETS];
	struct buf b = { 0 };
	int n = cmd_option_sets(cmd, NULL, sets);

	if (n < 0)
		return CMD_FAIL;
	buf_printf(&b, "sonde %s: %s\n\nUsage: sonde %s [OPTIONS]%s%s\n", cmd->name, cmd->summary, cmd->name,
		   *cmd->args ? " " : "", cmd->args);
	if (detail == OPT_ALL) {
		buf_add_char(&b, '\n');
		cmd_add_wrapped(&b, cmd->doc);
	}
	add_examples(cmd->examples, detail == OPT_ALL ? SIZE_MAX : EXAMPLES_SHORT, &b);
	opt_help(sets, (size_t)n, detail, &b);
	if (detail == OPT_SHORT && n > 1 && sets[n - 1].global)
		buf_printf(&b, "\nsonde %s --help all explains them; sonde help options: global options.\n",
			   cmd->name);
	cmd_free_sets(sets, n);
	return cmd_print(&b, out);
}

/* ---- the run ---- */

/* --help and --version take effect anywhere on the line, even beside errors. */
static bool answer(const struct cmd *cmd, int argc, char **argv, int *ret_status)
{
	int help = find_flag(argc, argv, "--help", "-h");
	bool all = help && help + 1 < argc && !strcmp(argv[help + 1], "all");

	if (help)
		*ret_status = cmd_print_help(cmd, all ? OPT_ALL : OPT_SHORT, stdout);
	else if (!cmd->dialect && find_flag(argc, argv, "--version", "-V"))
		*ret_status = cmd_print_version(stdout, find_flag(argc, argv, "--json", "-j"));
	else
		return false;
	return true;
}

int cmd_run(const struct cmd *cmd, const struct cmd *const *all, int argc, char **argv, char *line)
{
	_cleanup_free_ void *conf = calloc(1, cmd->conf_size ? cmd->conf_size : 1);
	struct cmd_words words = { .line = line, .all = all };
	struct opt_set sets[CMD_MAX_SETS];
	struct err err = { 0 };
	int n_sets, status;

	if (cmd->main)
		return cmd->main(argc, argv, line);
	if (answer(cmd, argc, argv, &status))
		return status;
	n_sets = conf ? cmd_option_sets(cmd, conf, sets) : -ENOMEM;
	if (n_sets < 0)
		return cmd_error(CMD_FAIL, "out of memory");
	if (opt_parse(sets, (size_t)n_sets, argc, argv, &words.words, &words.command, &err) < 0) {
		log_error("%s (sonde %s --help lists the options)", err.msg, cmd->name);
		status = CMD_USAGE;
	} else if (!cmd->dialect && !*cmd->args && words.words.len) {
		log_error("%s takes no arguments: %s", cmd->name, words.words.items[0]);
		status = CMD_USAGE;
	} else {
		status = cmd->run(conf, &words);
	}
	opt_fini(sets, (size_t)n_sets);
	opt_strv_fini(&words.words);
	opt_strv_fini(&words.command);
	cmd_free_sets(sets, n_sets);
	return status;
}
