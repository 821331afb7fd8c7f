/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command behind "--": made at once, so that its process id is known, and started when all probes watch.
 * With the processes it makes it is the selection of the run.
 */
#ifndef CMD_CHILD_H
#define CMD_CHILD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

struct child;
struct err;
struct event;
struct opt_strv;

/* Its signals are those of a new program. It waits for child_release(). */
int child_new(const struct opt_strv *command, struct child **ret, struct err *err);
void child_free(struct child *c); /* a child that was never released exits; NULL is fine */
DEFINE_CLEANUP(struct child *, child_free)

/* -errno with a sentence when it cannot be run (-ENOENT, -EACCES, ...). */
int child_release(struct child *c, struct err *err);

uint32_t child_pid(const struct child *c);

int child_fd(const struct child *c);	/* pollable: readable when it has ended */

void child_signal(struct child *c, int signo);

/* Waits for its end. Exit status as a shell gives it: 128 + n for signal n. */
int child_wait(struct child *c);

/* Learns from state events who its descendants are; true when @ev belongs to it or to one of them. */
bool child_owns(struct child *c, const struct event *ev);

#endif
