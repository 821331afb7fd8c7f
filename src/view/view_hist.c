// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/view_hist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

#define STEPS_OCTAVE 16u

/* The step of @value; the first two octaves are exact. */
static unsigned step_of(uint64_t value)
{
	unsigned octave;

	if (value < STEPS_OCTAVE)
		return (unsigned)value;
	octave = 63 - (unsigned)__builtin_clzll(value);
	return (octave - 3) * STEPS_OCTAVE + (unsigned)(value >> (octave - 4) & (STEPS_OCTAVE - 1));
}

static uint64_t step_start(unsigned step)
{
	if (step < STEPS_OCTAVE)
		return step;
	return (uint64_t)(STEPS_OCTAVE + step % STEPS_OCTAVE) << (step / STEPS_OCTAVE - 1);
}

static uint64_t step_middle(unsigned step)
{
	uint64_t width = step < STEPS_OCTAVE ? 1 : 1ull << (step / STEPS_OCTAVE - 1);

	return step_start(step) + (width - 1) / 2;
}

/* Makes room for steps @from to @to. */
static int cover(struct view_hist *h, unsigned from, unsigned to)
{
	unsigned first = h->n ? MIN((unsigned)h->first, from) : from;
	unsigned end = h->n ? MAX((unsigned)h->first + h->n, to + 1) : to + 1;
	uint64_t *grown;

	if (h->n && first == h->first && end == (unsigned)h->first + h->n)
		return 0;
	grown = calloc(end - first, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	if (h->n)
		memcpy(grown + (h->first - first), h->counts, h->n * sizeof(*grown));
	free(h->counts);
	h->counts = grown;
	h->first = (uint16_t)first;
	h->n = (uint16_t)(end - first);
	return 0;
}

static int add_n(struct view_hist *h, uint64_t value, uint64_t n)
{
	unsigned step = step_of(value);
	int r = cover(h, step, step);

	if (r < 0)
		return r;
	h->counts[step - h->first] += n;
	h->total += n;
	h->max = MAX(h->max, value);
	return 0;
}

int view_hist_add(struct view_hist *h, uint64_t value)
{
	return add_n(h, value, 1);
}

/* Middle of a wider step: from its lower bound to the next one's. */
static uint64_t wide_middle(size_t step)
{
	unsigned octave = (unsigned)(step >> 2) + 1;
	uint64_t start = (uint64_t)(4 + (step & 3)) << (octave - 2);

	return step < 4 ? step : start + ((1ull << (octave - 2)) - 1) / 2;
}

int view_hist_add_steps(struct view_hist *h, const uint64_t *counts, size_t n, uint64_t max)
{
	const uint64_t was = h->max;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < n; i++)
		if (counts[i] && (i >> 2) + 1 < 64)
			r = add_n(h, wide_middle(i), counts[i]);
	h->max = MAX(was, max);
	return r;
}

int view_hist_merge(struct view_hist *to, const struct view_hist *from)
{
	int r = from->n ? cover(to, from->first, from->first + from->n - 1u) : 0;

	if (r < 0)
		return r;
	for (unsigned i = 0; i < from->n; i++)
		to->counts[from->first + i - to->first] += from->counts[i];
	to->total += from->total;
	to->max = MAX(to->max, from->max);
	return 0;
}

uint64_t view_hist_percentile(const struct view_hist *h, unsigned part)
{
	uint64_t rank = (h->total * part + 999) / 1000, seen = 0;

	for (unsigned i = 0; h->total && i < h->n; i++) {
		seen += h->counts[i];
		if (seen >= rank)
			return MIN(step_middle(h->first + i), h->max);
	}
	return 0;
}

void view_hist_clear(struct view_hist *h)
{
	if (h->n)
		memset(h->counts, 0, h->n * sizeof(*h->counts));
	h->total = h->max = 0;
}

void view_hist_fini(struct view_hist *h)
{
	free(h->counts);
	*h = (struct view_hist){ 0 };
}
