// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Maps an mmap ring (bpf/plain.bpf.h), which is read like a BPF ring buffer: the records have the same layout. Zero
 * pages of the data's size follow the slack, so that an impossible length reads zeros and not beyond the mapping.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "ring/one_ring.h"
#include "sonde/plain_wire.h"

DEFINE_CLEANUP(struct ring *, one_ring_free)

static int map_memory(struct ring *r, int fd, size_t off, size_t data_bytes)
{
	const size_t used = SONDE_PLAIN_HEAD + data_bytes + SONDE_PLAIN_SLACK, all = used + data_bytes;
	struct ring_mem m = { .data_bytes = data_bytes, .doubled = true };
	struct sonde_plain_head *head;
	void *p = mmap(NULL, all, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	r->maps[0].at = p;
	r->maps[0].len = all;
	if (mmap(p, used, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, (off_t)off) == MAP_FAILED)
		return -errno;
	madvise(p, all, MADV_DONTFORK);	/* fork() would copy the page tables */
	head = p;
	m.cons_pos = (uint64_t *)&head->cons;
	m.prod_pos = (uint64_t *)&head->prod;
	m.data = (uint8_t *)p + SONDE_PLAIN_HEAD;
	return one_ring_set_memory(r, &m);
}

int ring_mmap_open(int map_fd, size_t off, size_t data_bytes, const struct ring_opts *o, struct ring **ret,
		   struct err *err)
{
	_cleanup_(one_ring_freep) struct ring *r = one_ring_new(o);
	int code;

	if (!r)
		return err_errno(err, -ENOMEM, "cannot read an mmap ring");
	if (o->kind != RING_BPF || data_bytes < SONDE_PLAIN_MOST)
		return err_set(err, -EINVAL, "an mmap ring of %zu bytes is too small", data_bytes);
	code = map_memory(r, map_fd, off, data_bytes);
	if (code < 0)
		return err_errno(err, code, "cannot map an mmap ring of %zu bytes", data_bytes);
	*ret = TAKE_PTR(r);
	return 0;
}
