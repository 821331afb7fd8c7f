/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Metrics as text: Prometheus' format 0.0.4, or OpenMetrics 1.0 with exemplars
 * (https://github.com/prometheus/OpenMetrics/blob/v1.0.0/specification/OpenMetrics.md).
 */
#ifndef METRICS_METRICS_TEXT_H
#define METRICS_METRICS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct metrics;

/* Appends all series, without the "# EOF" of OpenMetrics. buf_error(@out) without memory. */
void metrics_text(const struct metrics *m, bool openmetrics, struct buf *out);
/*
 * Appends the value of a label between quotes: printable UTF-8, control and invalid bytes as \xNN, then escaped for
 * the format, in which a backslash counts twice.
 */
void metrics_text_escape(struct buf *out, const char *text, size_t len);
/* "# HELP" and "# TYPE" lines. @kind: "counter", "gauge", "histogram"; @name: without _total. */
void metrics_text_head(struct buf *out, const char *name, const char *kind, const char *help, bool openmetrics);

#endif
