/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The agent's side of one connection, as a state machine over bytes without sockets.
 *
 *   NEW --hello--> OPEN --subscribe--> STREAM --stop--> ENDING --session_ended()--> OPEN
 *
 * Calls are accepted in every state but NEW. A frame that is invalid, too long or not allowed in the state ends the
 * connection with an error message.
 */
#ifndef IPC_SESSION_H
#define IPC_SESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "ipc/proto.h"

struct err;

/* Return value of subscribe(), stop() and call(): session_answer() will follow; later frames of the client wait. */
#define SESSION_LATER 1

enum session_state { SESSION_NEW, SESSION_OPEN, SESSION_STREAM, SESSION_ENDING, SESSION_DEAD, SESSION__MAX };

struct session_ops {
	/* Sends whole, aligned frames to the client. 0 or -errno, which ends the session. */
	int (*send)(void *ctx, const struct buf *frames);
	void (*welcome)(void *ctx, struct proto_welcome *ret, const char **ret_release);
	/*
	 * Subscription with the strings of @f. -errno with a message. The arguments of these three callbacks are
	 * valid until they return.
	 */
	int (*subscribe)(void *ctx, const struct proto_frame *f, struct err *err);
	/* Ends the stream; session_ended() follows. */
	int (*stop)(void *ctx);
	/* Appends the reply's text to @out. 0 or -errno with a message. */
	int (*call)(void *ctx, const char *verb, const struct proto_frame *f, const char *verb_at, struct buf *out,
		    struct err *err);
};

struct session *session_new(const struct session_ops *ops, void *ctx);
void session_free(struct session *s);	/* NULL is fine */

/* Takes bytes from the client, split anywhere. 0, or -errno: send the queued frames, then close. */
int session_feed(struct session *s, const void *data, size_t len);
/*
 * After SESSION_LATER: the result of the request, with @err on failure and the text of a reply. 0, or -errno as for
 * session_feed().
 */
int session_answer(struct session *s, int result, const struct err *err, struct buf *text);
bool session_waits(const struct session *s);		/* until session_answer() */
int session_ended(struct session *s);	/* the last frame of the stream is queued */
enum session_state session_state(const struct session *s);
const char *session_client(const struct session *s);	/* name from its greeting, escaped; "" before */
size_t session_held(const struct session *s);		/* bytes of an incomplete frame */

#endif
