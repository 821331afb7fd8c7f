/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GET /metrics for Prometheus, on a loopback address or a unix socket, in the caller's loop. Serves numbers only,
 * never content of events.
 */
#ifndef AGENT_AGENT_HTTP_H
#define AGENT_AGENT_HTTP_H

#include <stdbool.h>
#include <sys/types.h>

struct agent_http;
struct buf;
struct err;
struct loop;

struct agent_http_opts {
	const char *address; /* http_listen_check(); borrowed */
	gid_t gid;	     /* may connect to the unix socket; 0 = root only */
	const char *hosts;   /* accepted Host names besides localhost, comma-separated; NULL = none */
	void (*write)(void *ctx, bool openmetrics, struct buf *out);
	void *ctx;
};

/* -EINVAL with a message for any other address. */
int agent_http_new(struct loop *loop, const struct agent_http_opts *o, struct agent_http **ret, struct err *err);
void agent_http_free(struct agent_http *h); /* also removes the socket file; NULL is fine */

#endif
