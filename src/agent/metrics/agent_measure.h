/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Metrics of the host for /metrics: runs the probes of the configured families (tables/metrics.def) and adds their
 * events up.
 */
#ifndef AGENT_AGENT_MEASURE_H
#define AGENT_AGENT_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "loop/coop.h"
#include "sonde/wire.h"

struct agent_conf;
struct buf;
struct err;
struct event;
struct loop;

struct agent_measure {
	struct agent_insts *insts;	/* borrowed */
	struct metrics *metrics;	/* owned; NULL = no families */
	struct agent_push *push;	/* owned; NULL = none */
	uint64_t interval_ns;		/* between reports of sums */
	uint32_t families, up;		/* masks: configured ones, those whose probes run */
	uint32_t of[SONDE_INSTANCES];	/* mask of the families that an instance feeds */
	uint32_t starting;		/* families whose probe is being started: it has no instance yet */
	uint64_t lost;			/* events without memory for them */
	uint64_t expired_ns;		/* when idle series were last dropped */
	struct coop_job job;		/* starts the probes */
};

/* `insts` is set; @loop is borrowed. -EINVAL: an unknown family. Call it before the second thread starts. */
int agent_measure_open(struct agent_measure *a, struct loop *loop, const struct agent_conf *conf,
		       struct err *err);
/* Starts the probes on the second thread: the agent has its final rights. */
void agent_measure_start(struct agent_measure *a);
void agent_measure_close(struct agent_measure *a);

/* Are events of @instance needed? */
bool agent_measure_wants(const struct agent_measure *a, uint16_t instance);
void agent_measure_event(struct agent_measure *a, const struct event *ev);
void agent_measure_tick(struct agent_measure *a, uint64_t now_ns);
/* Appends the families; nothing without them. */
void agent_measure_write(const struct agent_measure *a, bool openmetrics, struct buf *out);

/* Age of records when they are read, in ns: one record per batch is measured. */
struct agent_lag {
	uint64_t now, last; /* maximum of this second and of the previous one */
	bool due;	    /* measure the next record */
};

void agent_measure_lag(struct agent_lag *l, const struct sonde_rec *r);
uint64_t agent_measure_lag_ns(const struct agent_lag *l);

#endif
