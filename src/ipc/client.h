/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Client side of the agent's protocol, over a unix socket.
 */
#ifndef IPC_CLIENT_H
#define IPC_CLIENT_H

#include "ipc/proto.h"

struct client;
struct err;

/*
 * Connects and exchanges greetings within a few seconds. -ENOENT and -ECONNREFUSED: no agent runs; -EACCES: not
 * permitted (the message says who is).
 */
int client_connect(const char *path, const char *name, struct client **ret, struct err *err);
/* The same over a connected socket, which is taken over. */
int client_attach(int fd, const char *name, struct client **ret, struct err *err);
void client_close(struct client *c);	/* NULL is fine */

const struct proto_welcome *client_welcome(const struct client *c);
int client_fd(const struct client *c);

/*
 * @words: consecutive NUL-terminated strings, doc/protocol.md. Waits until the agent is ready; -EINTR if SIGINT,
 * SIGTERM or SIGHUP, blocked by the caller, is pending.
 */
int client_subscribe(struct client *c, const struct buf *words, struct err *err);
/* Hooks that the agent reported until then, as in PROTO_HOOK_FAILED; valid until the next subscription. */
struct proto_frame client_failed_hooks(const struct client *c);

/* Passes available frames to @fn, about @budget at most; never waits. Their number, -EPIPE at the end, or -errno. */
typedef int (*client_fn)(void *ctx, const struct proto_frame *f);
int client_read(struct client *c, unsigned budget, client_fn fn, void *ctx);
/* Waits for input: 1 = readable, 0 = timeout. */
int client_wait(struct client *c, int timeout_ms);

/* Requests the end of the stream, whose last frame is PROTO_END. */
int client_stop(struct client *c);

/* Calls a verb with its arguments; *reply gets the text. Not during a stream. 0 or -errno with a message. */
/* Passes @fd (borrowed) to the agent; -1 = none. */
int client_call(struct client *c, const struct buf *words, int fd, struct buf *reply, struct err *err);

/* Message for an error of client_read(): the agent's own reason if it sent one. Returns @code. */
int client_failure(const struct client *c, int code, struct err *err);

#endif
