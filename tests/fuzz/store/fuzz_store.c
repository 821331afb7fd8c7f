// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Segments of stores: arbitrary bytes, read as a stream, from a file with its index, and while the file grows.
 * Delivered records are always complete and aligned. The target repairs checksums first, so that the fuzzer gets
 * past them.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/macros.h"
#include "sonde/store.h"
#include "source/source.h"
#include "store/crc32c.h"
#include "store/store_decode.h"
#include "store/store_reader.h"

static int on_record(void *ctx, const struct sonde_rec *r)
{
	volatile uint8_t sum = 0;

	if ((uintptr_t)r % 8 || r->len < sizeof(*r) || r->len > SONDE_STORE_RAW_MAX_BYTES)
		abort();
	for (uint32_t i = 0; i < r->len; i++)
		sum ^= ((const uint8_t *)r)[i];
	++*(uint64_t *)ctx;
	return 0;
}

static void mend_foot(uint8_t *data, size_t len)
{
	struct sonde_store_foot f;

	if (len < sizeof(f))
		return;
	memcpy(&f, data + len - sizeof(f), sizeof(f));
	f.crc = crc32c(0, &f, offsetof(struct sonde_store_foot, crc));
	memcpy(data + len - sizeof(f), &f, sizeof(f));
}

static void mend(uint8_t *data, size_t len)
{
	struct sonde_store_head h;
	struct sonde_store_chunk c;
	size_t at = sizeof(h);

	if (len < sizeof(h))
		return;
	memcpy(&h, data, sizeof(h));
	h.crc = crc32c(0, &h, offsetof(struct sonde_store_head, crc));
	memcpy(data, &h, sizeof(h));
	mend_foot(data, len);
	while (at < len) {
		const int64_t size = store_decode_size(data + at, len - at);

		if (size <= 0 || (uint64_t)size > len - at)
			return;
		memcpy(&c, data + at, sizeof(c));
		c.crc = 0;
		c.crc = crc32c(crc32c(0, &c, sizeof(c)), data + at + sizeof(c), c.clen);
		memcpy(data + at, &c, sizeof(c));
		at += (size_t)size;
	}
}

/* Each window is a heap block of its own, so that a read beyond it is seen. */
static void read_stream(const uint8_t *data, size_t len, size_t step)
{
	const struct source_ops *ops = source_find("store");
	void *state = calloc(1, ops->state_size);
	size_t from = 0, to = 0;
	int64_t r = 0;
	uint64_t n = 0;
	bool eof;

	do {
		struct err err = { 0 };
		uint8_t *window;

		to = MIN(to + step, len);
		eof = to == len;
		window = malloc(to - from ? to - from : 1);
		memcpy(window, data + from, to - from);
		r = ops->parse(state, window, to - from, eof, on_record, &n, &err);
		free(window);
		if (r > (int64_t)(to - from) || (r < 0 && !err.msg[0]))
			abort();
		from += r > 0 ? (size_t)r : 0;
	} while (r >= 0 && !eof);
	ops->fini(state);
	free(state);
}

static bool is_state(void *ctx, uint16_t type)
{
	(void)ctx;
	return type >> 8 == 1;
}

/* In two steps, as of a file that grows. */
static void follow_file(const uint8_t *data, size_t len, size_t first)
{
	const struct store_query all = { .follow = true };
	int fd = memfd_create("growing", MFD_CLOEXEC), r = 0;
	struct store_reader *reader;
	uint64_t n = 0, off = 0;

	if (fd < 0 || store_reader_new(&all, &reader) < 0)
		abort();
	for (int step = 0; step < 2 && r == 0; step++) {
		const size_t from = step ? first : 0, to = step ? len : first;
		struct err err = { 0 };

		if (write(fd, data + from, to - from) != (ssize_t)(to - from))
			abort();
		r = store_reader_follow(reader, fd, &off, on_record, &n, &err);
		if (off > len)
			abort();
	}
	store_reader_free(reader);
	close(fd);
}

static void read_file(int fd, const struct store_query *q)
{
	struct store_reader *r;
	struct err err = { 0 };
	uint64_t n = 0;

	if (store_reader_new(q, &r) < 0)
		abort();
	if (store_reader_segment(r, fd, on_record, &n, &err) < 0 && !err.msg[0])
		abort();
	if (store_reader_end(r, on_record, &n) < 0)
		abort();
	store_reader_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint64_t key = 7;
	const struct store_query all = { 0 }, some = {
		.keys[SONDE_STORE_BY_PROCESS] = { .items = &key, .len = 1 }, .until_ns = 1ll << 62,
		.is_state = is_state,
	};
	const size_t len = size ? size - 1 : 0;
	uint8_t *copy;
	int fd;

	if (!size)
		return 0;
	copy = malloc(size);
	memcpy(copy, data + 1, len);
	if (data[0] & 1)
		mend(copy, len);
	read_stream(copy, len, 1 + data[0] * 97u);
	fd = memfd_create("store", MFD_CLOEXEC);
	if (fd < 0 || write(fd, copy, len) != (ssize_t)len)
		abort();
	read_file(fd, &all);
	read_file(fd, &some);
	close(fd);
	follow_file(copy, len, len * data[0] / 256);
	free(copy);
	return 0;
}
