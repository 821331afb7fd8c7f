/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rings of one lane (bpf/ring.bpf.h): one per possible CPU, in an array of maps.
 */
#ifndef PROBE_LANE_H
#define PROBE_LANE_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct async_map_update;
struct ring_reader;

struct lane_opts {
	const char *name;	/* of the array */
	size_t ring_bytes;	/* of each; as the kernel wants it: whole pages, a power of two */
	unsigned n_cpus;
	bool life;		/* the life-cycle lane */
};

/*
 * Makes the rings and the array, and adds the rings to @reader. They are in the array once @puts is finished. @fds
 * has room for one per CPU, each -1 on entry; they and *ret_array are the caller's, also on failure. 0 or -errno.
 */
int percpu_rings_make(const struct lane_opts *o, struct ring_reader *reader, struct async_map_update *puts, int *fds,
		      int *ret_array, struct err *err);

#endif
