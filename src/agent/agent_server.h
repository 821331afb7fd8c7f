/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Servers of the agent in processes without rights (the page, Hubble's Observer), seen from its loop: sockets for a
 * server, which a keeper starts (cmd/daemon/keeper.h), and another start when it has ended. The agent reads nothing
 * of what their clients send.
 *
 * A server is a reader without anybody's content; with allow-content = group it sees all, as the group does.
 */
#ifndef AGENT_AGENT_SERVER_H
#define AGENT_AGENT_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct buf;
struct err;

#define AGENT_SERVER_SOCKETS 2u	/* that one may listen at */

/* A request to the keeper: one byte, with these descriptors; the last one only if there is a second socket. */
enum agent_server_fd {
	AGENT_SERVER_CLIENT, AGENT_SERVER_LISTEN, AGENT_SERVER_LISTEN_2, AGENT_SERVER_FD__MAX
};

/* From the keeper: a server has started, or has ended. */
struct agent_server_report {
	int32_t pid;	/* -1: it could not be started */
	int32_t status;	/* of waitpid(2) */
	bool ended;
};

struct agent_server {
	struct agent *agent;		/* borrowed, as all strings and the loop; set by the agent, as the next */
	struct loop *loop;
	int (*connect)(struct agent *a);	/* the server's end of a new connection, or -errno */
	const char *name, *title;	/* "page", "the page" */
	const char *addresses[AGENT_SERVER_SOCKETS];	/* http_listen_check(); NULL = none */
	const char *shown;		/* what `sonde status` prints of them */
	int keeper_fd;			/* socket of the keeper */

	int listen_fds[AGENT_SERVER_SOCKETS];	/* owned; by agent_server_init(), as all below; -1 = none */
	struct loop_source *io, *timer;
	int32_t pid;		/* of the server; 0 = none runs */
	uint64_t since_ns;	/* its start */
	uint64_t delay_ns;	/* before the last start */
	unsigned starts;
	bool over;		/* the keeper has ended */
};

void agent_server_init(struct agent_server *s);
/* Listens at its addresses, if it has some. Before the agent gives up its rights. 0 or -errno with a sentence. */
int agent_server_open(struct agent_server *s, gid_t gid, struct err *err);
void agent_server_start(struct agent_server *s);
void agent_server_stop(struct agent_server *s);		/* no more starts */
void agent_server_close(struct agent_server *s);	/* removes unix sockets; the caller ends the keeper */

/* The line of `sonde status`. */
void agent_server_put(const struct agent_server *s, struct buf *out);

#endif
