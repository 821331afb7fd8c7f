/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Protocol between http_client.c, its keeper and the process that talks to the server; all are the same program.
 */
#ifndef HTTP_CLIENT_HTTP_CLIENT_CHILD_H
#define HTTP_CLIENT_HTTP_CLIENT_CHILD_H

#include <stddef.h>
#include <stdint.h>

#include "http_client/http_client.h"
#include "http_client/http_exchange.h"

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

/*
 * Main function of the sender: @sock has the head of each message, whose bytes are at @message, and takes the answer.
 * Returns its exit status when the keeper has closed the socket.
 */
int http_client_child(const struct http_client_child *conf, const char *message, int sock);

/*
 * Items that the server refused in a message it accepted (ExportTraceServiceResponse), and its reason, cut to @size
 * bytes with the NUL, control characters as "?". 0 and "" if @reply is invalid.
 */
uint64_t http_client_reply_rejected(const void *reply, size_t len, char *ret_why, size_t size);

#endif
