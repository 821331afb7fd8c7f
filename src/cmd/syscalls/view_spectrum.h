/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Latencies of system calls over time, on standard output: one line a second, like sysdig's spectrogram.
 */
#ifndef CMD_VIEW_SPECTRUM_H
#define CMD_VIEW_SPECTRUM_H

#include <stdbool.h>
#include <stdint.h>

/* Ten buckets a decade, from 1 us to 10 s; the first and last also count latencies beyond the range. */
#define SPECTRUM_STEPS 70

struct view_spectrum {
	bool on, color;
	bool begun;			/* the heading is printed */
	uint64_t steps[SPECTRUM_STEPS];	/* of the current interval */
	uint64_t interval_ns;		/* its start; 0 = no event yet */
};

/* Adds an event; @latency_ns 0 = none. Prints the previous interval once it has ended. */
void view_spectrum_take(struct view_spectrum *s, uint64_t ts_ns, uint64_t latency_ns);
/* Prints the current interval and starts the next one. */
void view_spectrum_line(struct view_spectrum *s);

#endif
