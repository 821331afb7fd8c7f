// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/store_block.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "store/crc32c.h"
#include "base/macros.h"
#include "sonde/store.h"

#define LEVEL 1

struct store_block {
	ZSTD_CCtx *zstd;	/* owned */
	struct buf raw;		/* records of the next chunk */
	struct store_block_sum sum;
	uint64_t t_min, t_max;	/* of the pending records */
	uint32_t n;		/* pending */
	uint8_t role;
	bool open;
};

DEFINE_CLEANUP(struct store_block *, store_block_free)

int store_block_new(struct store_block **ret)
{
	_cleanup_(store_block_freep) struct store_block *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->zstd = ZSTD_createCCtx();
	if (!b->zstd || ZSTD_isError(ZSTD_CCtx_setParameter(b->zstd, ZSTD_c_compressionLevel, LEVEL)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(b->zstd, ZSTD_c_windowLog, SONDE_STORE_WINDOW_LOG)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(b->zstd, ZSTD_c_contentSizeFlag, 0)))
		return -ENOMEM;
	*ret = TAKE_PTR(b);
	return 0;
}

void store_block_free(struct store_block *b)
{
	if (!b)
		return;
	ZSTD_freeCCtx(b->zstd);
	buf_fini(&b->raw);
	free(b);
}

void store_block_begin(struct store_block *b, uint8_t role)
{
	ZSTD_CCtx_reset(b->zstd, ZSTD_reset_session_only);
	buf_reset(&b->raw);
	b->sum = (struct store_block_sum){ 0 };
	b->n = 0;
	b->role = role;
	b->open = true;
}

bool store_block_is_open(const struct store_block *b)
{
	return b->open;
}

static void widen(uint64_t *t_min, uint64_t *t_max, bool is_first, uint64_t from, uint64_t to)
{
	*t_min = is_first ? from : MIN(*t_min, from);
	*t_max = is_first ? to : MAX(*t_max, to);
}

int store_block_add(struct store_block *b, const struct sonde_rec *r)
{
	buf_add(&b->raw, r, r->len);
	if (buf_align(&b->raw, SONDE_STORE_ALIGN) < 0)
		return -ENOMEM;
	widen(&b->t_min, &b->t_max, !b->n, r->ts_ns, r->ts_ns);
	b->n++;
	return 0;
}

bool store_block_chunk_is_full(const struct store_block *b)
{
	return b->raw.len >= SONDE_STORE_CHUNK_BYTES || store_block_is_full(b);
}

bool store_block_is_full(const struct store_block *b)
{
	return b->sum.rlen + b->raw.len >= SONDE_STORE_BLOCK_BYTES;
}

uint32_t store_block_pending(const struct store_block *b)
{
	return b->n;
}

/* Appends the compressed records to @out. */
static int compress(struct store_block *b, bool last, struct buf *out)
{
	const size_t room = ZSTD_compressBound(b->raw.len) + 64;
	ZSTD_inBuffer in = { .src = b->raw.data, .size = b->raw.len };
	ZSTD_outBuffer to = { .dst = buf_reserve(out, room), .size = room };
	size_t left;

	if (!to.dst)
		return -ENOMEM;
	do
		left = ZSTD_compressStream2(b->zstd, &to, &in, last ? ZSTD_e_end : ZSTD_e_flush);
	while (left && !ZSTD_isError(left) && to.pos < to.size);
	if (left)
		return -EIO;
	buf_commit(out, to.pos);
	return 0;
}

static void add_sum(struct store_block *b, size_t len)
{
	if (b->n)
		widen(&b->sum.t_min, &b->sum.t_max, !b->sum.n, b->t_min, b->t_max);
	b->sum.len += (uint32_t)len;
	b->sum.rlen += (uint32_t)b->raw.len;
	b->sum.n += b->n;
	b->sum.n_chunks++;
	buf_reset(&b->raw);
	b->n = 0;
}

int store_block_chunk(struct store_block *b, bool last, struct buf *out)
{
	struct sonde_store_chunk h = {
		.kind = b->sum.n_chunks ? SONDE_STORE_MORE : SONDE_STORE_BLOCK, .role = b->role,
		.flags = last ? SONDE_STORE_LAST : 0, .rlen = (uint32_t)b->raw.len, .n = b->n,
		.t_min = b->n ? b->t_min : 0, .t_max = b->n ? b->t_max : 0,
	};
	const size_t at = out->len;
	int r = buf_add(out, &h, sizeof(h));

	if (r >= 0)
		r = compress(b, last, out);
	if (r < 0) {
		out->len = at;
		return r;
	}
	h.clen = (uint32_t)(out->len - at - sizeof(h));
	h.crc = crc32c(crc32c(0, &h, sizeof(h)), out->data + at + sizeof(h), h.clen);
	memcpy(out->data + at, &h, sizeof(h));
	r = buf_align(out, SONDE_STORE_ALIGN);
	add_sum(b, out->len - at);
	b->open = !last;
	return r;
}

void store_block_drop(struct store_block *b)
{
	b->open = false;
	buf_reset(&b->raw);
	b->n = 0;
}

void store_block_sum(const struct store_block *b, struct store_block_sum *ret)
{
	*ret = b->sum;
}
