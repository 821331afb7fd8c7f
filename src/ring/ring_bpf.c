// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * BPF ring buffers: mapping (kernel/bpf/ringbuf.c: consumer page read-write at offset 0, then the producer page and
 * the data twice, read-only) and the start of a batch.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "ring/one_ring.h"

DEFINE_CLEANUP(struct ring *, one_ring_free)

int ring_bpf_map_info(int fd, struct bpf_map_info *ret)
{
	union bpf_attr attr = {
		.info = { .bpf_fd = (uint32_t)fd, .info_len = sizeof(*ret), .info = (uintptr_t)ret },
	};

	memset(ret, 0, sizeof(*ret));
	return syscall(__NR_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) < 0 ? -errno : 0;
}

static int map_memory(struct ring *r, int fd, size_t data_bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct ring_mem m = { .data_bytes = data_bytes, .doubled = true };
	void *p;

	p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	r->maps[0].at = m.cons_pos = p;
	r->maps[0].len = page;
	p = mmap(NULL, page + 2 * data_bytes, PROT_READ, MAP_SHARED, fd, (off_t)page);
	if (p == MAP_FAILED)
		return -errno;
	r->maps[1].at = p;
	r->maps[1].len = page + 2 * data_bytes;
	madvise(p, r->maps[1].len, MADV_DONTFORK);	/* fork() would copy the page tables */
	m.prod_pos = p;
	m.data = (uint8_t *)p + page;
	return one_ring_set_memory(r, &m);
}

int ring_bpf_open(int map_fd, const struct ring_opts *o, struct ring **ret, struct err *err)
{
	_cleanup_(one_ring_freep) struct ring *r = one_ring_new(o);
	struct bpf_map_info info;
	int code;

	if (!r)
		return err_errno(err, -ENOMEM, "cannot read a ring buffer");
	code = ring_bpf_map_info(map_fd, &info);
	if (code < 0)
		return err_errno(err, code, "cannot read the size of a ring buffer");
	if (o->kind != RING_BPF || info.type != BPF_MAP_TYPE_RINGBUF)
		return err_set(err, -EINVAL, "map '%s' is not a ring buffer", info.name);
	code = map_memory(r, map_fd, info.max_entries);
	if (code < 0)
		return err_errno(err, code, "cannot map ring buffer '%s' of %u bytes", info.name, info.max_entries);
	code = one_ring_add_stash(r, o);
	if (code < 0)
		return err_errno(err, code, "cannot allocate the stash of ring buffer '%s'", info.name);
	*ret = TAKE_PTR(r);
	return 0;
}

void ring_bpf_begin(struct ring *r)
{
	uint64_t prod;

	if (r->stash)
		ring_stash_take(r);
	prod = __atomic_load_n(r->prod_pos, __ATOMIC_ACQUIRE);
	r->end = prod - prod % RING_ALIGN;
	if (unlikely(r->end - r->pos > ring_size(r))) {
		ring_give_up(r);
		r->state = RING_END;
	}
	if (r->state != RING_HAVE)
		r->state = ring_bpf_next(r);
}
