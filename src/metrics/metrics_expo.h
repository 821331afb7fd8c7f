/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exponential histograms as OpenTelemetry defines them (metrics data model, "ExponentialHistogram"): bucket i counts
 * values v in seconds with base^i < v <= base^(i+1), base = 2^(2^-scale). The scale falls as the range of the values
 * grows, so that the buckets suffice.
 */
#ifndef METRICS_METRICS_EXPO_H
#define METRICS_METRICS_EXPO_H

#include <stdint.h>

#define METRICS_EXPO_BUCKETS 160u
#define METRICS_EXPO_SCALE 8	/* of the first value: bounds 0.3 % apart; the finest that Prometheus takes */

struct metrics_expo {
	int32_t scale;
	int32_t offset;		/* index of counts[0] */
	uint32_t n;		/* used buckets */
	uint64_t zero;		/* values of 0 */
	uint64_t counts[METRICS_EXPO_BUCKETS];
};

/* Starts zeroed. Adds @count values of @ns. */
void metrics_expo_add(struct metrics_expo *e, uint64_t ns, uint64_t count);

#endif
