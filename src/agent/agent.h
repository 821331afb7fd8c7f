/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon: one live pipeline, any number of clients over unix sockets (doc/protocol.md). Probes are loaded at a
 * client's request; equal requests share an instance. Runs on the caller's loop.
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include "agent/agent_conf.h"

struct agent;
struct err;
struct loop;

/*
 * Starts the proc probe, creates the sockets and gives up rights of the process for good. 0 or -errno with a message.
 */
int agent_new(struct loop *loop, const struct agent_conf *conf, struct agent **ret, struct err *err);
int agent_run(struct agent *a, struct err *err);	/* until agent_stop() */
void agent_stop(struct agent *a);
/* Applies new limits and queue sizes. Strings of @conf are ignored. */
void agent_reload(struct agent *a, const struct agent_conf *conf);
void agent_free(struct agent *a);			/* NULL is fine */

#endif
