// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Recordings: arbitrary bytes, passed in portions whose size the first byte selects. Delivered records are always
 * complete and aligned. The target repairs checksums first, so that the fuzzer gets past them.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/err.h"
#include "base/macros.h"
#include "sonde/rec.h"
#include "source/source.h"

static int on_record(void *ctx, const struct sonde_rec *r)
{
	volatile uint8_t sum = 0;

	if ((uintptr_t)r % 8 || r->len < sizeof(*r) || r->len > SOURCE_RECORD_MAX_BYTES)
		abort();
	for (uint32_t i = 0; i < r->len; i++)
		sum ^= ((const uint8_t *)r)[i];
	++*(uint64_t *)ctx;
	return 0;
}

static void mend(uint8_t *data, size_t len)
{
	struct sonde_rec_file h;
	struct sonde_rec_frame f;
	size_t at;

	if (len < sizeof(h))
		return;
	memcpy(&h, data, sizeof(h));
	h.crc = (uint32_t)crc32(0, (const void *)&h, offsetof(struct sonde_rec_file, crc));
	memcpy(data, &h, sizeof(h));
	for (at = h.header_len; at < len && len - at >= sizeof(f); at += ROUND_UP((size_t)f.len, 8)) {
		memcpy(&f, data + at, sizeof(f));
		if (f.len > len - at - sizeof(f))
			return;
		f.crc = (uint32_t)crc32(crc32(0, (const void *)&f.len, sizeof(f.len)), data + at + sizeof(f), f.len);
		memcpy(data + at, &f, sizeof(f));
		at += sizeof(f);
	}
}

/* Each window is a heap block of its own, so that a read beyond it is seen. */
static int64_t parse_window(const struct source_ops *ops, void *state, const uint8_t *data, size_t len, bool eof,
			    uint64_t *n)
{
	struct err err = { 0 };
	uint8_t *window = malloc(len ? len : 1);
	int64_t r;

	if (len)
		memcpy(window, data, len);
	r = ops->parse(state, window, len, eof, on_record, n, &err);
	free(window);
	if (r > (int64_t)len || (r < 0 && !err.msg[0]))
		abort();
	return r;
}

static const struct source_ops *rec_ops(void)
{
	for (size_t i = 0; all_sources[i]; i++)
		if (!strcmp(all_sources[i]->name, "rec"))
			return all_sources[i];
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct source_ops *ops = rec_ops();
	size_t step = size ? 1 + data[0] * 7u : 1, from = 0, to = 0, len;
	void *state = calloc(1, ops->state_size);
	uint64_t n = 0;
	uint8_t *copy;
	int64_t r = 0;

	if (!size) {
		free(state);
		return 0;
	}
	len = size - 1;
	copy = malloc(size);
	memcpy(copy, data + 1, len);
	if (data[0] & 1)
		mend(copy, len);
	ops->match(copy, len);
	while (r >= 0 && to < len) {
		to = MIN(to + step, len);
		r = parse_window(ops, state, copy + from, to - from, false, &n);
		from += r > 0 ? (size_t)r : 0;
	}
	if (r >= 0)
		parse_window(ops, state, copy + from, to - from, true, &n);
	ops->fini(state);
	free(state);
	free(copy);
	return 0;
}
