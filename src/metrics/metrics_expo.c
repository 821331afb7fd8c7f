// SPDX-License-Identifier: GPL-2.0-or-later
#include "metrics/metrics_expo.h"

#include <math.h>
#include <string.h>

#include "base/macros.h"

static int32_t index_of(int32_t scale, uint64_t ns)
{
	return (int32_t)ceil(ldexp(log2((double)ns / 1e9), scale)) - 1;
}

/* Halves the resolution: each two buckets become one. */
static void coarsen(struct metrics_expo *e)
{
	const int32_t offset = e->offset >> 1;	/* rounds down, below 0 too */
	uint64_t counts[METRICS_EXPO_BUCKETS] = { 0 };
	uint32_t n = 0;

	for (uint32_t i = 0; i < e->n; i++) {
		const uint32_t to = (uint32_t)(((e->offset + (int32_t)i) >> 1) - offset);

		counts[to] += e->counts[i];
		n = to + 1;
	}
	memcpy(e->counts, counts, sizeof(counts));
	e->offset = offset;
	e->n = n;
	e->scale--;
}

/* Makes bucket @index one of those in use; it fits. */
static void cover(struct metrics_expo *e, int32_t index)
{
	const uint32_t more = index < e->offset ? (uint32_t)(e->offset - index) : 0;

	if (!e->n)
		e->offset = index;
	else if (more)
		memmove(e->counts + more, e->counts, e->n * sizeof(e->counts[0]));
	if (e->n && more) {
		memset(e->counts, 0, more * sizeof(e->counts[0]));
		e->offset = index;
		e->n += more;
	}
	e->n = MAX(e->n, (uint32_t)(index - e->offset) + 1);
}

static int fits(const struct metrics_expo *e, int32_t index)
{
	const int64_t first = e->n ? MIN(e->offset, index) : index;
	const int64_t last = e->n ? MAX(e->offset + (int32_t)e->n - 1, index) : index;

	return last - first < (int64_t)METRICS_EXPO_BUCKETS;
}

void metrics_expo_add(struct metrics_expo *e, uint64_t ns, uint64_t count)
{
	int32_t index;

	if (!ns) {
		e->zero += count;
		return;
	}
	if (!e->n)
		e->scale = METRICS_EXPO_SCALE;
	index = index_of(e->scale, ns);
	while (!fits(e, index)) {
		coarsen(e);
		index = index_of(e->scale, ns);
	}
	cover(e, index);
	e->counts[index - e->offset] += count;
}
