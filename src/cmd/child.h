/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command behind "--": forked at once, so that its process id is known, and started when all probes run. The run
 * selects it and its descendants.
 */
#ifndef CMD_CHILD_H
#define CMD_CHILD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

struct buf;
struct child;
struct err;
struct event;
struct opt_u32v;

/* How the command starts, and what it leaves; zeroed = as the caller. */
struct child_opts {
	const char *user;		/* with this user's ids and groups */
	const struct opt_strv *env;	/* "NAME=VALUE" sets, "NAME" removes, in order */
	uint32_t *ret_pid;		/* set at the fork; may be NULL */
	int *ret_wait;			/* set at its end, as by wait(2); may be NULL */
	bool aside;			/* the run lasts as long as it does, and does not select it */
};

/*
 * Signal dispositions are reset as for a new program. The child waits for child_release(). @o (may be NULL) must
 * outlive the child.
 */
int child_new(const struct opt_strv *command, const struct child_opts *o, struct child **ret, struct err *err);
/*
 * Replaces @out by the path of the program @name, found as by execvp(), with its NUL; by @name itself if there is
 * none: execvp() reports the error.
 */
void child_find_program(const char *name, struct buf *out);
/* The calling process becomes the command. Returns only on failure: -errno with a sentence. */
int child_become(const struct opt_strv *command, const struct child_opts *o, struct err *err);
/* No process of its own: child_owns() and child_has() for running processes and their descendants. 0 or -ENOMEM. */
int child_adopt(const struct opt_u32v *pids, struct child **ret);
void child_free(struct child *c); /* a child that was never released exits; NULL is fine */
DEFINE_CLEANUP(struct child *, child_free)

/* -errno with a sentence if it cannot be executed (-ENOENT, -EACCES, ...). */
int child_release(struct child *c, struct err *err);

uint32_t child_pid(const struct child *c);

int child_fd(const struct child *c);	/* pollable: readable once it has exited */

void child_signal(struct child *c, int signo);

/* Waits for its exit. Exit status as in a shell: 128 + n for signal n. */
int child_wait(struct child *c);

/* Tracks descendants through state events; true if @ev belongs to the command or to a descendant. */
bool child_owns(struct child *c, const struct event *ev);

/* The process @tgid is the command or a descendant, as far as events have shown. */
bool child_has(const struct child *c, uint32_t tgid);

#endif
