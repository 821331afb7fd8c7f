// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A segment of a store as a stream of bytes: a single file, or a pipe. Directories are read by source/segments.c,
 * which uses the index. Format: include/sonde/store.h. Pure: bytes in, records out.
 */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/macros.h"
#include "sonde/store.h"
#include "source/source_ops.h"
#include "store/store_decode.h"

struct segment {
	struct store_decode *decode;	/* owned */
	bool have_head;
	bool have_index;		/* only the foot follows */
	bool lost_block;		/* what follows belongs to a damaged block */
	uint64_t damages, damaged_bytes;
	source_fn fn;
	void *ctx;
	uint8_t role;			/* of the current block */
};

static bool store_match(const void *head, size_t len)
{
	return len >= SONDE_STORE_MAGIC_LEN && !memcmp(head, SONDE_STORE_MAGIC, SONDE_STORE_MAGIC_LEN);
}

static int on_record(void *ctx, const struct sonde_rec *r)
{
	const struct segment *st = ctx;

	return st->fn(st->ctx, r);
}

static int read_head(struct segment *st, const char *data, size_t len, struct err *err)
{
	struct sonde_store_head h;
	int r;

	if (len < sizeof(h))
		return 0;
	memcpy(&h, data, sizeof(h));
	r = store_decode_head(&h, err);
	if (r >= 0)
		r = store_decode_new(&st->decode);
	if (r < 0)
		return r;
	st->have_head = true;
	return sizeof(h);
}

/* Bytes to skip up to the next block; the last ones may be the start of its head. */
static size_t skip(struct segment *st, const char *data, size_t len, bool eof)
{
	size_t at = SONDE_STORE_ALIGN + store_decode_seek(data + SONDE_STORE_ALIGN, len - SONDE_STORE_ALIGN);

	if (at == len && !eof)
		at -= MIN(at - SONDE_STORE_ALIGN, sizeof(struct sonde_store_chunk)) / SONDE_STORE_ALIGN *
		      SONDE_STORE_ALIGN;
	st->damages += !st->lost_block;
	st->damaged_bytes += at;
	st->lost_block = true;
	return at;
}

/* Copies of state repeat records that the stream has. */
static int decode(struct segment *st, const char *data)
{
	struct sonde_store_chunk h;
	int r;

	memcpy(&h, data, sizeof(h));
	st->have_index |= h.kind == SONDE_STORE_INDEX;
	if (h.kind == SONDE_STORE_BLOCK)
		st->lost_block = false;
	r = store_decode_chunk(st->decode, data, h.role == SONDE_STORE_COPY ? NULL : on_record, st);
	if (r != -EBADMSG)
		return r;
	st->damages += !st->lost_block;
	st->lost_block = true;
	return 0;
}

static int end(const struct segment *st, size_t left, struct err *err)
{
	if (!st->have_head)
		return err_set(err, -ENODATA, "the segment ends within its head");
	if (st->damages)
		return err_set(err, -EBADMSG, "the segment is damaged in %llu places; everything else was read",
			       (unsigned long long)st->damages);
	return left ? err_set(err, -ENODATA, "the segment ends within a chunk; all before it was read") : 0;
}

/* 0 if more input is needed, else the bytes consumed or an error. */
static int64_t step(struct segment *st, const char *data, size_t len, bool eof)
{
	const int64_t size = store_decode_size(data, len);
	int r;

	if (st->have_index)
		return (int64_t)len;
	if (size < 0)
		return len >= 2 * SONDE_STORE_ALIGN ? (int64_t)skip(st, data, len, eof) : 0;
	if (size == 0 || (uint64_t)size > len)
		return 0;
	r = decode(st, data);
	return r < 0 ? r : size;
}

static int64_t store_parse(void *state, const void *data, size_t len, bool eof, source_fn fn, void *ctx,
			   struct err *err)
{
	struct segment *st = state;
	size_t at = 0;
	int64_t n = 1;

	st->fn = fn;
	st->ctx = ctx;
	while (n > 0 && at < len) {
		n = st->have_head ? step(st, (const char *)data + at, len - at, eof) :
				    read_head(st, (const char *)data + at, len - at, err);
		if (n < 0)
			return n;
		at += (size_t)n;
	}
	if (eof && at < len)
		return end(st, len - at, err);
	if (eof && !len) {
		n = end(st, 0, err);
		return n;
	}
	return (int64_t)at;
}

static void store_fini(void *state)
{
	store_decode_free(((struct segment *)state)->decode);
}

const struct source_ops store_source = {
	.name = "store", .summary = "stores of sonde record, and single segments",
	.state_size = sizeof(struct segment), .match = store_match, .parse = store_parse, .fini = store_fini,
};
