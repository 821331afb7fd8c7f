/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The agent's metrics, and the figures that the verb status shares with them. */
#ifndef AGENT_AGENT_METRICS_H
#define AGENT_AGENT_METRICS_H

#include <stdbool.h>
#include <stdint.h>

struct agent;
struct buf;
struct sonde_ledger;

uint64_t agent_metrics_lost(const struct sonde_ledger *l); /* sum over all causes */
uint64_t agent_metrics_memory_bytes(void);		   /* resident */
/* All metrics in OpenMetrics or Prometheus text format; buf_error(@out) without memory. */
void agent_metrics_write(const struct agent *a, bool openmetrics, struct buf *out);

#endif
