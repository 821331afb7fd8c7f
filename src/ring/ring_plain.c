// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Mapping a plain ring (bpf/plain.bpf.h): records look as in a BPF ring buffer, so from there on it is one. Behind
 * the slack as much memory follows as the data have: a length that cannot be runs into zeros, not out of the mapping.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "ring/ring_impl.h"
#include "sonde/plain_wire.h"

DEFINE_CLEANUP(struct ring *, ring_free)

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
	madvise(p, all, MADV_DONTFORK);	/* a fork would copy its page tables */
	head = p;
	m.cons_pos = (uint64_t *)&head->cons;
	m.prod_pos = (uint64_t *)&head->prod;
	m.data = (uint8_t *)p + SONDE_PLAIN_HEAD;
	return ring_set_memory(r, &m);
}

int ring_reader_add_plain(struct ring_reader *rr, int map_fd, size_t off, size_t data_bytes,
			  const struct ring_opts *o, struct err *err)
{
	_cleanup_(ring_freep) struct ring *r = ring_new(o);
	int ret;

	if (!r)
		return err_errno(err, -ENOMEM, "cannot read a plain ring");
	if (o->kind != RING_BPF || data_bytes < SONDE_PLAIN_MOST)
		return err_set(err, -EINVAL, "a plain ring of %zu bytes is too small", data_bytes);
	ret = map_memory(r, map_fd, off, data_bytes);
	if (ret < 0)
		return err_errno(err, ret, "cannot map a plain ring of %zu bytes", data_bytes);
	ret = ring_reader_adopt(rr, r, -1);
	if (ret < 0)
		return err_errno(err, ret, "cannot read a plain ring");
	TAKE_PTR(r);
	ring_reader_end_at_now(rr);
	return ret;
}
