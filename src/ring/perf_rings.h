/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Perf event arrays: one PERF_COUNT_SW_BPF_OUTPUT event per possible CPU in a PERF_EVENT_ARRAY map, its ring added to
 * a reader. Offline CPUs are skipped; perf_rings_refresh() adds them once they are online.
 *
 * A slot of the map holds one event: another process that reads a pinned map too loses its slots to this one.
 */
#ifndef RING_PERF_RINGS_H
#define RING_PERF_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct perf_rings;
struct ring_reader;

struct perf_rings_opts {
	size_t ring_bytes;		/* data area per CPU; rounded up to a power of two pages */
	bool overwritable;		/* write_backward; must be paused to be read */
	uint32_t watermark_bytes;	/* wake up when this much is unread; must be below ring_bytes */
	uint32_t wakeup_events;		/* or after this many records; never both (-EINVAL) */
	bool with_time;			/* PERF_SAMPLE_TIME with CLOCK_BOOTTIME, needed for merging */
	unsigned source;		/* struct ring_opts */
};

/* Opens, maps and enables; adds each ring to @rr, which must outlive the result. */
int perf_rings_open(int array_map_fd, const struct perf_rings_opts *o, struct ring_reader *rr,
		    struct perf_rings **ret, struct err *err);
void perf_rings_close(struct perf_rings *p);	/* NULL is fine */
/* PERF_EVENT_IOC_PAUSE_OUTPUT: outputs fail meanwhile, backward rings are readable. Stops at the first failure. */
int perf_rings_pause(struct perf_rings *p, bool paused);
/* Opens rings of CPUs that came online. Returns their number. */
int perf_rings_refresh(struct perf_rings *p, struct err *err);

#endif
