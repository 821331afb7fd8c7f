/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Signals of a terminal or a service manager to the whole group: the command decides when its other processes end.
 */
#ifndef WORKER_COMMAND_SIGNALS_H
#define WORKER_COMMAND_SIGNALS_H

#define COMMAND_SIGNALS 5

struct command_signals { void (*before[COMMAND_SIGNALS])(int); };

/* Ignores them and unblocks all signals. @ret: for command_signals_restore() in a child, or NULL. */
void command_signals_ignore(struct command_signals *ret);
void command_signals_restore(const struct command_signals *s);

#endif
