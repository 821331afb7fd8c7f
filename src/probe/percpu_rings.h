/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rings of one class (bpf/ring.bpf.h): one per possible CPU, in an array of maps.
 */
#ifndef PROBE_PERCPU_RINGS_H
#define PROBE_PERCPU_RINGS_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct async_map_update;
struct ring_reader;

struct percpu_rings_opts {
	const char *name;	/* of the array */
	size_t ring_bytes;	/* of each ring: whole pages, a power of two */
	unsigned n_cpus;
	bool life;		/* life-cycle rings: with a stash, sampled after the bulk rings (ring/ring.h) */
};

/*
 * Creates the rings and the array, and adds the rings to @reader. The array holds the rings once @puts is finished.
 * @fds has room for one ring per CPU, each -1 on entry. The caller owns @fds and *ret_array, also on failure.
 * 0 or -errno.
 */
int percpu_rings_make(const struct percpu_rings_opts *o, struct ring_reader *reader,
		      struct async_map_update *puts, int *fds, int *ret_array, struct err *err);

#endif
