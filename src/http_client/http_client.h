/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Client for HTTP servers as OTLP/HTTP defines it (https://opentelemetry.io/docs/specs/otlp/): one POST per message,
 * retried after 429, 502, 503, 504 and lost connections, honouring Retry-After. A child process without rights
 * resolves names and talks to the server; this module is the bounded queue in front of it. No call blocks unless
 * @wait is set, and each item is either delivered or counted as lost.
 */
#ifndef HTTP_CLIENT_HTTP_CLIENT_H
#define HTTP_CLIENT_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct http_client;

struct http_client_opts {
	const char *url;	/* http:// or https://; an empty path (or "/") becomes @path */
	const char *path;
	const char *type;	/* Content-Type */
	const char *things;	/* noun for the items in messages to the user: "spans" */
	bool wait;		/* http_client_put() waits for room in the queue and loses nothing: for replays */
	uint64_t queue_bytes;	/* 0 = 8 MiB */
	uint64_t patience_ns;	/* retry time of one message; 0 = 60 s */
	uint64_t close_ns;	/* longest wait of http_client_close(); 0 = 5 s */
};

/* In items, not messages: items = delivered + lost_* + items in flight. */
struct http_client_stats {
	uint64_t items, delivered;
	uint64_t lost_queue;	/* queue full, or no memory */
	uint64_t lost_refused;	/* refused by the server */
	uint64_t lost_unreached; /* retry time over, or end of the run */
	uint64_t posts, retries; /* requests, and how many of them were retries */
};

/* Is @path, the part after "-o NAME:", a URL for this module? */
bool http_client_is_url(const char *path);

/* Starts the process. -EINVAL: not a URL. -ENOSYS: libcurl is missing. The caller must be single-threaded. */
int http_client_open(const struct http_client_opts *o, struct http_client **ret, struct err *err);

/* Queues a copy of one message of @n items. Items without room are counted as lost. */
void http_client_put(struct http_client *p, const void *data, size_t len, size_t n);

/* Sends and receives what is possible without waiting. Call it regularly. */
void http_client_pump(struct http_client *p);

void http_client_stats(const struct http_client *p, struct http_client_stats *ret);

/* Waits up to close_ns for the remaining items and frees @p. 0, or -EIO with a message if items were lost. */
int http_client_close(struct http_client *p, struct http_client_stats *ret, struct err *err);
void http_client_free(struct http_client *p); /* frees it without waiting; NULL is fine */

#endif
