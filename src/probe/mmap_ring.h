/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plain rings (bpf/plain.bpf.h) of all CPUs: one array map, made when the first object asks for it.
 */
#ifndef PROBE_PLAIN_H
#define PROBE_PLAIN_H

#include <stddef.h>

struct err;
struct ring_reader;

/*
 * Makes the map with room for @n_cpus rings of up to @data_bytes (a power of two) and adds the rings to @reader.
 * *ret_data_bytes is what the kernel allowed: old ones have a limit for an element of an array. Returns the map's fd,
 * which is the caller's, or -errno; a ring that was added stays then.
 */
int mmap_ring_make(struct ring_reader *reader, unsigned n_cpus, size_t data_bytes, size_t *ret_data_bytes,
		   struct err *err);

/* Bytes of one ring in the map. */
size_t mmap_ring_element_bytes(size_t data_bytes);

#endif
