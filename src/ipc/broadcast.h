/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fan-out of bytes. A log is a stream of frames that some subscribers share: each frame is written once, and batches
 * of frames are put into the subscribers' bounded queues as one range of memory, so that what a frame costs does not
 * depend on how many read it. Nothing here blocks or knows descriptors; of a frame it knows what look() says.
 *
 * What does not fit into a queue is counted and told to that subscriber alone, in order, by a frame that the owner
 * makes (lost()).
 */
#ifndef BUS_FAN_H
#define BUS_FAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct broadcast;
struct broadcast_log;
struct broadcast_sub;

#define BROADCAST_ALIGN 8 /* every frame begins at a multiple of it */

enum broadcast_weight {
	BROADCAST_DATA,	  /* may use seven eighths of the queue */
	BROADCAST_STATE,  /* what later frames need to be understood: all of it */
	BROADCAST_ALWAYS, /* bounded by who makes them: queued beyond every limit */
	FAN__MAX,
};

/* What the owner knows of a frame. */
struct broadcast_frame {
	uint32_t len; /* with its padding */
	uint16_t key; /* losses are told by key: an instance */
	bool counts;  /* its loss is told */
	enum broadcast_weight weight;
	uint64_t ts_ns;
};

/* Frames that are missing here, all of one key. */
struct broadcast_lost {
	uint64_t count;
	uint64_t ts_ns; /* of the first of them */
	uint16_t key;
};

struct broadcast_ops {
	void (*look)(const void *frame, struct broadcast_frame *ret);
	/* Writes the frame that tells of a loss to @buf: its length, a multiple of BROADCAST_ALIGN, at most @cap. */
	size_t (*lost)(const struct broadcast_lost *l, void *buf, size_t cap);
	/* A frame that counts was lost to the subscriber @ctx. */
	void (*losing)(void *ctx, uint16_t key);
};

/* offered = sent + lost + queued, in frames; what tells of loss is not among them. */
struct broadcast_stats {
	uint64_t offered, sent, lost, queued;
	uint64_t queued_bytes, sent_bytes;
};

struct broadcast *broadcast_new(const struct broadcast_ops *ops); /* @ops is borrowed */
void broadcast_free(struct broadcast *f);			  /* NULL is fine; after all logs and subscribers */
uint64_t broadcast_bytes(const struct broadcast *f);		  /* memory held by all frames */
void broadcast_sync(struct broadcast *f);			  /* broadcast_log_sync() of every log */

struct broadcast_log *broadcast_log_new(struct broadcast *f);
void broadcast_log_free(struct broadcast_log *l); /* NULL is fine; after its subscribers left */
/*
 * Appends a frame of two parts (either may be empty), zero-padded to BROADCAST_ALIGN; it is in the queues after the
 * next broadcast_log_sync(). 0, or -ENOMEM: lost to all of the log's subscribers, and counted so.
 */
int broadcast_log_write(struct broadcast_log *l, const void *head, size_t head_len, const void *data, size_t len);
void broadcast_log_sync(struct broadcast_log *l);

/* @bytes, @frames: bounds of the queue; 0 frames = no limit but bytes. @ctx is for losing(). */
struct broadcast_sub *broadcast_subscribe(struct broadcast *f, size_t bytes, size_t frames, void *ctx);
void broadcast_unsubscribe(struct broadcast_sub *s); /* NULL is fine */
/* From here on it gets what is written to @l, until it leaves; of one log at a time. */
void broadcast_join(struct broadcast_sub *s, struct broadcast_log *l);
void broadcast_leave(struct broadcast_sub *s); /* fine without a log; what was written is in its queue */

/* Whole frames for this subscriber alone, behind what its log has for it; beyond every limit. 0 or -ENOMEM. */
int broadcast_send(struct broadcast_sub *s, const void *head, size_t head_len, const void *data, size_t len);

/*
 * The front of the queue, at most @cap pieces of one kind. Returns how many; 0 = empty. *ret_still: their memory
 * never changes any more, also after it was given up here: it may be handed on without a copy.
 */
int broadcast_peek(struct broadcast_sub *s, struct iovec *ret, int cap, bool *ret_still);
/* @bytes of what broadcast_peek() gave are gone; any number, also a part of a frame. */
void broadcast_consume(struct broadcast_sub *s, size_t bytes);

/* Leaves its log; everything behind the frame that is half sent is lost, and told so. */
void broadcast_give_up(struct broadcast_sub *s, uint64_t ts_ns);

bool broadcast_empty(const struct broadcast_sub *s);
void broadcast_stats(const struct broadcast_sub *s, struct broadcast_stats *ret);

#endif
