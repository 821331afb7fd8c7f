/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tcpdump's -z: a command for each file that is full. A process of its own starts the commands, since the reader of a
 * file has no right to.
 */
#ifndef COMPAT_TCPDUMP_ROTATED_H
#define COMPAT_TCPDUMP_ROTATED_H

struct tcpdump_rotated;

/* Starts the process. @command is borrowed. 0 or -errno. */
int tcpdump_rotated_new(const char *command, struct tcpdump_rotated **ret);
/* Has "command NAME" started, at low priority. @ctx: the struct tcpdump_rotated. */
void tcpdump_rotated_closed(void *ctx, const char *name);
/* Waits until all commands have ended. NULL is fine. */
void tcpdump_rotated_free(struct tcpdump_rotated *t);

#endif
