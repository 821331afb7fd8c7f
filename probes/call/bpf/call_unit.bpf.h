/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Between the compile units of this object. Hidden functions are subprograms: the verifier follows each call.
 */
#ifndef CALL_UNIT_BPF_H
#define CALL_UNIT_BPF_H

#include "bpf/kernel.h"
#include "probes/call/call_wire.h"

#include <bpf/bpf_helpers.h>

#define CALL_GUESS_BYTES 16

struct call_guess {
	__u8 b[CALL_GUESS_BYTES];	/* zeros behind the bytes of the operation */
	__u32 size;			/* bytes of the operation */
	__u32 dir;
};

/* CALL_GUESS_* of the first bytes of an operation. */
int call_guess_protocol(const struct call_guess *g, bool dns_port) __hidden;

/*
 * The same as a global function: the verifier reads it once, not at each call. Not while preemption is disabled:
 * 6.12 refuses that. @g is not NULL, which the verifier cannot know.
 */
int call_guess_socket(const struct call_guess *g, bool dns_port);

/*
 * Requests need no answers, so that a turn has no end: each operation counts as one. As in the parsers' struct
 * call_protocol.
 */
static __always_inline bool call_guess_is_unanswered(__u32 guess)
{
	return guess == CALL_GUESS_MEMCACHED || guess == CALL_GUESS_NATS || guess == CALL_GUESS_AMQP;
}

/* The last message of an answer says whether it failed. */
static __always_inline bool call_guess_is_late(__u32 guess)
{
	return guess == CALL_GUESS_POSTGRESQL || guess == CALL_GUESS_MYSQL;
}

struct call_iovec {
	__u64 base, len;
};

/* The user's buffers: one, or an array of them. */
struct call_user_bytes {
	__u64 base;	/* 0 = unknown */
	__u64 n_iov;	/* 0 = base is the buffer itself */
};

/*
 * Finds the buffers of the running system call. @nth: operations of this socket before this one. sendmmsg sends its
 * messages one after the other; of recvmmsg it is unknown how many the call has received already.
 */
int call_user_find(struct call_user_bytes *b, const struct pt_regs *regs, __u32 nth) __hidden;

/* Copies the first @most bytes (at most CALL_HEAD_MAX) to @to, which has twice that room. Returns how many. */
int call_user_copy(const struct call_user_bytes *b, __u8 *to, __u32 most) __hidden;

/*
 * Is the first command of Redis in these @size bytes shorter than they are? Others follow it then, at once. False if
 * its length is unknown.
 */
bool call_user_pipelines(const void *from, __u32 size) __hidden;

/*
 * Do these @size bytes of HTTP/1 end with a head? Requests without bodies that follow each other at once do; a body
 * in chunks does not.
 */
bool call_user_ends_head(const void *from, __u32 size) __hidden;

struct call_frames;
struct call_heads;
struct call_room;

/*
 * Sends an operation on a connection of HTTP/2 as records that keep all of its frames but the content of DATA. The
 * room holds the record's fixed part and of the walk offset, size, dir and class. @turn: the first operation of its
 * turn. False: the place of its frames is unknown, nothing was sent.
 */
int call_frames_send(struct call_room *room, struct call_frames *f, const struct call_user_bytes *b,
		     bool turn) __hidden;

/*
 * The same of HTTP/1: heads, sizes of chunks and short content are kept. This one and the next are global functions,
 * which the verifier reads once: the object loads in half the time. Not while preemption is disabled, so of sockets
 * only.
 */
int call_heads_send(struct call_room *room, struct call_heads *h, const struct call_user_bytes *b, bool turn);

/*
 * The first @kept bytes of an operation of @size are in the room. Does the request of HTTP/1 with which it begins
 * have content that ends before the operation, or that may hide the next request?
 */
bool call_heads_may_follow(struct call_room *room, __u32 kept, __u32 size);

/* ---- of a walk (call_walk.bpf.h) ---- */

/* Sends what was passed since the last record: the kept bytes, then a hole. */
int call_walk_record(struct call_room *room) __hidden;

/* Keeps up to @n of the next bytes. Returns how many, 0 if they cannot be read. */
int call_walk_keep(struct call_room *room, __u32 n) __hidden;

/* As call_user_copy(), of an array of any number of buffers (6.3). */
__u32 call_walk_gather(const struct call_user_bytes *b, __u8 *to, __u32 most) __hidden;

/* ---- requests that follow each other in the first @kept bytes, which are in the room: global as above ---- */

/* Are there two requests of HTTP/1 in them? The second one follows the first head: bodies are not looked behind. */
bool call_pipeline_heads(struct call_room *room, __u32 kept);

/*
 * Does another message follow the first one in an operation of @size bytes? @guess: of a protocol whose messages have
 * lengths or lines. False if the first one's length is unknown.
 */
bool call_pipeline_messages(__u32 guess, struct call_room *room, __u32 kept, __u32 size);

#endif
