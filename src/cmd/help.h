/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Help, man pages and completion, all from struct cmd and its option rows.
 */
#ifndef CMD_HELP_H
#define CMD_HELP_H

#include <stdio.h>

struct cmd;

/* @all: every command. Returns an exit status. */
int help_all(const struct cmd *const *all, FILE *out);

/* Every event type with its fields. Returns an exit status. */
int help_print_events(FILE *out);

#endif
