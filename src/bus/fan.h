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

struct fan;
struct fan_log;
struct fan_sub;

#define FAN_ALIGN 8	/* every frame begins at a multiple of it */

enum fan_weight {
	FAN_DATA,	/* may use seven eighths of the queue */
	FAN_STATE,	/* what later frames need to be understood: all of it */
	FAN_ALWAYS,	/* bounded by who makes them: queued beyond every limit */
	FAN__MAX,
};

/* What the owner knows of a frame. */
struct fan_frame {
	uint32_t len;		/* with its padding */
	uint16_t key;		/* losses are told by key: an instance */
	bool counts;		/* its loss is told */
	enum fan_weight weight;
	uint64_t ts_ns;
};

/* Frames that are missing here, all of one key. */
struct fan_lost {
	uint64_t count;
	uint64_t ts_ns;		/* of the first of them */
	uint16_t key;
};

struct fan_ops {
	void (*look)(const void *frame, struct fan_frame *ret);
	/* Writes the frame that tells of a loss to @buf: its length, a multiple of FAN_ALIGN, at most @cap. */
	size_t (*lost)(const struct fan_lost *l, void *buf, size_t cap);
	/* A frame that counts was lost to the subscriber @ctx. */
	void (*losing)(void *ctx, uint16_t key);
};

/* offered = sent + lost + queued, in frames; what tells of loss is not among them. */
struct fan_stats {
	uint64_t offered, sent, lost, queued;
	uint64_t queued_bytes, sent_bytes;
};

struct fan *fan_new(const struct fan_ops *ops);	/* @ops is borrowed */
void fan_free(struct fan *f);			/* NULL is fine; after all logs and subscribers */
uint64_t fan_bytes(const struct fan *f);	/* memory held by all frames */
void fan_sync(struct fan *f);			/* fan_log_sync() of every log */

struct fan_log *fan_log_new(struct fan *f);
void fan_log_free(struct fan_log *l);		/* NULL is fine; after its subscribers left */
/*
 * Appends a frame of two parts (either may be empty), zero-padded to FAN_ALIGN; it is in the queues after the next
 * fan_log_sync(). 0, or -ENOMEM: lost to all of the log's subscribers, and counted so.
 */
int fan_log_write(struct fan_log *l, const void *head, size_t head_len, const void *data, size_t len);
void fan_log_sync(struct fan_log *l);

/* @bytes, @frames: bounds of the queue; 0 frames = no limit but bytes. @ctx is for losing(). */
struct fan_sub *fan_subscribe(struct fan *f, size_t bytes, size_t frames, void *ctx);
void fan_unsubscribe(struct fan_sub *s);	/* NULL is fine */
/* From here on it gets what is written to @l, until it leaves; of one log at a time. */
void fan_join(struct fan_sub *s, struct fan_log *l);
void fan_leave(struct fan_sub *s);		/* fine without a log; what was written is in its queue */

/* Whole frames for this subscriber alone, behind what its log has for it; beyond every limit. 0 or -ENOMEM. */
int fan_send(struct fan_sub *s, const void *head, size_t head_len, const void *data, size_t len);

/*
 * The front of the queue, at most @cap pieces of one kind. Returns how many; 0 = empty. *ret_still: their memory
 * never changes any more, also after it was given up here: it may be handed on without a copy.
 */
int fan_peek(struct fan_sub *s, struct iovec *ret, int cap, bool *ret_still);
/* @bytes of what fan_peek() gave are gone; any number, also a part of a frame. */
void fan_consume(struct fan_sub *s, size_t bytes);

/* Leaves its log; everything behind the frame that is half sent is lost, and told so. */
void fan_give_up(struct fan_sub *s, uint64_t ts_ns);

bool fan_empty(const struct fan_sub *s);
void fan_stats(const struct fan_sub *s, struct fan_stats *ret);

#endif
