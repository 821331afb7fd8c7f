/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gRPC over cleartext HTTP/2: calls with one request, answered by one message or a stream of them. libnghttp2 does
 * the frames; this does connections, messages, statuses and limits. Compressed messages are refused.
 *
 * A stream is asked for its next message when its client has room for it, so a client that does not read costs no
 * memory; what it misses is the stream's business.
 */
#ifndef HTTP_GRPC_SERVER_H
#define HTTP_GRPC_SERVER_H

#include <stddef.h>

struct buf;
struct err;
struct grpc_server;
struct loop;

#define GRPC_MESSAGE_BYTES (64u << 10)	/* of a request; longer ones are refused */
#define GRPC_STREAMS 100u		/* calls at a time of a connection */
#define GRPC_HEADER_BYTES (16u << 10)	/* of a request, as HTTP/2 counts them */
#define GRPC_CONNECTIONS 64u		/* beyond it the connection idle for the longest time is closed */

enum grpc_status {
	GRPC_OK = 0, GRPC_INVALID_ARGUMENT = 3, GRPC_RESOURCE_EXHAUSTED = 8, GRPC_UNIMPLEMENTED = 12,
	GRPC_INTERNAL = 13, GRPC__MAX,
};

/* Messages of an answer. */
struct grpc_stream {
	/*
	 * Appends the next one: 1; 0 = none now, grpc_server_wake() makes it be asked again; -ENODATA = the answer
	 * is whole; another -errno fails the call.
	 */
	int (*next)(void *ctx, struct buf *out);
	void (*close)(void *ctx);	/* once, at the end of the call */
	void *ctx;
};

struct grpc_server_opts {
	const int *fds;		/* listening sockets; borrowed, as the next */
	size_t n_fds;
	/*
	 * A request for @path ("/package.Service/Method"). GRPC_OK: @ret_stream was filled, or @reply is the only
	 * message. Other statuses: with the sentence of @err.
	 */
	enum grpc_status (*request)(void *ctx, const char *path, const void *message, size_t len,
				    struct grpc_stream *ret_stream, struct buf *reply, struct err *err);
	void *ctx;
};

/* 0 or -errno with a sentence: -ELIBACC without libnghttp2. */
int grpc_server_new(struct loop *loop, const struct grpc_server_opts *o, struct grpc_server **ret, struct err *err);
void grpc_server_free(struct grpc_server *s);	/* NULL is fine */

/* Streams that had no message may have one now: asks and sends. Not within their next(). */
void grpc_server_wake(struct grpc_server *s);

#endif
