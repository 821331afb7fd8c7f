// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * BPF ring buffers in memory (kernel/bpf/ringbuf.c). Each record has an 8-byte header: a u32 length whose two
 * highest bits say "busy" (reserved, not committed) and "discarded", and a u32 page offset that only the
 * kernel needs; records are aligned to 8 bytes.
 */
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "ring/ring_impl.h"

#define HEADER_BYTES 8
#define BUSY_BIT (1u << 31)
#define DISCARD_BIT (1u << 30)
#define RELEASE_BYTES 65536	/* give space back at least this often within a batch */

static void bpf_begin(struct ring *r, _unused_ struct ring_stats *st)
{
	r->end = __atomic_load_n(r->mem.prod_pos, __ATOMIC_ACQUIRE);
}

/* Headers are aligned, so one is never torn. */
static uint32_t load_header(const struct ring *r)
{
	const char *p = (const char *)r->mem.data + (r->pos & (r->mem.data_bytes - 1));

	return __atomic_load_n((const uint32_t *)(const void *)p, __ATOMIC_ACQUIRE);
}

static uint64_t step(uint32_t len)
{
	return HEADER_BYTES + ROUND_UP((uint64_t)len, 8);
}

static uint64_t read_time(const struct ring *r, const void *data, uint32_t len)
{
	uint64_t t = 0;

	if (r->opts.time_off >= 0 && (uint32_t)r->opts.time_off + sizeof(t) <= len)
		memcpy(&t, (const char *)data + r->opts.time_off, sizeof(t));
	return t;
}

static enum ring_next bpf_next(struct ring *r, struct ring_stats *st)
{
	while (r->pos < r->end) {
		uint32_t header = load_header(r), len = header & ~(BUSY_BIT | DISCARD_BIT);

		if (header & BUSY_BIT)
			return RING_BUSY;
		if (unlikely(len > r->mem.data_bytes || step(len) > r->end - r->pos)) {
			st->bad++;
			r->pos = r->end;
			return RING_EMPTY;
		}
		if (unlikely(header & DISCARD_BIT)) {
			st->discarded++;
			r->pos += step(len);
			continue;
		}
		r->rec.data = r->doubled ? (const char *)r->mem.data + ((r->pos + HEADER_BYTES) & (r->mem.data_bytes - 1)) :
					   ring_piece(r, r->pos + HEADER_BYTES, len);
		if (unlikely(!r->rec.data)) {
			st->bad++;
			r->pos += step(len);
			continue;
		}
		r->rec.len = len;
		r->rec.time_ns = read_time(r, r->rec.data, len);
		return RING_HAVE;
	}
	return RING_EMPTY;
}

static void bpf_release(struct ring *r)
{
	if (r->released == r->pos)
		return;
	r->released = r->pos;
	__atomic_store_n(r->mem.cons_pos, r->pos, __ATOMIC_RELEASE);
}

static void bpf_advance(struct ring *r)
{
	r->pos += step(r->rec.len);
	if (r->pos - r->released >= MIN((uint64_t)RELEASE_BYTES, r->mem.data_bytes / 4))
		bpf_release(r);
}

static uint64_t bpf_unread(const struct ring *r)
{
	return __atomic_load_n(r->mem.prod_pos, __ATOMIC_RELAXED) - r->pos;
}

const struct ring_kind_ops ring_bpf_ops = {
	.begin = bpf_begin, .next = bpf_next, .advance = bpf_advance, .release = bpf_release, .unread = bpf_unread,
};
