/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The client's side of the agent's protocol, over a unix socket.
 */
#ifndef BUS_CLIENT_H
#define BUS_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/proto.h"

struct buf;
struct client;
struct err;

/*
 * Connects and exchanges greetings; waits at most some seconds. -ENOENT and -ECONNREFUSED: there is no agent,
 * -EACCES: not permitted (@err says who is).
 */
int client_connect(const char *path, const char *name, struct client **ret, struct err *err);
void client_close(struct client *c);	/* NULL is fine */

const struct proto_welcome *client_welcome(const struct client *c);
int client_fd(const struct client *c);

/*
 * @words: NUL-terminated strings behind each other, doc/protocol.md. Waits until the agent is ready; -EINTR when
 * SIGINT, SIGTERM or SIGHUP is pending, which the caller has blocked.
 */
int client_subscribe(struct client *c, const struct buf *words, struct err *err);

/* Frames that are there, at most about @budget; never waits. How many, or -EPIPE at the end, or -errno. */
typedef int (*client_fn)(void *ctx, const struct proto_frame *f);
int client_read(struct client *c, unsigned budget, client_fn fn, void *ctx);
/* Until there is something to read: 0 = nothing came, 1. */
int client_wait(struct client *c, int timeout_ms);

/* Asks for the end of the stream: PROTO_END comes as its last frame. */
int client_stop(struct client *c);

/* A verb with its arguments; the answer's text in @reply. Not while a stream runs. 0 or -errno with a sentence. */
/* @fd: a descriptor for the agent (borrowed), -1 = none. */
int client_call(struct client *c, const struct buf *words, int fd, struct buf *reply, struct err *err);

/* The sentence for what client_read() returned: the agent's own reason when it gave one. Returns @code. */
int client_failure(const struct client *c, int code, struct err *err);

#endif
