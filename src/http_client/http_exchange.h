/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests to HTTP servers, one at a time over one connection, in a process that worker_opts.network confines. It
 * loads libcurl, so that other processes do not pay for it.
 */
#ifndef HTTP_CLIENT_HTTP_EXCHANGE_H
#define HTTP_CLIENT_HTTP_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_exchange;

#define HTTP_EXCHANGE_WHY 112 /* bytes of a reason, NUL included */

struct http_exchange_opts {
	const char *const *headers; /* "NAME: VALUE", up to NULL; may be NULL */
	uint64_t answer_ms;	    /* longest time of a request */
	/*
	 * A connection per request: libcurl repeats a request by itself if a connection that it used before ends
	 * without an answer, even if the server has acted on it.
	 */
	bool once;
};

/* A part of an answer's body. A negative return ends the request. */
typedef int (*http_exchange_fn)(void *ctx, const void *data, size_t len);

/* 0, or -ENOSYS with the reason: libcurl is missing. */
int http_exchange_new(const struct http_exchange_opts *o, struct http_exchange **ret, char why[HTTP_EXCHANGE_WHY]);
void http_exchange_free(struct http_exchange *x); /* NULL is fine */

/*
 * POST of @len bytes to @url; the body of the answer goes to @fn. The HTTP status, or 0 without a complete answer;
 * @why has the reason.
 */
long http_exchange_post(struct http_exchange *x, const char *url, const void *data, size_t len, http_exchange_fn fn,
			void *ctx, char why[HTTP_EXCHANGE_WHY]);

/* Sends the line @header, "NAME: VALUE", with later requests, in place of that of the last call. 0 or -ENOMEM. */
int http_exchange_header(struct http_exchange *x, const char *header);

/* Nanoseconds that the server's last answer asked to wait; 0 = it did not. */
uint64_t http_exchange_retry_after_ns(struct http_exchange *x);

#endif
