// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/store_decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "store/crc32c.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/macros.h"

struct store_decode {
	ZSTD_DCtx *zstd;	/* owned */
	void *raw;		/* owned; SONDE_STORE_RAW_MAX_BYTES */
	bool open;		/* a chunk of kind MORE may follow */
};

DEFINE_CLEANUP(struct store_decode *, store_decode_free)

int store_decode_new(struct store_decode **ret)
{
	_cleanup_(store_decode_freep) struct store_decode *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->zstd = ZSTD_createDCtx();
	d->raw = malloc(SONDE_STORE_RAW_MAX_BYTES);
	if (!d->zstd || !d->raw ||
	    ZSTD_isError(ZSTD_DCtx_setParameter(d->zstd, ZSTD_d_windowLogMax, SONDE_STORE_WINDOW_LOG)))
		return -ENOMEM;
	*ret = TAKE_PTR(d);
	return 0;
}

void store_decode_free(struct store_decode *d)
{
	if (!d)
		return;
	ZSTD_freeDCtx(d->zstd);
	free(d->raw);
	free(d);
}

int store_decode_head(const struct sonde_store_head *h, struct err *err)
{
	if (memcmp(h->magic, SONDE_STORE_MAGIC, SONDE_STORE_MAGIC_LEN))
		return err_set(err, -EBADMSG, "not a segment of a store");
	if (h->byte_order != SONDE_STORE_BYTE_ORDER)
		return err_set(err, -EBADMSG, "the segment has another byte order, or its head is damaged");
	if (h->major != SONDE_STORE_MAJOR || h->must_understand)
		return err_set(err, -EPROTONOSUPPORT, "the segment has format %u.%u; this version reads format %u",
			       h->major, h->minor, SONDE_STORE_MAJOR);
	if (h->crc != crc32c(0, h, offsetof(struct sonde_store_head, crc)) ||
	    h->head_len != SONDE_STORE_HEAD_BYTES || h->rec_len != sizeof(struct sonde_rec))
		return err_set(err, -EBADMSG, "the head of the segment is damaged");
	return 0;
}

int64_t store_decode_size(const void *data, size_t len)
{
	struct cursor c = cur_init(data, len);
	struct sonde_store_chunk h;
	bool is_index;

	if (!cur_copy(&c, &h, sizeof(h)))
		return 0;
	is_index = h.kind == SONDE_STORE_INDEX;
	if ((!is_index && h.kind != SONDE_STORE_BLOCK && h.kind != SONDE_STORE_MORE) ||
	    h.clen > (is_index ? SONDE_STORE_INDEX_MAX_BYTES : SONDE_STORE_STORED_MAX_BYTES) ||
	    (!is_index && h.rlen > SONDE_STORE_RAW_MAX_BYTES) || h.role >= SONDE_STORE_ROLE__MAX)
		return -EBADMSG;
	return (int64_t)(sizeof(h) + ROUND_UP((uint64_t)h.clen, (uint64_t)SONDE_STORE_ALIGN));
}

static bool is_sound(const struct sonde_store_chunk *h, const void *data)
{
	struct sonde_store_chunk sum = *h;

	sum.crc = 0;
	return crc32c(crc32c(0, &sum, sizeof(sum)), (const char *)data + sizeof(sum), h->clen) == h->crc;
}

/* The chunk makes exactly rlen bytes, and nothing is left of it. */
static int decompress(struct store_decode *d, const struct sonde_store_chunk *h, const void *data)
{
	ZSTD_inBuffer in = { .src = data, .size = h->clen };
	ZSTD_outBuffer out = { .dst = d->raw, .size = h->rlen };
	size_t left = 1;

	while (left && in.pos < in.size && !ZSTD_isError(left)) {
		const size_t before = in.pos + out.pos;

		left = ZSTD_decompressStream(d->zstd, &out, &in);
		if (in.pos + out.pos == before)
			break;
	}
	return ZSTD_isError(left) || in.pos < in.size || out.pos < out.size ? -EBADMSG : 0;
}

static int deliver(const struct store_decode *d, const struct sonde_store_chunk *h, store_fn fn, void *ctx)
{
	struct cursor c = cur_init(d->raw, h->rlen);
	int n = 0;

	while (cur_left(&c)) {
		struct cursor look = c;
		struct sonde_rec head;
		const void *rec;
		int r;

		cur_copy(&look, &head, sizeof(head));
		if (!cur_ok(&look) || head.len < sizeof(head))
			return -EBADMSG;
		rec = cur_bytes(&c, ROUND_UP((size_t)head.len, (size_t)SONDE_STORE_ALIGN));
		if (!rec)
			return -EBADMSG;
		r = fn(ctx, rec);
		if (r < 0)
			return r;
		n++;
	}
	return (uint32_t)n == h->n ? n : -EBADMSG;
}

static bool begin(struct store_decode *d, const struct sonde_store_chunk *h)
{
	if (h->kind == SONDE_STORE_BLOCK) {
		ZSTD_DCtx_reset(d->zstd, ZSTD_reset_session_only);
		return true;
	}
	return d->open;
}

int store_decode_chunk(struct store_decode *d, const void *data, store_fn fn, void *ctx)
{
	struct sonde_store_chunk h;
	int r;

	memcpy(&h, data, sizeof(h));
	if (!is_sound(&h, data) || (h.kind != SONDE_STORE_INDEX && !begin(d, &h))) {
		d->open = false;
		return -EBADMSG;
	}
	if (h.kind == SONDE_STORE_INDEX)
		return 0;
	r = decompress(d, &h, (const char *)data + sizeof(h));
	d->open = r >= 0 && !(h.flags & SONDE_STORE_LAST);
	return r < 0 || !fn ? r : deliver(d, &h, fn, ctx);
}

size_t store_decode_seek(const void *data, size_t len)
{
	for (size_t at = 0; at + sizeof(struct sonde_store_chunk) <= len; at += SONDE_STORE_ALIGN) {
		uint32_t kind;

		memcpy(&kind, (const char *)data + at, sizeof(kind));
		if ((kind == SONDE_STORE_BLOCK || kind == SONDE_STORE_INDEX) &&
		    store_decode_size((const char *)data + at, len - at) > 0)
			return at;
	}
	return len;
}
