/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mmap rings (bpf/plain.bpf.h) of all CPUs, in one array map.
 */
#ifndef PROBE_MMAP_RING_H
#define PROBE_MMAP_RING_H

#include <stddef.h>

struct err;
struct ring_reader;

/*
 * Creates the map with @n_cpus rings of up to @data_bytes (a power of two) and adds the rings to @reader.
 * *ret_data_bytes may be less: old kernels limit the size of an array's element. Returns the map's fd, owned by the
 * caller, or -errno; rings added before the failure stay in @reader.
 */
int mmap_ring_make(struct ring_reader *reader, unsigned n_cpus, size_t data_bytes, size_t *ret_data_bytes,
		   struct err *err);

/* Bytes of one ring in the map. */
size_t mmap_ring_element_bytes(size_t data_bytes);

#endif
