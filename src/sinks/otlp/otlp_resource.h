/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Resources of OpenTelemetry: which process, container and host telemetry is about. The same attributes in traces,
 * metrics, logs and profiles (semantic conventions 1.45); those of OTEL_RESOURCE_ATTRIBUTES follow unless the event
 * has better ones.
 */
#ifndef SINKS_OTLP_RESOURCE_H
#define SINKS_OTLP_RESOURCE_H

#include <stdbool.h>

struct buf;
struct event;
struct otlp_kv;

#define OTLP_RESOURCE_SCHEMA "https://opentelemetry.io/schemas/1.45.0"

/* Field numbers of Resource*, Scope* and InstrumentationScope, equal in all signals. */
enum { OTLP_FIELD_RESOURCE = 1, OTLP_FIELD_SCOPES, OTLP_FIELD_SCHEMA };
enum { OTLP_FIELD_SCOPE = 1, OTLP_FIELD_ITEMS };

/* The observed host. */
struct otlp_host {
	const struct core_host *host;	/* NULL = unknown */
	const struct names *names;	/* with its machine id; NULL = unknown */
};

/* Is the event one of a process? Others belong to the host. */
bool otlp_resource_has_process(const struct event *ev);
/* Attributes of a Resource message into @out: those of the process of @ev. */
void otlp_resource_process(struct otlp_kv *kv, const struct otlp_host *h, const struct event *ev, struct buf *out);
/* Those of the host, whose observer is the service. */
void otlp_resource_host(struct otlp_kv *kv, const struct otlp_host *h, struct buf *out);
/* Those of a service of which only the name is known. */
void otlp_resource_service(struct otlp_kv *kv, const struct otlp_host *h, const char *service, struct buf *out);

/* A whole Resource*: @resource (attributes), and the items of one scope, each with its tag OTLP_FIELD_ITEMS. */
void otlp_resource_put(struct buf *out, const struct buf *resource, const struct buf *items);

#endif
