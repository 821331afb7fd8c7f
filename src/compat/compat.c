// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde compat: which dialects exist, and the way into each.
 */
#include "compat/compat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/macros.h"
#include "cmd/run.h"

static const struct dialect *const dialects[] = {
	&dialect_hubble, &dialect_cilium_dbg, &dialect_sysdig, &dialect_strace, &dialect_profile_bpfcc,
};

static int list(FILE *out)
{
	fputs("sonde compat: command lines of other tools\n\nUsage: sonde compat TOOL [ARGUMENTS]\n\nTools:\n", out);
	for (size_t i = 0; i < ARRAY_SIZE(dialects); i++) {
		char name[64];

		snprintf(name, sizeof(name), "%s%s%s", dialects[i]->tool, dialects[i]->verb ? " " : "",
			 dialects[i]->verb ? dialects[i]->verb : "");
		fprintf(out, "  sonde compat %-20s %s\n", name, dialects[i]->cmd->summary);
	}
	fputs("sonde compat TOOL --help lists the options of each.\n", out);
	return CMD_OK;
}

static const struct dialect *find(const char *tool)
{
	for (size_t i = 0; i < ARRAY_SIZE(dialects); i++)
		if (!strcmp(dialects[i]->tool, tool))
			return dialects[i];
	return NULL;
}

/* ---- options that are not honoured ---- */

static const struct compat_load_error *load_error_of(const struct dialect *d, const char *arg)
{
	for (const struct compat_load_error *r = d->refused; r && (r->name || r->key); r++) {
		size_t len = r->name ? strlen(r->name) : 0;

		if (arg[0] == '-' && arg[1] == '-' && len && !strncmp(arg + 2, r->name, len) &&
		    (!arg[2 + len] || arg[2 + len] == '='))
			return r;
		if (r->key && arg[0] == '-' && arg[1] == r->key)
			return r;
	}
	return NULL;
}

/* @n: arguments that may be options. */
static bool refuses(const struct dialect *d, int n, char **argv)
{
	for (int i = 1; i < n && strcmp(argv[i], "--") != 0; i++) {
		const struct compat_load_error *r = load_error_of(d, argv[i]);

		if (!r)
			continue;
		log_error("sonde %s does not take %s: %s", d->cmd->name, argv[i], r->instead);
		return true;
	}
	return false;
}

/* ---- the run ---- */

/* How many arguments, argv[0] included, are options of the dialect and their values. */
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

/* The command begins at the first word: a "--" goes in front of it. */
static int run_with_command(const struct dialect *d, int argc, char **argv, char *line)
{
	int at = count_options(d, argc, argv), n = argc;
	_cleanup_free_ char **args = NULL;
	static char end[] = "--";

	if (refuses(d, at + (at < argc && argv[at][0] == '-'), argv))
		return CMD_USAGE;
	args = calloc((size_t)argc + 2, sizeof(*args));
	if (!args) {
		log_error("out of memory");
		return CMD_FAIL;
	}
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
	if (d->first_word_ends)
		return run_with_command(d, argc, argv, line);
	if (refuses(d, argc, argv))
		return CMD_USAGE;
	return cmd_run(d->cmd, NULL, argc, argv, line);
}

static int compat_main(int argc, char **argv, char *line)
{
	const struct opt_set global = run_global_set(NULL);
	int n = opt_leading(&global, 1, argc, argv), at = n + 1;
	const struct dialect *d = at < argc ? find(argv[at]) : NULL;

	if (at >= argc)
		return list(stdout);
	if (!strcmp(argv[at], "--help") || !strcmp(argv[at], "-h"))
		return list(stdout);
	if (!d) {
		log_error("%s is not a dialect; sonde compat lists them", argv[at]);
		return CMD_USAGE;
	}
	if (d->verb && (at + 1 >= argc || strcmp(argv[at + 1], d->verb) != 0)) {
		log_error("of %s there is one command here: sonde %s", d->tool, d->cmd->name);
		return CMD_USAGE;
	}
	at += d->verb != NULL;
	/* global options go behind the name */
	memmove(argv + at - n + 1, argv + 1, (size_t)n * sizeof(*argv));
	return run_dialect(d, argc - at + n, argv + at - n, line);
}

static int compat_run(_unused_ void *conf, _unused_ const struct cmd_words *w)
{
	return list(stdout);
}

static const struct cmd_example compat_examples[] = {
	{ "sonde compat hubble observe --verdict DROPPED", "dropped flows" },
	{ "sonde compat sysdig -X proc.name=nginx", "calls of nginx with their data" },
	{ "sonde compat strace -e trace=%file ls", "calls of a command that take paths" },
	{ "sonde compat profile-bpfcc -f 10", "folded stacks of ten seconds" },
	{ "sonde compat cilium-dbg monitor -t drop", "drops in Cilium's lines" },
	{ 0 },
};

const struct cmd cmd_compat = {
	.name = "compat",
	.summary = "command lines of other tools",
	.args = "TOOL [ARGUMENTS]",
	.doc = "Runs sonde with the option names and letters of another tool. Options of the tool that sonde "
	       "does not "
	       "honour are refused by name, with the native option to use. Without a tool it lists the dialects.",
	.examples = compat_examples,
	.main = compat_main,
	.run = compat_run,
};
