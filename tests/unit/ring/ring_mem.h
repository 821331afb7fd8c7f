/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rings in plain memory for tests: written as the kernel writes them, and a callback that keeps the delivered
 * records. Include after cmocka.h.
 */
#ifndef TESTS_RING_MEM_H
#define TESTS_RING_MEM_H

#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "ring/ring.h"

/* ---- records that a reader delivered ---- */

struct got { uint64_t time_ns, lost; uint32_t len, cpu; unsigned source; uint8_t first, last; };
struct log {
	struct got recs[4096];
	unsigned n;
	int fail_at;	/* return -ECANCELED from this record on, 0 = never */
};

static inline int collect(void *ctx, const struct ring_rec *rec)
{
	struct log *l = ctx;
	const uint8_t *data = rec->data;

	assert_true(l->n < ARRAY_SIZE(l->recs));
	l->recs[l->n++] = (struct got){
		.time_ns = rec->time_ns, .lost = rec->lost, .len = rec->len, .cpu = rec->cpu, .source = rec->source,
		.first = rec->len ? data[0] : 0, .last = rec->len ? data[rec->len - 1] : 0,
	};
	return l->fail_at && (int)l->n >= l->fail_at ? -ECANCELED : 0;
}

/* ---- a BPF ring buffer in plain memory, written as the kernel writes it ---- */

#define RING_BYTES 1024u

/* doubled: the second half of data repeats the first, as in the kernel's mapping. */
struct bpf_mem {
	uint64_t cons, prod;
	bool doubled;
	size_t stash;		/* bytes of memory behind it, 0 = none */
	uint8_t data[2 * RING_BYTES] __attribute__((aligned(8)));
};

static inline void put_bytes(uint8_t *ring, size_t size, uint64_t pos, const void *src, size_t len)
{
	for (size_t i = 0; i < len; i++)
		ring[(pos + i) % size] = ((const uint8_t *)src)[i];
}

/* Reserves @len bytes; returns the position of the record, or UINT64_MAX if the ring is full. */
static inline uint64_t bpf_reserve(struct bpf_mem *m, uint32_t len)
{
	uint64_t at = m->prod, step = ROUND_UP(len + 8, 8);
	uint32_t busy = len | BPF_RINGBUF_BUSY_BIT;

	if (at + step - __atomic_load_n(&m->cons, __ATOMIC_ACQUIRE) > RING_BYTES)
		return UINT64_MAX;
	__atomic_store_n((uint32_t *)(m->data + at % RING_BYTES), busy, __ATOMIC_RELAXED);
	__atomic_store_n(&m->prod, at + step, __ATOMIC_RELEASE);
	return at;
}

static inline void bpf_commit(struct bpf_mem *m, uint64_t at, uint32_t bits)
{
	uint32_t *hdr = (uint32_t *)(m->data + at % RING_BYTES);

	__atomic_store_n(hdr, (*hdr & ~BPF_RINGBUF_BUSY_BIT) | bits, __ATOMIC_RELEASE);
}

/* The data of the record at @at. */
static inline void bpf_body(struct bpf_mem *m, uint64_t at, const void *body, uint32_t len)
{
	put_bytes(m->data, RING_BYTES, at + 8, body, len);
	if (m->doubled)
		put_bytes(m->data + RING_BYTES, RING_BYTES, at + 8, body, len);
}

/* A record of @len >= 8 bytes: the time, then @fill. */
static inline void bpf_fill(struct bpf_mem *m, uint64_t at, uint32_t len, uint64_t time_ns, uint8_t fill)
{
	uint8_t body[1024];

	memset(body, fill, len);
	memcpy(body, &time_ns, sizeof(time_ns));
	bpf_body(m, at, body, len);
}

static inline bool bpf_put(struct bpf_mem *m, uint32_t len, uint64_t time_ns, uint8_t fill)
{
	uint64_t at = bpf_reserve(m, len);

	if (at == UINT64_MAX)
		return false;
	bpf_fill(m, at, len, time_ns, fill);
	bpf_commit(m, at, 0);
	return true;
}

