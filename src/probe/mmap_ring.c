// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/mmap_ring.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "probe/load_error.h"
#include "ring/ring.h"
#include "sonde/plain_wire.h"

#define LEAST_BYTES (64u << 10)

size_t mmap_ring_element_bytes(size_t data_bytes)
{
	return SONDE_PLAIN_HEAD + data_bytes + SONDE_PLAIN_SLACK;
}

static int make_map(unsigned n_cpus, size_t data_bytes)
{
	LIBBPF_OPTS(bpf_map_create_opts, o, .map_flags = BPF_F_MMAPABLE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "sonde_plain", sizeof(uint32_t),
				(uint32_t)mmap_ring_element_bytes(data_bytes), n_cpus, &o);

	return fd < 0 ? -errno : fd;
}

int mmap_ring_make(struct ring_reader *reader, unsigned n_cpus, size_t data_bytes, size_t *ret_data_bytes,
		   struct err *err)
{
	_cleanup_close_ int fd = -1;

	while ((fd = make_map(n_cpus, data_bytes)) == -E2BIG && data_bytes > LEAST_BYTES)
		data_bytes /= 2;
	if (fd < 0)
		return load_error_of_maps(err, fd, "create the mmap rings");
	for (unsigned cpu = 0; cpu < n_cpus; cpu++) {
		const struct ring_opts o = { .kind = RING_BPF, .cpu = cpu, .time_off = 0 };
		int r = ring_reader_add_mmap(reader, fd, cpu * mmap_ring_element_bytes(data_bytes), data_bytes, &o,
					     err);

		if (r < 0)
			return r;
	}
	*ret_data_bytes = data_bytes;
	return TAKE_FD(fd);
}
