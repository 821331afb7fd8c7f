/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Protocol between http_client.c and its child process; both are the same program.
 */
#ifndef HTTP_CLIENT_HTTP_CLIENT_CHILD_H
#define HTTP_CLIENT_HTTP_CLIENT_CHILD_H

#include <stddef.h>
#include <stdint.h>

#define POST_MESSAGE_MAX (64u << 20)	/* bytes */

/* Header of each message to the process. */
struct http_client_head {
	uint32_t len;		/* bytes that follow */
	uint32_t n;		/* items in them */
};

enum http_client_outcome { POST_READY, POST_NO_LIBRARY, POST_DELIVERED, POST_REFUSED, POST_UNREACHED, POST__MAX };

/* Sent once at the start, then for each message. */
struct http_client_answer {
	uint32_t outcome;	/* enum http_client_outcome */
	uint32_t n;		/* items of the message */
	uint32_t rejected;	/* items refused by a server that accepted the rest */
	uint32_t tries;
	char why[112];		/* "" = delivered */
};

struct http_client_child {
	char *url;
	const char *type;
	uint64_t patience_ns;
};

/* Main function of the process: reads messages from @in_fd, answers on @out_fd. Returns its exit status. */
int http_client_child(void *ctx, int in_fd, int out_fd);

/* Items that the server refused in a message it accepted (ExportTraceServiceResponse). 0 if @body is invalid. */
uint64_t http_client_reply_rejected(const void *reply, size_t len);

#endif
