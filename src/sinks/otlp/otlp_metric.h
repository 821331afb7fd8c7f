/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Encodes metrics for OpenTelemetry: ExportMetricsServiceRequest, whose fields equal those of MetricsData
 * (opentelemetry/proto/metrics/v1/metrics.proto). Independent of files and networks.
 */
#ifndef SINKS_OTLP_METRIC_H
#define SINKS_OTLP_METRIC_H

#include <stddef.h>
#include <stdint.h>

struct metrics;
struct otlp_host;

#define OTLP_METRIC_PATH "/v1/metrics"
#define OTLP_METRIC_TYPE "application/x-protobuf"

struct otlp_metric_time {
	uint64_t now_ns;	/* boot time of the values */
	int64_t offset_ns;	/* to wall-clock time */
};

/* One message of @n data points. 0 or -errno, which ends the encoding. */
typedef int (*otlp_metric_fn)(void *ctx, const void *data, size_t len, size_t n);

/*
 * All series, cumulative since their first event, in messages of about 1 MiB at most. Series with the attribute
 * service.name have a resource of that service, others that of the host. @host: otlp_resource.h.
 */
int otlp_metric(const struct metrics *m, const struct otlp_host *host, const struct otlp_metric_time *t,
		otlp_metric_fn fn, void *ctx);

#endif
