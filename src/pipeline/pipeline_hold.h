/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records whose identity a later record completes wait for it, at most HOLD_NS of event time: packets of a connection
 * that no process has accepted, events in the middle of an exec, packets whose bytes a program has yet to read. Those
 * of a new container wait HOLD_NAMES_NS for its names, which are read from files beside the stream. Later records
 * queue up behind them, so the order stays. Only the stream decides: a replay holds the same records.
 */
#ifndef PIPELINE_PIPELINE_HOLD_H
#define PIPELINE_PIPELINE_HOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/macros.h"
#include "state/state_range.h"

struct sonde_rec;

#define HOLD_NS (50 * NS_PER_MS)
#define HOLD_NAMES_NS (250 * NS_PER_MS)
#define HOLD_IMAGES 1024
#define HOLD_CONTAINERS 1024

struct pipeline_hold {
	struct buf queue;	/* struct held and its record, 8-byte aligned */
	size_t head;		/* offset of the first one */
	/* Bytes of TCP that the record's process receives; NULL = packets do not wait for calls. */
	bool (*receives)(void *ctx, const struct sonde_rec *r, struct state_range *ret);
	void *ctx;
	unsigned vain;		/* holds in a row that no record completed */
	uint64_t images[HOLD_IMAGES]; /* numbers of images that the engine knows, by their low bits */
	uint64_t containers[HOLD_CONTAINERS]; /* cgroups whose names are looked up, by their low bits */
};

/* A record of the queue. */
struct held {
	uint32_t len;		/* of the record, padding included */
	bool injected;
	bool incomplete;
	bool names;		/* it lacks those of its container */
	struct state_range bytes; /* whose call is still to be known; cookie 0 = none */
	const struct sonde_rec *rec; /* behind this struct; set by pipeline_hold_next() */
};

void pipeline_hold_fini(struct pipeline_hold *h);

/* A name of the stream. True if records that wait need it. */
bool pipeline_hold_learn(struct pipeline_hold *h, const struct sonde_rec *r);

/* Must @r wait, for itself or behind others? */
bool pipeline_hold_needed(struct pipeline_hold *h, struct state *state, const struct sonde_rec *r);

/* Appends a copy. 0 or -ENOMEM. */
int pipeline_hold_add(struct pipeline_hold *h, struct state *state, const struct sonde_rec *r, bool injected);

/* The first record if it is complete, or too old at @now_ns. It leaves the queue; valid until the next add. */
bool pipeline_hold_next(struct pipeline_hold *h, struct state *state, uint64_t now_ns, struct held *ret);

/* Does a record wait that is too old at @now_ns? */
bool pipeline_hold_is_late(const struct pipeline_hold *h, uint64_t now_ns);

static inline bool pipeline_hold_is_empty(const struct pipeline_hold *h)
{
	return h->head == h->queue.len;
}

#endif
