// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde compat: the dialects and their commands.
 */
#include "compat/compat.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "cmd/run/run.h"

/* @verb NULL: the first row of the tool. */
static const struct dialect *find(const char *tool, const char *verb)
{
	for (size_t i = 0; compat_dialects[i]; i++) {
		const struct dialect *d = compat_dialects[i];

		if (!strcmp(d->tool, tool) && (!verb || (d->verb && !strcmp(d->verb, verb))))
			return d;
	}
	return NULL;
}

/* A word that is none of the tool's verbs, or no word. Returns an exit status. */
static int refuse_verb(const char *tool)
{
	struct buf b = { 0 };
	size_t n = 0;

	for (size_t i = 0; compat_dialects[i]; i++)
		if (!strcmp(compat_dialects[i]->tool, tool))
			buf_printf(&b, "%ssonde %s", n++ ? ", " : "", compat_dialects[i]->cmd->name);
	log_error("sonde compat %s needs a command: %s", tool, buf_str(&b));
	buf_fini(&b);
	return CMD_USAGE;
}

/* ---- the run ---- */

/* Number of arguments, argv[0] included, that are options of the dialect and their values. */
static int count_options(const struct dialect *d, int argc, char **argv)
{
	struct opt_set sets[CMD_MAX_SETS];
	int n = cmd_option_sets(d->cmd, NULL, sets), found;

	if (n < 0)
		return argc;
	found = 1 + opt_leading(sets, (size_t)n, argc, argv);
	cmd_free_sets(sets, n);
	return found;
}

/* The command starts at the first word: inserts "--" before it. */
static int run_with_command(const struct dialect *d, int argc, char **argv, char *line)
{
	int at = count_options(d, argc, argv), n = argc;
	_cleanup_free_ char **args = NULL;
	static char end[] = "--";

	args = calloc((size_t)argc + 2, sizeof(*args));
	if (!args)
		return cmd_error(CMD_FAIL, "out of memory");
	memcpy(args, argv, (size_t)argc * sizeof(*args));
	if (at < argc && argv[at][0] != '-') {
		memmove(args + at + 1, args + at, (size_t)(argc - at) * sizeof(*args));
		args[at] = end;
		n++;
	}
	return cmd_run(d->cmd, NULL, n, args, line);
}

static int run_dialect(const struct dialect *d, int argc, char **argv, char *line)
{
	int end = d->first_word_ends ? count_options(d, argc, argv) : argc;

	/* a word behind options that take no value, or the first of the arguments that are not options */
	for (int i = 1; i < argc && i <= end && strcmp(argv[i], "--") != 0; i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return compat_print_help(d, stdout);
	return d->first_word_ends ? run_with_command(d, argc, argv, line) : cmd_run(d->cmd, NULL, argc, argv, line);
}

static bool is_asked(const char *arg, const char *name, const char *letter)
{
	return !strcmp(arg, name) || !strcmp(arg, letter);
}

static int compat_main(int argc, char **argv, char *line)
{
	const struct opt_set global = run_global_set(NULL);
	int n = opt_leading(&global, 1, argc, argv), at = n + 1;
	const struct dialect *d = at < argc ? find(argv[at], NULL) : NULL;
	const char *verb = at + 1 < argc ? argv[at + 1] : "";

	if (at >= argc || is_asked(argv[at], "--help", "-h"))
		return compat_print_list(stdout);
	if (is_asked(argv[at], "--json", "-j"))
		return compat_print_rows(stdout);
	if (!d)
		return cmd_error(CMD_USAGE, "no tool %s here (sonde compat lists the tools)", argv[at]);
	if (d->verb && is_asked(verb, "--help", "-h"))
		return compat_print_verbs(d->tool, stdout);
	if (d->verb && !find(d->tool, verb))
		return refuse_verb(d->tool);
	d = d->verb ? find(d->tool, verb) : d;
	at += d->verb != NULL;
	/* global options follow the name */
	memmove(argv + at - n + 1, argv + 1, (size_t)n * sizeof(*argv));
	return run_dialect(d, argc - at + n, argv + at - n, line);
}

static bool is_tool(const char *word)
{
	return find(word, NULL);
}

static int compat_run(_unused_ void *conf, _unused_ const struct cmd_words *w)
{
	return compat_print_list(stdout);
}

static const struct cmd_example compat_examples[] = {
	{ "sonde compat hubble observe --verdict DROPPED", "dropped flows" },
	{ "sonde compat sysdig -X proc.name=nginx", "calls of nginx with their data" },
	{ "sonde compat strace -e trace=%file ls", "calls of a command that take paths" },
	{ "sonde compat profile-bpfcc -f 10", "folded stacks of ten seconds" },
	{ "sonde compat cilium-dbg monitor -t drop", "drops in Cilium's lines" },
	{ "sonde compat perf record -F 99 -a -g -- sleep 10", "a recording for perf script and perf report" },
	{ 0 },
};

const struct cmd cmd_compat = {
	.name = "compat",
	.summary = "command lines of other tools",
	.args = "TOOL [ARGUMENTS]",
	.doc = "Runs sonde with the option names and letters of another tool. Options of the tool that sonde "
	       "does not honour are refused by name, with the native way. Without a tool it lists the dialects; "
	       "--json lists every option with its status. A program named sonde-TOOL runs the dialect of TOOL.",
	.examples = compat_examples,
	.has = is_tool,
	.main = compat_main,
	.run = compat_run,
};
