/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Protocol between http_client.c, its keeper and the process that talks to the server; all are the same program.
 */
#ifndef HTTP_CLIENT_HTTP_MESSAGE_H
#define HTTP_CLIENT_HTTP_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

struct http_client_child;
struct http_exchange;

enum http_client_outcome {
	POST_READY,
	POST_NO_LIBRARY,
	POST_DELIVERED,
	POST_REFUSED,
	POST_UNREACHED,
	POST_ENDED, /* of no message: the process ended and will be started again */
	POST__MAX
};

#define POST_MESSAGE_MAX (64u << 20)	/* bytes */

/* Header of each message; the sender finds the bytes in memory that it shares with the keeper. */
struct http_client_head {
	uint32_t len;		/* bytes that follow */
	uint32_t n;		/* items in them */
};

/* Sent once at the start, then for each message, and by the keeper when a sender has ended. */
struct http_client_answer {
	uint32_t outcome;	/* enum http_client_outcome */
	uint32_t n;		/* items of the message */
	uint32_t rejected;	/* items refused by a server that accepted the rest */
	uint32_t tries;
	char why[112];		/* "" = delivered */
};

/*
 * Runs in the process, for each message: sends it in requests of its own and sets outcome, rejected, tries and why of
 * the answer.
 */
typedef void (*http_client_deliver_fn)(struct http_exchange *x, const struct http_client_child *conf,
				       const void *data, size_t len, struct http_client_answer *a);

struct http_client_child {
	char *url;
	const char *path; /* of the signal, whatever the URL has; may be NULL */
	const char *type;
	uint64_t patience_ns;
	http_client_deliver_fn deliver; /* NULL = by POST to the URL, as OTLP/HTTP has it */
	const char *const *headers;	/* with deliver: "NAME: VALUE", up to NULL */
	uint64_t answer_ms;		/* with deliver */
	const void *ctx;
};

#endif
