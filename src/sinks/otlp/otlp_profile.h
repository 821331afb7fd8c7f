/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Encodes counted stacks as ProfilesData of OpenTelemetry (opentelemetry/proto/profiles/v1development/profiles.proto
 * 1.11, alpha): two Profiles a process, of samples and of their time. Independent of files and networks.
 */
#ifndef SINKS_OTLP_PROFILE_H
#define SINKS_OTLP_PROFILE_H

#include <stddef.h>

#include "base/buf.h"

struct otlp_calls;
struct profile;
struct stack_key;

/* The attributes of the resource of a process (otlp_resource.h), NULL = unknown. */
typedef const struct buf *(*otlp_profile_resource_fn)(void *ctx, const struct stack_key *key);

/*
 * The message into @out (emptied); *ret_samples is the number of its samples. @calls: spans that samples worked for.
 * 0 or -ENOMEM.
 */
int otlp_profile(const struct profile *p, const struct otlp_calls *calls, otlp_profile_resource_fn resource,
		 void *ctx, struct buf *out, size_t *ret_samples);

#endif
