/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that starts a server of an agent (the page, Hubble's Observer). It is forked before the agent has read
 * anything, so a server that is taken over finds nothing of other users in its memory, and gives up all rights at
 * once: as root it takes uid 65534. The agent passes the sockets of each server (agent/agent_server.h).
 */
#ifndef CMD_KEEPER_H
#define CMD_KEEPER_H

#include <sys/types.h>

#include "agent/agent_server.h"

struct keeper_ops {
	const char *title;	/* of the server, for messages: "the page" */
	const char *comm;	/* its process's name */
	/* The server: until the agent ends. @fds: enum agent_server_fd, to take over; -1 = none. An exit status. */
	int (*serve)(void *conf, const int fds[static AGENT_SERVER_FD__MAX]);
};

struct keeper {
	pid_t pid;	/* 0 = not started */
	int fd;		/* its end for the agent; owned */
};

/* @conf is copied by fork(2). 0 or -errno with a sentence. */
int keeper_start(const struct keeper_ops *ops, void *conf, struct keeper *ret, struct err *err);
void keeper_stop(struct keeper *k); /* ends the server too, and waits; nothing if it was not started */

#endif
