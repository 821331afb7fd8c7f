/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that starts the page server of an agent. It is forked before the agent has read anything, so a server
 * that is taken over finds nothing of other users in its memory, and gives up all rights at once: as root it takes
 * uid 65534. The agent passes the sockets of each server (agent/agent_page.h).
 */
#ifndef CMD_UI_KEEPER_H
#define CMD_UI_KEEPER_H

#include <sys/types.h>

struct agent_conf;
struct buf;
struct err;

struct ui_keeper {
	pid_t pid;	/* 0 = not started */
	int fd;		/* its end for the agent; owned */
};

/* Checks the rows `ui` and `ui-set`. 0 or -errno with a sentence. */
int ui_keeper_check(const struct agent_conf *c, struct err *err);

/*
 * The server will listen at @c->ui, borrowed, and subscribe to @c->ui_set. Appends the address to open to
 * @ret_address, with a token that holds for all its servers. 0 or -errno with a sentence.
 */
int ui_keeper_start(const struct agent_conf *c, struct ui_keeper *ret, struct buf *ret_address, struct err *err);
void ui_keeper_stop(struct ui_keeper *k); /* ends the server too, and waits; nothing if it was not started */

#endif
