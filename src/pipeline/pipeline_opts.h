/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parameters of a pipeline: probes, limits, callbacks for its records.
 */
#ifndef PIPELINE_PIPELINE_OPTS_H
#define PIPELINE_PIPELINE_OPTS_H

#include <stdbool.h>
#include <stdint.h>

struct event;
struct sonde_rec;

/* A live probe and its configuration (the struct its options fill); both outlive the pipeline. */
struct pipeline_probe {
	const struct probe_ops *ops;
	const void *conf;
};

/*
 * Callbacks for a caller that forwards records (the agent): each record, after those that control() inserted before
 * it.
 */
struct pipeline_tap {
	/* Are events of @r needed? If not, @r is decoded only if it is state. */
	bool (*wants_events)(void *ctx, const struct sonde_rec *r);
	/* An event of the current record, as the state engine completes it. */
	void (*event)(void *ctx, const struct event *ev);
	/* The record, after its events. @error: 0, or why decoding failed. */
	void (*record)(void *ctx, const struct sonde_rec *r, int error);
	void (*flush)(void *ctx);	/* end of a batch of records */
	void (*tick)(void *ctx, uint64_t now_ns);
	/* A hook of these instances (struct failed_hook) does not work. */
	void (*failed)(void *ctx, uint64_t of, const char *hook, const char *why);
	void *ctx;
};

struct pipeline_limits {
	uint64_t latency_ns;		/* longest delay between a record and its output; 0 = 50 ms */
	uint64_t max_events;		/* stop after this number of shown events; 0 = no limit */
	uint64_t duration_ns;		/* stop after this time; 0 = no limit; live only */
	void (*ending)(void *ctx);	/* the source has ended, outputs are not closed yet; may be NULL */
	void *ending_ctx;
};

#endif
