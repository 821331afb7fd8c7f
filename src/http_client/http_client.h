/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Client for HTTP servers as OTLP/HTTP defines it (https://opentelemetry.io/docs/specs/otlp/): one POST per message,
 * retried after 429, 502, 503, 504 and lost connections, honouring Retry-After. A child process without rights
 * resolves names and talks to the server, and is started again when it ends; this module is the bounded queue in
 * front of it. No call blocks unless @wait is set, and each item is either delivered or counted as lost.
 */
#ifndef HTTP_CLIENT_HTTP_CLIENT_H
#define HTTP_CLIENT_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http_client/http_message.h"

struct err;
struct http_client;

struct http_client_opts {
	const char *url;	/* http:// or https://; an empty path (or "/") becomes @path */
	const char *path;
	const char *type;	/* Content-Type */
	const char *things;	/* noun for the items in messages to the user: "spans" */
	bool wait;		/* http_client_put() waits for room in the queue and loses nothing: for replays */
	struct loop *loop;	/* calls http_client_pump() when there is room again; borrowed; may be NULL */
	uint64_t queue_bytes;	/* 0 = 8 MiB */
	uint64_t patience_ns;	/* retry time of one message; 0 = 60 s */
	uint64_t close_ns;	/* longest wait of http_client_close(); 0 = 5 s */
	/* Another protocol than OTLP/HTTP, with a connection per request; NULL = none. The next three are for it. */
	http_client_deliver_fn deliver;
	const char *const *headers; /* "NAME: VALUE", up to NULL; may be NULL */
	uint64_t answer_ms;	    /* longest time of a request */
	const void *deliver_ctx;    /* in the process: http_client_child.ctx */
	/* Called once per message, in the order of http_client_put(); NULL = not. It may call no function of this
	 * file. */
	void (*answered)(void *ctx, enum http_client_outcome outcome, const char *why);
	void *answered_ctx;
	/* Gets a sentence for the user after the first end of the process; NULL = not. It may call no function of
	 * this file. */
	void (*news)(void *ctx, const char *sentence);
	void *news_ctx;
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

/* Waits up to @timeout_ns until the process has accepted or answered something; then call http_client_pump(). */
void http_client_wait(struct http_client *p, uint64_t timeout_ns);

void http_client_stats(const struct http_client *p, struct http_client_stats *ret);

/* Waits up to close_ns for the remaining items and frees @p. 0, or -EIO with a message if items were lost. */
int http_client_close(struct http_client *p, struct http_client_stats *ret, struct err *err);
void http_client_free(struct http_client *p); /* frees it without waiting; NULL is fine */

#endif
