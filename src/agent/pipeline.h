/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One assembled flow: source -> records -> decode -> enrich -> bus -> subscribers.
 *
 * The source is either the rings of live probes or a file. The pipeline owns what it assembles, keeps the
 * ledger closed, and runs in one thread on the caller's loop.
 */
#ifndef AGENT_PIPELINE_H
#define AGENT_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/env.h"
#include "sinks/sink.h"

struct err;
struct event;
struct filter;
struct loop;
struct pipeline;

struct pipeline_probe {
	const struct probe_ops *ops;
	const void *conf;
};

struct pipeline_opts {
	struct probe_env_opts env;		/* live only */
	const struct pipeline_probe *probes;	/* besides proc, which every live pipeline loads */
	size_t n_probes;
	const char *read_path;			/* -r FILE; NULL = live */
	uint64_t latency_ns;			/* sleep after a drain; 0 = 50 ms */
	uint64_t max_events, duration_ns;	/* --count, --duration; 0 = no limit */
};

/* Opens everything and, live, attaches: from here on records gather in the rings. */
int pipeline_new(const struct pipeline_opts *o, struct loop *loop, struct pipeline **ret, struct err *err);
void pipeline_free(struct pipeline *p);		/* NULL is fine */

const struct registry *pipeline_registry(const struct pipeline *p);

/* An output; the pipeline owns the sink's file from here on. @filter is borrowed. */
int pipeline_add_sink(struct pipeline *p, const struct sink_ops *ops, const struct sink_opts *opts,
		      const struct filter *filter, const char *path, struct err *err);

/* Runs until the source ends, a limit is reached, pipeline_stop() or a failure. 0 or -errno (@err says). */
int pipeline_run(struct pipeline *p, struct err *err);
void pipeline_stop(struct pipeline *p);

#endif
