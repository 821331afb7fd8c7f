/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parameters of a pipeline: probes, limits, callbacks for its records.
 */
#ifndef PIPELINE_PIPELINE_OPTS_H
#define PIPELINE_PIPELINE_OPTS_H

#include <stdbool.h>
#include <stdint.h>

struct cilium_listener;
struct event;
struct opener;
struct sonde_rec;
struct store_query;

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

/* Settings of a pipeline that is not open yet; zero to begin with. */
struct pipeline_settings {
	/* Records of the proc probe (processes, mappings, sockets) for recordings, asked once decoded; NULL = all. */
	bool (*recorded)(void *ctx, const struct sonde_rec *r);
	void *recorded_ctx;
	/* Of the run, for pipeline_open_live(), which delivers records already; pipeline_begin() sets them too. */
	struct pipeline_limits limits;
	struct pipeline_tap tap; /* of the agent, whose probes come and go; all NULL = none */
	/*
	 * Of pipeline_open_file(): events have the names of their functions from the first one on. The file is read
	 * twice, unless it is followed or a pipe.
	 */
	bool names_first;
	bool follows;  /* the file has no end: outputs are also flushed while no record comes */
	bool own_heap; /* probes may change malloc(3)'s settings while they are loaded (base/process/heap.h) */
	const struct store_query *query; /* to a store, by pipeline_open_file(); borrowed; NULL = everything */
	/*
	 * A listener that keeps serving after pipeline_give_up_rights(): the process may accept its clients, and the
	 * opener removes its socket. Borrowed, freed before the pipeline; NULL = none.
	 */
	struct cilium_listener *listener;
	struct opener *opener; /* owned; handed to the next pipeline of a process, which cannot start another */
};

#endif
