/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fan-out of bytes: frames are written once into memory that all subscribers share, and each subscriber has a
 * bounded queue of references to them. Nothing here blocks, knows descriptors or looks into a frame.
 *
 * What does not fit into a queue is counted and told to that subscriber alone, in order, by a frame that the
 * subscriber's owner makes (lost()). Frames that were adjacent when written are handed out as one piece, so the
 * cost of a stream that many read is per piece and not per frame.
 */
#ifndef BUS_FAN_H
#define BUS_FAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct fan;
struct fan_chunk;
struct fan_sub;

#define FAN_LOGS 64	/* streams that are written beside each other */
#define FAN_ALIGN 8	/* every frame begins at a multiple of it */

/* A frame as written. Good until the next fan_write() to the same log. */
struct fan_span {
	struct fan_chunk *chunk;
	uint32_t off, len;
};

/* Frames that are missing here, all of one key (the owner's: an instance). */
struct fan_lost {
	uint64_t count;
	uint64_t ts_ns;		/* of the first of them */
	uint16_t key;
};

struct fan_sub_opts {
	size_t queue_bytes, queue_frames;	/* frames: 0 = no limit but bytes */
	/* It takes few of the frames of its logs: they are copied, so that they keep no others alive. */
	bool sparse;
	/* Writes the frame that tells of a loss to @buf: its length, a multiple of FAN_ALIGN, at most @cap. */
	size_t (*lost)(void *ctx, const struct fan_lost *l, void *buf, size_t cap);
	/* Length of the frame at @p with its padding, for a queue that is given up in the middle of one. */
	size_t (*frame_len)(const void *p);
	void *ctx;
};

enum fan_weight {
	FAN_DATA,	/* may use seven eighths of the queue */
	FAN_STATE,	/* what later frames need to be understood: all of it */
	FAN_ALWAYS,	/* answers and snapshots, bounded by who makes them: queued beyond every limit */
	FAN__MAX,
};

/* offered = sent + lost + queued, in frames; what tells of loss is not among them. */
struct fan_stats {
	uint64_t offered, sent, lost, queued;
	uint64_t queued_bytes, sent_bytes;
};

struct fan *fan_new(void);
void fan_free(struct fan *f);		/* NULL is fine; after all subscribers */
uint64_t fan_bytes(const struct fan *f);	/* memory held by all frames */

/* Appends a frame of two parts (either may be empty) to @log, zero-padded to FAN_ALIGN. 0 or -ENOMEM. */
int fan_write(struct fan *f, unsigned log, const void *head, size_t head_len, const void *data, size_t len,
	      struct fan_span *ret);

struct fan_sub *fan_subscribe(struct fan *f, const struct fan_sub_opts *o);
void fan_unsubscribe(struct fan_sub *s);	/* NULL is fine */

/* Queues a frame, or counts it as lost: false then. */
bool fan_offer(struct fan_sub *s, const struct fan_span *span, uint16_t key, uint64_t ts_ns, enum fan_weight weight);

/* The front of the queue, at most @cap pieces. Returns how many; 0 = empty. */
int fan_peek(struct fan_sub *s, struct iovec *ret, int cap);
/* @bytes of what fan_peek() gave are gone; any number, also a part of a frame. */
void fan_consume(struct fan_sub *s, size_t bytes);

/* Everything behind the frame that is half sent is lost, and told so as one loss per key. */
void fan_give_up(struct fan_sub *s, uint64_t ts_ns);

bool fan_empty(const struct fan_sub *s);
void fan_stats(const struct fan_sub *s, struct fan_stats *ret);

#endif
