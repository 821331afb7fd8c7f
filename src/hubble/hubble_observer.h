/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hubble's Observer (observer.proto of Cilium) over the latest flows, for the stock `hubble` client: GetFlows,
 * ServerStatus, GetNodes, GetNamespaces, streams of agent and debug events (none: empty), peer.Peer/Notify and the
 * health check of gRPC. Without TLS.
 */
#ifndef HUBBLE_HUBBLE_OBSERVER_H
#define HUBBLE_HUBBLE_OBSERVER_H

#include <stddef.h>

struct err;
struct event;
struct hubble_observer;
struct loop;

struct hubble_observer_opts {
	const struct registry *reg;		/* borrowed, as the others */
	const struct core_host *host;		/* filled in once known */
	const char *address;			/* as clients name it, for GetNodes */
	const int *fds;				/* listening sockets: unix, loopback */
	size_t n_fds;
};

/* 0 or -errno with a sentence. */
int hubble_observer_new(struct loop *loop, const struct hubble_observer_opts *o, struct hubble_observer **ret,
			struct err *err);
void hubble_observer_free(struct hubble_observer *o);	/* NULL is fine */

/* Takes a flow or a report of lost records, ignores other events. 0 or -ENOMEM. */
int hubble_observer_event(struct hubble_observer *o, const struct event *ev);
/* Sends what came: the end of a batch. */
void hubble_observer_flush(struct hubble_observer *o);

#endif
