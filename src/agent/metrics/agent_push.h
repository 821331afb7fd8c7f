/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sends the metrics of the host to a server of OTLP/HTTP, through a process without rights. */
#ifndef AGENT_AGENT_PUSH_H
#define AGENT_AGENT_PUSH_H

#include <stdint.h>

#include "http_client/http_client.h"

struct agent_push;
struct loop;
struct metrics;
struct otlp_host;

/* @url: of the server; it and @loop are borrowed. Call it before the second thread starts. */
int agent_push_open(const char *url, struct loop *loop, struct agent_push **ret, struct err *err);
/* Every ten seconds all series, cumulative; call it about once a second. NULL is fine. */
void agent_push_tick(struct agent_push *p, const struct metrics *m, const struct otlp_host *host, uint64_t now_ns);
/* Sends all series once more, waits up to five seconds and frees @p. NULL is fine. */
void agent_push_close(struct agent_push *p, const struct metrics *m, const struct otlp_host *host);
void agent_push_stats(const struct agent_push *p, struct http_client_stats *ret);	/* in data points */

#endif
