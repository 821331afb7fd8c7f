// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the sub-command, fills its configuration from its option rows, runs it.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/macros.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/help.h"

#define CMD(name) extern const struct cmd cmd_##name;
#include "cmd/cmds.def"
#undef CMD

const struct cmd *const all_cmds[] = {
#define CMD(name) &cmd_##name,
#include "cmd/cmds.def"
#undef CMD
	NULL,
};

const struct cmd *cmd_find(const char *name)
{
	for (size_t i = 0; all_cmds[i]; i++)
		if (!strcmp(all_cmds[i]->name, name))
			return all_cmds[i];
	return NULL;
}

static int no_such_command(const char *name)
{
	struct str_near near = { .word = name };

	for (size_t i = 0; all_cmds[i]; i++)
		str_near_offer(&near, all_cmds[i]->name);
	if (near.best)
		log_error("there is no command %s; did you mean %s? (sonde --help lists them)", name, near.best);
	else
		log_error("there is no command %s; sonde --help lists them", name);
	return CMD_USAGE;
}

int cmd_exit_status(int error)
{
	switch (-error) {
	case 0:
		return CMD_OK;
	case EPERM:
	case EACCES:
		return CMD_DENIED;
	case EINVAL:
		return CMD_USAGE;
	default:
		return CMD_FAIL;
	}
}

/* The letter that "k=name k=name" gives to @name, or 0. */
static char letter_of(const char *letters, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = letters; p && *p; p += strcspn(p, " "), p += strspn(p, " "))
		if (p[1] == '=' && !strncmp(p + 2, name, len) && (p[2 + len] == ' ' || !p[2 + len]))
			return p[0];
	return 0;
}

static struct opt *copy_rows(const struct opt *rows, const char *letters)
{
	struct opt *copy;
	size_t n = 0;

	while (rows[n].name)
		n++;
	copy = calloc(n + 1, sizeof(*copy));
	for (size_t i = 0; copy && i < n; i++) {
		copy[i] = rows[i];
		if (!copy[i].key)
			copy[i].key = letter_of(letters, rows[i].name);
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
		ret_sets[i].opts = copy_rows(ret_sets[i].opts, cmd->letters);
		if (ret_sets[i].opts)
			continue;
		cmd_free_sets(ret_sets, (int)i);
		return -ENOMEM;
	}
	if (opt_check(ret_sets, n, &err) < 0) { /* two sets share a name or letter: a mistake in the tables */
		log_error("%s: %s", cmd->name, err.msg);
		abort();
	}
	return (int)n;
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

/* --help is an answer, not a mistake, wherever it stands before "--". */
static bool wants_help(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return true;
	return false;
}

static int run_cmd(const struct cmd *cmd, int argc, char **argv, char *line)
{
	_cleanup_free_ void *conf = calloc(1, cmd->conf_size ? cmd->conf_size : 1);
	struct cmd_words words = { .line = line };
	struct opt_set sets[CMD_MAX_SETS];
	struct err err = { 0 };
	int n_sets, status;

	if (wants_help(argc, argv))
		return help_cmd(cmd, stdout);
	n_sets = conf ? cmd_option_sets(cmd, conf, sets) : -ENOMEM;
	if (n_sets < 0) {
		log_error("out of memory");
		return CMD_FAIL;
	}
	if (opt_parse(sets, (size_t)n_sets, argc, argv, &words.words, &words.command, &err) < 0) {
		log_error("%s (sonde %s --help lists the options)", err.msg, cmd->name);
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

#define OWN_MAPPING_BYTES (256 << 10)

/* The C library's limit grows with what is freed, and then the heap keeps what was large, in every worker too. */
static void return_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, OWN_MAPPING_BYTES);
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
		return 128 + SIGPIPE;
	log_error("cannot write standard output: %s", why);
	return status == CMD_OK ? CMD_FAIL : status;
}

static int run_words(int argc, char **argv, char *line)
{
	const struct cmd *cmd;

	if (argc < 2) {
		help_all(stderr);
		return CMD_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return help_all(stdout);
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))
		return help_version(stdout, argc > 2 && !strcmp(argv[2], "--json"));
	cmd = cmd_find(argv[1]);
	if (!cmd)
		return no_such_command(argv[1]);
	return run_cmd(cmd, argc - 1, argv + 1, line);
}

int main(int argc, char **argv)
{
	_cleanup_free_ char *line = join_argv(argc, argv);

	hold_standard_fds();
	return_memory();
	signal(SIGPIPE, SIG_IGN); /* a reader that went away is an error of the write */
	return end_stdout(run_words(argc, argv, line));
}
