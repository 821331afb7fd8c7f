/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages to an HTTP server, as OTLP/HTTP wants them sent (https://opentelemetry.io/docs/specs/otlp/): one POST
 * each, tried again after 429, 502, 503, 504 and lost connections, after Retry-After where the server says it.
 *
 * A process of its own without rights resolves names and talks to the server; here is only a bounded queue in front
 * of it. Nobody waits, except where asked to, and each thing that was put in is delivered or counted as lost.
 */
#ifndef POST_POST_H
#define POST_POST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct http_client;

struct http_client_opts {
	const char *url;	/* http:// or https://; without a path (or with "/") it gets @path */
	const char *path;
	const char *type;	/* Content-Type */
	const char *things;	/* what messages hold, for sentences: "spans" */
	bool wait;		/* http_client_put() waits for room in the queue instead of losing: replays */
	uint64_t queue_bytes;	/* 0 = 8 MiB */
	uint64_t patience_ns;	/* how long one message is tried; 0 = 60 s */
	uint64_t close_ns;	/* how long http_client_close() waits for the rest; 0 = 5 s */
};

/* In things, not in messages: items = delivered + lost_* + those that are on their way. */
struct http_client_stats {
	uint64_t items, delivered;
	uint64_t lost_queue;	/* the queue was full, or there was no memory */
	uint64_t lost_refused;	/* the server did not want them */
	uint64_t lost_unreached; /* tried until patience ended, or the run did */
	uint64_t posts, retries; /* requests, and how many of them were not the first for their message */
};

/* Whether @path, as after "-o NAME:", is for this module. */
bool http_client_is_url(const char *path);

/*
 * Starts the process. -EINVAL: the URL is none. -ENOSYS: this build or machine has no libcurl. The caller must be
 * single-threaded.
 */
int http_client_open(const struct http_client_opts *o, struct http_client **ret, struct err *err);

/* One message of @n things, copied. Never fails: what finds no room is counted. */
void http_client_put(struct http_client *p, const void *data, size_t len, size_t n);

/* Moves what can be moved without waiting. Call it now and then. */
void http_client_pump(struct http_client *p);

void http_client_stats(const struct http_client *p, struct http_client_stats *ret);

/* Waits for the rest, at most close_ns; frees @p. 0, or -EIO with a sentence when something was lost. */
int http_client_close(struct http_client *p, struct http_client_stats *ret, struct err *err);
void http_client_free(struct http_client *p); /* at once; NULL is fine */

#endif
