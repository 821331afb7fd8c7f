/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hubble's Observer of an agent (hubble/hubble_observer.h): a process without rights, started by a keeper, that reads
 * the agent's flows and drops.
 */
#ifndef CMD_HUBBLE_KEEP_H
#define CMD_HUBBLE_KEEP_H

struct agent_conf;
struct buf;
struct err;
struct keeper;

/* Checks the row `hubble-listen`. 0 or -errno with a sentence. */
int hubble_keep_check(const struct agent_conf *c, struct err *err);

/* Appends what the server listens at to @ret_shown: the unix socket, and @c->hubble_listen if there is one. */
int hubble_keep_start(const struct agent_conf *c, struct keeper *ret, struct buf *ret_shown, struct err *err);

#endif
