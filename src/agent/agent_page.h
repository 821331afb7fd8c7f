/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page of the agent, seen from its loop: sockets for its server, which the keeper starts (cmd/ui/ui_keeper.h),
 * and another start when it has ended. The agent reads nothing of what browsers send.
 *
 * The server is a reader without anybody's content; with allow-content = group it sees all, as the group does.
 */
#ifndef AGENT_AGENT_PAGE_H
#define AGENT_AGENT_PAGE_H

#include <stdbool.h>
#include <stdint.h>

struct agent;
struct buf;
struct err;
struct loop_source;

/* A request to the keeper: one byte, with these descriptors. */
enum agent_page_fd { AGENT_PAGE_CLIENT, AGENT_PAGE_LISTEN, AGENT_PAGE_FD__MAX };

/* From the keeper: a server has started, or has ended. */
struct agent_page_report {
	int32_t pid;	/* -1: it could not be started */
	int32_t status;	/* of waitpid(2) */
	bool ended;
};

struct agent_page {
	int listen_fd;		/* owned; -1 = no page */
	int (*connect)(struct agent *a);	/* the server's end of a new connection, or -errno */
	const char *path;	/* of the unix socket, made here; NULL = none */
	struct loop_source *io, *timer;
	int32_t pid;		/* of the server; 0 = none runs */
	uint64_t since_ns;	/* its start */
	uint64_t delay_ns;	/* before the last start */
	unsigned starts;
	bool over;		/* the keeper has ended */
};

/* Listens at agent_conf.ui, if there is one. Before the agent gives up its rights. 0 or -errno with a sentence. */
int agent_page_open(struct agent *a, struct err *err);
void agent_page_start(struct agent *a);
void agent_page_stop(struct agent *a);	/* no more starts */
void agent_page_close(struct agent *a);	/* removes the unix socket; the caller ends the keeper */

/* The line of `sonde status`, with the address and its token. */
void agent_page_put(const struct agent *a, struct buf *out);

#endif