static inline int add_bpf(struct ring_reader *rr, struct bpf_mem *m, uint32_t cpu, bool lifecycle)
{
	const struct ring_mem mem = { .cons_pos = &m->cons, .prod_pos = &m->prod, .data = m->data,
				      .data_bytes = RING_BYTES, .doubled = m->doubled };
	const struct ring_opts o = { .kind = RING_BPF, .cpu = cpu, .source = cpu * 10, .lifecycle = lifecycle,
				     .stash_bytes = m->stash };

	return ring_reader_add_mem(rr, &mem, &o);
}

struct bpf_fixture {
	struct ring_reader *rr;
	struct bpf_mem m[4];	/* all doubled or none, as set up */
	struct log log;
};

static inline int bpf_setup(void **state)
{
	struct bpf_fixture *f = calloc(1, sizeof(*f));

	f->rr = ring_reader_new();
	*state = f;
	return f->rr ? 0 : -1;
}

#define STASH_BYTES 16384u

static inline int bpf_setup_stash(void **state)
{
	struct bpf_fixture *f;
	int r = bpf_setup(state);

	f = *state;
	for (size_t i = 0; i < ARRAY_SIZE(f->m); i++)
		f->m[i].stash = STASH_BYTES;
	return r;
}

static inline int bpf_setup_doubled(void **state)
{
	struct bpf_fixture *f;
	int r = bpf_setup(state);

	f = *state;
	for (size_t i = 0; i < ARRAY_SIZE(f->m); i++)
		f->m[i].doubled = true;
	return r;
}

static inline int bpf_teardown(void **state)
{
	struct bpf_fixture *f = *state;

	ring_reader_free(f->rr);
	free(f);
	return 0;
}

static inline int drain(struct bpf_fixture *f, unsigned budget)
{
	f->log.n = 0;
	return ring_reader_drain(f->rr, budget, collect, &f->log);
}

static inline struct ring_stats stats_of(const struct ring_reader *rr)
{
	struct ring_stats s;

	ring_reader_stats(rr, &s);
	return s;
}

/* ---- perf rings ---- */

struct perf_mem {
	struct perf_event_mmap_page page;
	uint8_t data[1024] __attribute__((aligned(8)));
	bool backward;
};

/* Writes one record at the head, as the kernel does: forward after the last, backward before it. */
static inline void perf_put(struct perf_mem *m, uint32_t type, const void *body, uint16_t len)
{
	struct perf_event_header h = { .type = type, .size = (uint16_t)(sizeof(h) + len) };
	uint64_t at = m->page.data_head;

	assert_int_equal(len % 8, 0);
	if (m->backward)
		at -= h.size;
	put_bytes(m->data, sizeof(m->data), at, &h, sizeof(h));
	put_bytes(m->data, sizeof(m->data), at + sizeof(h), body, len);
	__atomic_store_n(&m->page.data_head, m->backward ? at : at + h.size, __ATOMIC_RELEASE);
}

/* @raw is 4 modulo 8, as with bpf_perf_event_output(). */
static inline void perf_sample(struct perf_mem *m, uint64_t time_ns, uint32_t raw, uint8_t fill)
{
	uint8_t body[600];

	memset(body, fill, sizeof(body));
	memcpy(body, &time_ns, 8);
	memcpy(body + 8, &raw, 4);
	perf_put(m, PERF_RECORD_SAMPLE, body, (uint16_t)(12 + raw));
}

static inline void perf_lost(struct perf_mem *m, uint64_t n)
{
	const uint64_t body[2] = { 77, n };

	perf_put(m, PERF_RECORD_LOST, body, sizeof(body));
}

static inline int add_perf(struct ring_reader *rr, struct perf_mem *m, uint32_t cpu)
{
	const struct ring_mem mem = { .perf_page = &m->page, .data = m->data, .data_bytes = sizeof(m->data),
				      .sample_type = PERF_SAMPLE_RAW | PERF_SAMPLE_TIME };
	const struct ring_opts o = { .kind = m->backward ? RING_PERF_BACKWARD : RING_PERF, .cpu = cpu,
				     .time_off = -1 };

	return ring_reader_add_mem(rr, &mem, &o);
}

#endif
