// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Completion scripts, from the option rows of every command.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/macros.h"
#include "cmd/cmd.h"

static size_t count_cmds(const struct cmd *const *all)
{
	size_t n = 0;

	while (all[n])
		n++;
	return n;
}

/* Rows of every command, @n of each array; returns how many commands were filled, or -ENOMEM. */
static int collect(const struct cmd *const *all, struct opt_command *cmds, struct opt_set (*sets)[CMD_MAX_SETS],
		   size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int n_sets = cmd_option_sets(all[i], NULL, sets[i]);

		if (n_sets < 0)
			return n_sets;
		cmds[i] = (struct opt_command){ all[i]->name, all[i]->summary, sets[i], (size_t)n_sets };
	}
	return 0;
}

static int print_script(const struct cmd *const *all, enum opt_shell shell)
{
	size_t n = count_cmds(all);
	_cleanup_free_ struct opt_command *cmds = calloc(n, sizeof(*cmds));
	_cleanup_free_ struct opt_set (*sets)[CMD_MAX_SETS] = calloc(n, sizeof(*sets));
	struct buf b = { 0 };
	int r = cmds && sets ? collect(all, cmds, sets, n) : -ENOMEM;

	if (r >= 0)
		r = opt_complete(shell, "sonde", cmds, n, &b);
	if (r >= 0 && (fwrite(b.data, 1, b.len, stdout) != b.len || fflush(stdout)))
		r = -EIO;
	buf_fini(&b);
	for (size_t i = 0; cmds && i < n; i++)
		cmd_free_sets(sets[i], (int)cmds[i].n_sets);
	return r < 0 ? CMD_FAIL : CMD_OK;
}

static int completion_run(_unused_ void *conf, const struct cmd_words *w)
{
	for (unsigned shell = 0; w->words.len == 1 && opt_shell_names[shell]; shell++)
		if (!strcmp(w->words.items[0], opt_shell_names[shell]))
			return print_script(w->all, shell);
	log_error("completion needs one of bash, zsh, fish");
	return CMD_USAGE;
}

const struct cmd cmd_completion = {
	.name = "completion", .summary = "completion script of a shell", .args = "bash | zsh | fish",
	.doc = "Prints a completion script: source it, or put it where the shell looks.",
	.run = completion_run,
};
