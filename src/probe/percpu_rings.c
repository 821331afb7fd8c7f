// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/percpu_rings.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdint.h>

#include "base/err.h"
#include "probe/async_map_update.h"
#include "probe/load_error.h"
#include "ring/ring.h"

#define STASH_TIMES 8	/* size of a life-cycle ring's stash, in sizes of the ring */

/* The kernel takes the type of the inner maps from @ring_fd. */
static int make_array(const struct percpu_rings_opts *o, int ring_fd, int *ret, struct err *err)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .inner_map_fd = (uint32_t)ring_fd);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, o->name, sizeof(uint32_t), sizeof(uint32_t),
				o->n_cpus, &opts);

	if (fd < 0)
		return load_error_of_maps(err, -errno, "create the array of rings");
	*ret = fd;
	return 0;
}

int percpu_rings_make(const struct percpu_rings_opts *o, struct ring_reader *reader,
		      struct async_map_update *puts, int *fds, int *ret_array, struct err *err)
{
	for (uint32_t cpu = 0; cpu < o->n_cpus; cpu++) {
		const struct ring_opts ro = { .kind = RING_BPF, .cpu = cpu, .lifecycle = o->life, .time_off = 0,
					      .stash_bytes = o->life ? STASH_TIMES * o->ring_bytes : 0 };
		int r;

		fds[cpu] = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "sonde_ring", 0, 0, (uint32_t)o->ring_bytes, NULL);
		if (fds[cpu] < 0)
			return load_error_of_maps(err, -errno, "create a ring buffer");
		r = cpu ? 0 : make_array(o, fds[cpu], ret_array, err);
		if (r < 0)
			return r;
		if (async_map_update_add(puts, &(struct async_map_update_put){ *ret_array, cpu, fds[cpu] }) < 0)
			return err_errno(err, -ENOMEM, "cannot add the ring of CPU %u to its array", cpu);
		r = ring_reader_add_bpf(reader, fds[cpu], &ro, err);
		if (r < 0)
			return r;
	}
	return 0;
}
