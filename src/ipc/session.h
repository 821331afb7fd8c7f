/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The agent's side of one connection as a state machine over bytes: what may come when, and nothing of sockets.
 *
 *   NEW --hello--> OPEN --subscribe--> STREAM --stop--> ENDING --session_ended()--> OPEN
 *
 * Calls are taken in every state but NEW. What is out of place, too long or no frame ends the connection with an
 * error that says so.
 */
#ifndef BUS_SESSION_H
#define BUS_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/proto.h"

struct buf;
struct err;
struct session;

/* Of subscribe(), stop() and call(): session_answer() follows, and what else comes from the client waits for it. */
#define SESSION_LATER 1

enum session_state { SESSION_NEW, SESSION_OPEN, SESSION_STREAM, SESSION_ENDING, SESSION_DEAD, SESSION__MAX };

struct session_ops {
	/* Frames for the client, whole and aligned. 0 or -errno: the session ends. */
	int (*send)(void *ctx, const struct buf *frames);
	void (*welcome)(void *ctx, struct proto_welcome *ret, const char **ret_release);
	/*
	 * A subscription; its words are those of @f behind the fixed part of 0 bytes. -errno with a sentence. @f and
	 * the other arguments of these three are gone when they return.
	 */
	int (*subscribe)(void *ctx, const struct proto_frame *f, struct err *err);
	/* The stream is to end; session_ended() says when it has. */
	int (*stop)(void *ctx);
	/* Answers into @out (text). 0 or -errno with a sentence in @err. */
	int (*call)(void *ctx, const char *verb, const struct proto_frame *f, const char *verb_at, struct buf *out,
		    struct err *err);
};

struct session *session_new(const struct session_ops *ops, void *ctx);
void session_free(struct session *s);	/* NULL is fine */

/* Bytes from the client, cut anywhere. 0, or a negative errno: send what is queued, then close. */
int session_feed(struct session *s, const void *data, size_t len);
/*
 * After SESSION_LATER: what the call would have returned, with @err for a failure and the text of a reply. 0, or a
 * negative errno as session_feed().
 */
int session_answer(struct session *s, int result, const struct err *err, struct buf *text);
bool session_waits(const struct session *s);		/* for session_answer() */
int session_ended(struct session *s);	/* the stream's last frame is queued */
enum session_state session_state(const struct session *s);
const char *session_client(const struct session *s);	/* the name it gave, escaped; "" before */
size_t session_held(const struct session *s);		/* bytes of a frame that is not whole yet */

#endif
