/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Help, man pages and completion, all from struct cmd and its option rows.
 */
#ifndef CMD_HELP_H
#define CMD_HELP_H

#include <stdbool.h>
#include <stdio.h>

struct cmd;

/* Each returns an exit status. */
int help_all(FILE *out);
int help_cmd(const struct cmd *cmd, FILE *out);
int help_version(FILE *out, bool json);

#endif
