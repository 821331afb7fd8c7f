/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Owners of sockets by cookie and time. The kernel never reuses a cookie.
 */
#ifndef STATE_SOCKET_H
#define STATE_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

struct state;

/* The process uses the socket at ts_ns; with `snapshot` it holds the socket. */
struct state_socket_fact {
	uint64_t ts_ns, cookie;
	uint32_t tgid;		/* 0 = the fact does not name an owner */
	uint64_t start_ns;
	bool snapshot;
	bool listener;		/* the process owns the listener; the connection waits for accept() */
	bool closed;
};

enum state_owner_how {
	STATE_OWNER_USER,	/* the last user until the time of the question */
	STATE_OWNER_LATER,	/* the first user, whose event came after that time */
	STATE_OWNER_SNAPSHOT,	/* a holder when a snapshot was taken */
	STATE_OWNER_LISTENER,	/* the owner of the listener: no process has accepted the connection */
	STATE_OWNER__MAX,
};

struct state_socket_owner {
	uint64_t start_ns;
	uint32_t tgid;
	enum state_owner_how how;
	bool shared;		/* several processes have used it */
	bool accepted;		/* a connection that came through a listener */
};

/* 0 or -ENOMEM. */
int state_socket_apply(struct state *s, const struct state_socket_fact *f);

/* Owner at @ts_ns. 0, -ENOENT, or -ESTALE if the socket was evicted. */
int state_socket_find(struct state *s, uint64_t cookie, uint64_t ts_ns, struct state_socket_owner *ret);

#endif
