// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A stash is memory behind a ring buffer that must not lose records. Committed records move into it before each batch
 * and, during a long batch, between records; the merge reads them there. So records wait for those of other rings
 * without filling the kernel's ring.
 *
 * Copies are byte for byte. A busy header after the last record stands for a record that is not committed yet, or for
 * a full stash: the merge waits for either as it does on the ring itself.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ring/one_ring.h"

struct ring_stash {
	const uint8_t *data;		/* the kernel ring's, like the three below */
	uint64_t mask;
	uint64_t *cons_pos;
	const uint64_t *prod_pos;
	uint64_t pos;			/* in the kernel ring: end of the records taken */
	uint8_t *room;			/* the stash's data, mapped twice in a row */
	uint64_t size;
	uint64_t prod, cons;		/* in the stash: the positions that struct ring uses */
	uint64_t tail;			/* in the stash: position of the next copy; at most `prod` */
};

void ring_stash_free(struct ring_stash *s)
{
	if (!s)
		return;
	if (s->room)
		munmap(s->room, 2 * s->size);
	free(s);
}
DEFINE_CLEANUP(struct ring_stash *, ring_stash_free)

/* Maps the same pages twice in a row, so that every record is contiguous. Pages are allocated on first write. */
static int map_room(struct ring_stash *s)
{
	const int prot = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_FIXED;
	_cleanup_close_ int fd = memfd_create("sonde-stash", MFD_CLOEXEC);
	uint8_t *p;

	if (fd < 0 || ftruncate(fd, (off_t)s->size) < 0)
		return -errno;
	p = mmap(NULL, 2 * s->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return -errno;
	s->room = p;
	if (mmap(p, s->size, prot, flags, fd, 0) == MAP_FAILED ||
	    mmap(p + s->size, s->size, prot, flags, fd, 0) == MAP_FAILED)
		return -errno;
	madvise(p, 2 * s->size, MADV_DONTFORK);
	return 0;
}

int ring_stash_new(const struct ring *r, size_t bytes, struct ring_stash **ret, struct ring_mem *ret_mem)
{
	_cleanup_(ring_stash_freep) struct ring_stash *s = calloc(1, sizeof(*s));
	int code;

	if (!s)
		return -ENOMEM;
	if (r->kind != RING_BPF || bytes % (size_t)sysconf(_SC_PAGESIZE) || bytes <= ring_size(r))
		return -EINVAL;
	s->data = r->data;
	s->mask = r->mask;
	s->cons_pos = r->cons_pos;
	s->prod_pos = r->prod_pos;
	s->pos = r->pos;
	s->size = bytes;
	code = map_room(s);
	if (code < 0)
		return code;
	*ret_mem = (struct ring_mem){ .data = s->room, .data_bytes = bytes, .doubled = true,
				      .cons_pos = &s->cons, .prod_pos = &s->prod };
	*ret = TAKE_PTR(s);
	return 0;
}

/* An empty stash restarts at offset 0, whose pages are allocated already. */
static void begin_again(struct ring *r, struct ring_stash *s)
{
	if (r->state == RING_HAVE || r->pos != s->tail)
		return;
	r->pos = r->end = r->done = r->released = 0;
	s->prod = s->cons = s->tail = 0;
}

/*
 * Bytes of committed records from s->pos to @prod that fit into the stash. *ret_held: a record remains that is busy
 * or does not fit.
 */
static uint64_t whole_bytes(const struct ring_stash *s, uint64_t prod, bool *ret_held)
{
	uint64_t room = s->size - (s->tail - s->cons) - RING_ALIGN, n = 0;

	*ret_held = false;
	while (s->pos + n != prod) {
		const void *hdr = s->data + ((s->pos + n) & s->mask);
		uint32_t word = __atomic_load_n((const uint32_t *)hdr, __ATOMIC_ACQUIRE);
		uint32_t len = word & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
		uint64_t step = ROUND_UP((uint64_t)len + BPF_RINGBUF_HDR_SZ, RING_ALIGN);

		if (!(word & BPF_RINGBUF_BUSY_BIT) && step > prod - s->pos - n) {
			/* impossible length: copy the rest, ring_bpf_next() gives up there */
			*ret_held = prod - s->pos > room;
			return *ret_held ? n : prod - s->pos;
		}
		*ret_held = word & BPF_RINGBUF_BUSY_BIT || n + step > room;
		if (*ret_held)
			break;
		n += step;
	}
	return n;
}

/* Copies @n bytes from s->pos to the tail. */
static void move(struct ring_stash *s, uint64_t n)
{
	uint64_t off = s->pos & s->mask, first = MIN(n, s->mask + 1 - off);
	uint8_t *to = s->room + (s->tail & (s->size - 1));

	memcpy(to, s->data + off, first);
	memcpy(to + first, s->data, n - first);
	s->pos += n;
	s->tail += n;
}

void ring_stash_take(struct ring *r)
{
	static const uint32_t busy = BPF_RINGBUF_BUSY_BIT;
	struct ring_stash *s = r->stash;
	uint64_t prod = __atomic_load_n(s->prod_pos, __ATOMIC_ACQUIRE);
	bool held;

	prod -= prod % RING_ALIGN;
	begin_again(r, s);
	if (prod - s->pos > s->mask + 1) {	/* more than the ring holds */
		r->stats.bad++;
		s->pos = prod;
	}
	move(s, whole_bytes(s, prod, &held));
	__atomic_store_n(s->cons_pos, s->pos, __ATOMIC_RELEASE);
	s->prod = s->tail;
	if (!held)
		return;
	memcpy(s->room + (s->tail & (s->size - 1)), &busy, sizeof(busy));
	s->prod += RING_ALIGN;
}

/* A batch that ends with a busy header keeps it: a record that held the merge at its start does so to its end. */
void ring_stash_more(struct ring *r)
{
	if (r->end <= r->stash->tail)
		ring_stash_take(r);
}

uint64_t ring_stash_unread(const struct ring *r)
{
	const struct ring_stash *s = r->stash;

	return __atomic_load_n(s->prod_pos, __ATOMIC_ACQUIRE) - s->pos + s->tail - r->done;
}
