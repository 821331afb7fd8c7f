/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GET /metrics for Prometheus, on a loopback address or a unix socket, in the caller's loop. Numbers only: what is in
 * events is never there.
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
	const char *address; /* "127.0.0.1:9777", "[::1]:9777", "9777", or the path of a unix socket */
	gid_t gid;	     /* that may connect to the unix socket; 0 = root alone */
	const char *hosts;   /* names that requests may come to beside localhost, comma separated; NULL = none */
	void (*write)(void *ctx, bool openmetrics, struct buf *out);
	void *ctx;
};

/* -EINVAL with a sentence for what is no loopback address. */
int agent_http_new(struct loop *loop, const struct agent_http_opts *o, struct agent_http **ret, struct err *err);
void agent_http_free(struct agent_http *h); /* NULL is fine; removes the socket's file */

/* Is it an address that can be served? A sentence if not. */
bool agent_http_address(const char *address, struct err *err);

#endif
