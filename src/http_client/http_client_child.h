/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between http_client.c and its process; both are the same program.
 */
#ifndef POST_POST_WIRE_H
#define POST_POST_WIRE_H

#include <stddef.h>
#include <stdint.h>

#define POST_MESSAGE_MAX (64u << 20)	/* bytes */

/* In front of each message to the process. */
struct http_client_head {
	uint32_t len;		/* bytes that follow */
	uint32_t n;		/* things in them */
};

enum http_client_outcome { POST_READY, POST_NO_LIBRARY, POST_DELIVERED, POST_REFUSED, POST_UNREACHED, POST__MAX };

/* One answer at the start, then one for each message. */
struct http_client_answer {
	uint32_t outcome;	/* enum http_client_outcome */
	uint32_t n;		/* things of the message */
	uint32_t rejected;	/* of those, by a server that took the others */
	uint32_t tries;
	char why[112];		/* "" = delivered */
};

struct http_client_child {
	char *url;
	const char *type;
	uint64_t patience_ns;
};

/* The process: reads messages from @in_fd, answers on @out_fd. Its exit status. */
int http_client_child(void *ctx, int in_fd, int out_fd);

/* Things that the server left out of a message that it took: ExportTraceServiceResponse. 0 for any nonsense. */
uint64_t http_client_reply_rejected(const void *reply, size_t len);

#endif
