/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Histogram of times: 16 steps an octave, so a percentile is right within 3.2 %. Only the steps between the smallest
 * and the largest value take memory.
 */
#ifndef VIEW_VIEW_HIST_H
#define VIEW_VIEW_HIST_H

#include <stddef.h>
#include <stdint.h>

struct view_hist {	/* zeroed: empty */
	uint64_t *counts;	/* owned */
	uint16_t first, n;	/* step of counts[0], number of steps */
	uint64_t total, max;
};

int view_hist_add(struct view_hist *h, uint64_t value);	/* 0 or -ENOMEM */
/*
 * Adds the counts of @n wider steps, four an octave (the first four values are exact); @max: largest of their values.
 * Percentiles are then right within 12.5 %.
 */
int view_hist_add_steps(struct view_hist *h, const uint64_t *counts, size_t n, uint64_t max);
int view_hist_merge(struct view_hist *to, const struct view_hist *from);
/* The value at @part of a thousand: the middle of its step, at most the largest value; 0 if empty. */
uint64_t view_hist_percentile(const struct view_hist *h, unsigned part);
void view_hist_clear(struct view_hist *h);	/* keeps the memory */
void view_hist_fini(struct view_hist *h);

#endif
