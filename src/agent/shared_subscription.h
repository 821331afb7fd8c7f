/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Equal subscriptions share one stream: its records are filtered and encoded once and go to a broadcast log that all
 * of its clients read.
 */
#ifndef AGENT_SHARED_SUBSCRIPTION_H
#define AGENT_SHARED_SUBSCRIPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "sonde/wire.h"

struct agent_request;
struct err;
struct event;

struct shared_subscriptions {
	struct shared_subscription *first;
	struct broadcast *broadcast; /* borrowed, as the others */
	struct agent_insts *insts;
	struct agent_content *content;
};

/* Records of one instance: offered = written to the log + filtered + unwritten. */
struct shared_count {
	uint64_t offered, filtered;
	uint64_t unwritten; /* no memory for the event */
	uint64_t summed;    /* hits reported as a number (SONDE_EV_COUNTED) */
};

/* Finds or creates the subscription of @viewer to the instances of @mask (1u << instance) and takes a reference. */
int shared_subscription_get(struct shared_subscriptions *all, const struct agent_request *q, uint32_t mask,
			    uint32_t viewer, struct shared_subscription **ret, struct err *err);
/* Drops a reference, after the client left the log. NULL is fine. */
void shared_subscription_put(struct shared_subscription *s);
struct broadcast_log *shared_subscription_log(const struct shared_subscription *s);
const struct shared_count *shared_subscription_counts(const struct shared_subscription *s, uint16_t instance);

/* Offers an event, then (after all of its events) the record, to every subscription. */
void shared_subscription_event(struct shared_subscriptions *all, const struct event *ev);
void shared_subscription_record(struct shared_subscriptions *all, const struct sonde_rec *r);

/* Is @r one of the pipeline's own records (names, clock, losses)? */
static inline bool record_is_core(const struct sonde_rec *r)
{
	return r->type >> 8 == 0;
}
/* Does the ledger count @r? It counts neither state nor the pipeline's own records. */
bool shared_subscription_record_counts(const struct sonde_rec *r);
/* Does @r belong to a stream of the instances of @mask? */
bool shared_subscription_record_concerns(const struct sonde_rec *r, uint32_t mask);

#endif
