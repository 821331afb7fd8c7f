// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the sub-command, fills its configuration from its option rows, runs it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/process/heap.h"
#include "base/log.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/help.h"
#include "cmd/run/run.h"

#define CMD(name) extern const struct cmd cmd_##name;
#include "main/cmds.def"
#undef CMD

static const struct cmd *const all_cmds[] = {
#define CMD(name) &cmd_##name,
#include "main/cmds.def"
#undef CMD
	NULL,
};

static int no_such_command(const char *name)
{
	struct str_near near = { .word = name };

	for (size_t i = 0; all_cmds[i]; i++) {
		str_near_offer(&near, all_cmds[i]->name);
		if (!all_cmds[i]->has || !all_cmds[i]->has(name))
			continue;
		log_error("no command %s; sonde %s %s takes its options", name, all_cmds[i]->name, name);
		return CMD_USAGE;
	}
	if (near.best)
		log_error("no command %s; did you mean %s? (sonde --help lists all)", name, near.best);
	else
		log_error("no command %s (sonde --help lists all)", name);
	return CMD_USAGE;
}

static char *join_argv(int argc, char **argv)
{
	struct buf b = { 0 };

	for (int i = 0; i < argc; i++)
		buf_printf(&b, "%s%s", i ? " " : "", argv[i]);
	if (buf_add_char(&b, '\0') < 0)
		buf_fini(&b);
	return b.data;
}

/*
 * A closed standard descriptor would be handed out by the next open(), and output would go there. Each is
 * held by /dev/null instead, opened the wrong way round: its use fails and is reported.
 */
static void hold_standard_fds(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
			_exit(CMD_FAIL);
}

static bool stdout_unread(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO, .events = POLLOUT };

	return poll(&p, 1, 0) > 0 && p.revents & POLLERR;
}

/*
 * Text that a command could not write: as by SIGPIPE when its reader went away (| head), else an error. Commands
 * that flush themselves leave the error flag only.
 */
static int end_stdout(int status)
{
	const char *why = fflush(stdout) ? strerror(errno) : ferror(stdout) ? "the write failed" : NULL;

	if (!why)
		return status;
	if (stdout_unread())
		return CMD_BY_SIGNAL + SIGPIPE;
	log_error("cannot write standard output: %s", why);
	return status == CMD_OK ? CMD_FAIL : status;
}

/* Moves the global options behind the command: argv[1..n] there, the rest where it was. */
static void move_globals(char **argv, int n)
{
	char *command = argv[n + 1];

	memmove(argv + 2, argv + 1, (size_t)n * sizeof(*argv));
	argv[1] = command;
}

static int run_words(int argc, char **argv, char *line)
{
	const struct opt_set global = run_global_set(NULL);
	int n = opt_leading(&global, 1, argc, argv);
	const char *word = argc > n + 1 ? argv[n + 1] : NULL;
	const struct cmd *cmd;

	if (!word) {
		help_all(all_cmds, stderr);
		return CMD_USAGE;
	}
	if (!strcmp(word, "--help") || !strcmp(word, "-h"))
		return help_all(all_cmds, stdout);
	if (!strcmp(word, "--version") || !strcmp(word, "-V"))
		return cmd_print_version(stdout, argc > n + 2 && !strcmp(argv[n + 2], "--json"));
	if (word[0] == '-') {
		log_error("%s is not a global option (sonde help options lists them); options of a command follow it",
			  word);
		return CMD_USAGE;
	}
	cmd = cmd_find(all_cmds, word);
	if (!cmd)
		return no_such_command(word);
	move_globals(argv, n);
	return cmd_run(cmd, all_cmds, argc - 1, argv + 1, line);
}

/* "strace" of a program named sonde-strace; NULL = the name has no tool. */
static const char *tool_of(const char *program)
{
	const char *name = strrchr(program, '/');

	name = name ? name + 1 : program;
	return !strncmp(name, "sonde-", 6) && name[6] ? name + 6 : NULL;
}

/* sonde-TOOL ARGUMENTS is sonde compat TOOL ARGUMENTS. */
static int run_tool(const char *tool, int argc, char **argv, char *line)
{
	_cleanup_free_ char **words = calloc((size_t)argc + 3, sizeof(*words));

	if (!words)
		return cmd_error(CMD_FAIL, "out of memory");
	words[0] = argv[0];
	words[1] = (char[]){ "compat" };
	words[2] = (char *)tool;
	memcpy(words + 3, argv + 1, (size_t)(argc - 1) * sizeof(*words));
	return run_words(argc + 2, words, line);
}

int main(int argc, char **argv)
{
	_cleanup_free_ char *line = join_argv(argc, argv);
	const char *tool = argc ? tool_of(argv[0]) : NULL;

	hold_standard_fds();
	heap_return_large();
	signal(SIGPIPE, SIG_IGN); /* a reader that went away is an error of the write */
	return end_stdout(tool ? run_tool(tool, argc, argv, line) : run_words(argc, argv, line));
}
