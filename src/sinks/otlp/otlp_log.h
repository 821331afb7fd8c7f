/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Encodes events as log records of OpenTelemetry (opentelemetry/proto/logs/v1/logs.proto): which events, with which
 * severity and attributes, is in tables/logs.def. At most 100 records a second of each type, and 1,000 at once; the
 * rest is counted. Independent of batches, files and networks.
 */
#ifndef SINKS_OTLP_LOG_H
#define SINKS_OTLP_LOG_H

#include "base/buf.h"

struct err;
struct event;
struct otlp_log;
struct otlp_span_ids;
struct registry;

/* @reg is borrowed for the call; types that it lacks are left out, NULL = all. */
int otlp_log_new(const struct registry *reg, struct otlp_log **ret, struct err *err);
void otlp_log_free(struct otlp_log *l);	/* NULL is fine */

/* The record of @ev into @ret (emptied). 1; 0 if @ev is not a log record, or one above the rate; -ENOMEM. */
int otlp_log_put(struct otlp_log *l, const struct event *ev, struct buf *ret);
/* Adds the span that the record at hand belongs to. */
void otlp_log_add_span(struct buf *record, const struct otlp_span_ids *ids);

/*
 * A record of how many of a type were left out since the last one, into @ret, which belongs to the host. 1, 0 = none
 * (any more), -ENOMEM. @ev: gives the time.
 */
int otlp_log_put_left_out(struct otlp_log *l, const struct event *ev, struct buf *ret);

#endif
