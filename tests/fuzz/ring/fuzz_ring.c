// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rings whose memory is arbitrary bytes, of every kind, alone and merged: nothing may crash, spin, or be
 * delivered from outside of a ring. Input: u8 what to build, u8 budget, then per ring u64 producer position,
 * u64 consumer position and the data.
 */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/macros.h"
#include "ring/ring.h"

#define RING_BYTES 512u
#define MAX_RINGS 3
#define MOST_DRAINS 200		/* enough for the smallest records at a budget of 1 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fake {
	uint64_t cons, prod;
	struct perf_event_mmap_page page;
	uint8_t *data;		/* twice, so that it can be mapped as doubled */
};

static volatile uint8_t sink;

static int touch(void *ctx, const struct ring_rec *rec)
{
	const uint8_t *data = rec->data;
	uint8_t sum = 0;

	if (rec->len > RING_BYTES)
		abort();
	for (uint32_t i = 0; i < rec->len; i++)
		sum ^= data[i];
	sink = sum;
	++*(unsigned *)ctx;
	return rec->len == 13 ? -1 : 0;
}

static int add(struct ring_reader *rr, struct fake *f, struct cursor *c, unsigned what, uint32_t cpu)
{
	struct ring_opts o = { .kind = what % RING__MAX, .cpu = cpu, .lifecycle = what & 4 };
	struct ring_mem m = { .data_bytes = RING_BYTES, .sample_type = PERF_SAMPLE_RAW };
	size_t len = MIN(cur_left(c), (size_t)RING_BYTES);

	f->prod = f->page.data_head = cur_u64(c);
	f->cons = f->page.data_tail = cur_u64(c);
	f->data = calloc(2, RING_BYTES);
	if (!f->data)
		return -1;
	len = MIN(cur_left(c), len);
	cur_copy(c, f->data, len);
	memcpy(f->data + RING_BYTES, f->data, RING_BYTES);
	m.data = f->data;
	if (o.kind == RING_BPF) {
		m.cons_pos = &f->cons;
		m.prod_pos = &f->prod;
		m.doubled = what & 8;
		o.time_off = what & 16 ? 3 : 0;
	} else {
		m.perf_page = &f->page;
		m.sample_type |= what & 8 ? PERF_SAMPLE_TIME : 0;
		o.time_off = what & 16 ? 3 : -1;
	}
	return ring_reader_add_mem(rr, &m, &o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cursor c = cur_init(data, size);
	struct fake fakes[MAX_RINGS] = { 0 };
	struct ring_reader *rr = ring_reader_new();
	unsigned budget = cur_u8(&c), calls = 0, drains;
	struct ring_stats s;

	if (!rr)
		return 0;
	ring_reader_set_merge(rr, budget & 1);
	for (uint32_t cpu = 0; cpu < MAX_RINGS && cur_left(&c); cpu++)
		add(rr, &fakes[cpu], &c, cur_u8(&c), cpu);
	for (drains = 0; drains < MOST_DRAINS; drains++)
		if (!ring_reader_drain(rr, budget / 2, touch, &calls))
			break;
	if (drains == MOST_DRAINS && budget / 2 != 0)
		abort();	/* never comes to an end */
	ring_reader_stats(rr, &s);
	if (s.records > calls || ring_reader_fill_pct(rr) > 100)
		abort();
	ring_reader_free(rr);
	for (size_t i = 0; i < MAX_RINGS; i++)
		free(fakes[i].data);
	return 0;
}
