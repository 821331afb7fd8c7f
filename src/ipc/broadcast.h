/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fan-out of frames to clients of different speed: those of our own protocol and of Cilium's. A log is a stream of
 * frames that several subscribers share: a frame is written once, and a batch of frames enters each subscriber's
 * bounded queue as one range of memory, so that a frame costs the same for one reader and for a hundred. Never
 * blocks and knows no descriptors; look() says all it knows of a frame.
 *
 * A frame that does not fit into a queue is lost to that subscriber alone. It is counted, and reported in its place
 * in the stream by a frame that lost() makes.
 */
#ifndef IPC_BROADCAST_H
#define IPC_BROADCAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum broadcast_weight {
	BROADCAST_DATA,	  /* may fill seven eighths of the queue */
	BROADCAST_STATE,  /* needed to understand later frames: may fill the queue */
	BROADCAST_ALWAYS, /* bounded by its producer: never lost */
	BROADCAST__MAX,
};

struct broadcast_frame {
	uint32_t len; /* bytes, padding included */
	uint16_t key; /* losses are counted per key, e.g. a probe instance */
	bool counts;  /* its loss is reported */
	enum broadcast_weight weight;
	uint64_t ts_ns;
};

/* Frames of one key lost at one position of the stream. */
struct broadcast_lost {
	uint64_t count;
	uint64_t ts_ns; /* of the first one */
	uint16_t key;
};

struct broadcast_ops {
	size_t align; /* of frames, a power of two up to 16; they are zero-padded to it */
	bool stable;  /* memory of log frames never changes: see broadcast_peek(). Costs an mmap() per 64 KiB */
	/* Also of a frame that lost() made. */
	void (*look)(const void *frame, struct broadcast_frame *ret);
	/* Writes the frame that reports a loss: its length, a multiple of @align, at most @cap. */
	size_t (*lost)(const struct broadcast_lost *l, void *buf, size_t cap);
	/* A frame with @counts was lost to the subscriber with @ctx; may be NULL. */
	void (*losing)(void *ctx, uint16_t key);
};

/* In frames: offered = sent + lost + queued. Frames of lost() are not among them. */
struct broadcast_stats {
	uint64_t offered, sent, lost, queued;
	uint64_t queued_bytes, sent_bytes;
};

struct broadcast *broadcast_new(const struct broadcast_ops *ops); /* @ops is borrowed */
void broadcast_free(struct broadcast *b);			  /* after all logs and subscribers; NULL is fine */
uint64_t broadcast_bytes(const struct broadcast *b);		  /* memory of all frames */
void broadcast_sync(struct broadcast *b);			  /* broadcast_log_sync() of every log */

struct broadcast_log *broadcast_log_new(struct broadcast *b);
void broadcast_log_free(struct broadcast_log *l); /* after its subscribers left; NULL is fine */
/*
 * Appends a frame of two parts, each of which may be empty, and pads it. The next broadcast_log_sync() queues it.
 * 0, or -ENOMEM: counted as lost to all subscribers of the log.
 */
int broadcast_log_write(struct broadcast_log *l, const void *head, size_t head_len, const void *data, size_t len);
void broadcast_log_sync(struct broadcast_log *l);

/* @bytes, @frames: bounds of the queue; 0 frames = bytes only. @ctx is for losing(). NULL without memory. */
struct broadcast_sub *broadcast_subscribe(struct broadcast *b, size_t bytes, size_t frames, void *ctx);
void broadcast_unsubscribe(struct broadcast_sub *s); /* NULL is fine */
/* New bounds, for frames from here on. */
void broadcast_set_bounds(struct broadcast_sub *s, size_t bytes, size_t frames);
/* Receives what is written to @l from here on; leaves its previous log. */
void broadcast_join(struct broadcast_sub *s, struct broadcast_log *l);
/* Frames written before are queued. Does nothing without a log. */
void broadcast_leave(struct broadcast_sub *s);

/* Queues whole frames for this subscriber alone, after those of its log and beyond its limits. 0 or -ENOMEM. */
int broadcast_send(struct broadcast_sub *s, const void *head, size_t head_len, const void *data, size_t len);

/*
 * The front of the queue: up to @cap pieces, all stable or none. Returns their number, 0 = empty. Stable memory keeps
 * its content even after broadcast_consume(): it may be handed to the kernel without a copy.
 */
int broadcast_peek(struct broadcast_sub *s, struct iovec *ret, int cap, bool *ret_stable);
/* Drops the first @bytes of the queue, which may end inside a frame. */
void broadcast_consume(struct broadcast_sub *s, size_t bytes);

/* Leaves the log. All frames are lost and reported, except a partly sent one. */
void broadcast_give_up(struct broadcast_sub *s, uint64_t ts_ns);

bool broadcast_empty(const struct broadcast_sub *s);
void broadcast_stats(const struct broadcast_sub *s, struct broadcast_stats *ret);

#endif
