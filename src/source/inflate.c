// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/inflate.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"

#define ZSTD_WINDOW_LOG_MAX 26	/* 64 MiB covers all levels without --long; larger windows are refused */
#define STEP_BYTES (64u << 10)

struct inflate {
	z_stream gz;
	bool gz_ready;		/* inflateEnd() is due */
	ZSTD_DStream *zstd;	/* owned; NULL for gzip */
	bool whole;
};

static bool is_gzip(const void *head, size_t len)
{
	return len >= 2 && !memcmp(head, "\x1f\x8b", 2);
}

bool inflate_wants(const void *head, size_t len)
{
	return is_gzip(head, len) || (len >= 4 && !memcmp(head, "\x28\xb5\x2f\xfd", 4));
}

struct inflate *inflate_new(const void *head, size_t len)
{
	struct inflate *z = calloc(1, sizeof(*z));

	if (!z)
		return NULL;
	if (is_gzip(head, len)) {
		z->gz_ready = inflateInit2(&z->gz, 16 + MAX_WBITS) == Z_OK;
	} else {
		z->zstd = ZSTD_createDStream();
		if (z->zstd)
			ZSTD_DCtx_setParameter(z->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG_MAX);
	}
	if (z->gz_ready || z->zstd)
		return z;
	free(z);
	return NULL;
}

void inflate_free(struct inflate *z)
{
	if (!z)
		return;
	if (z->gz_ready)
		inflateEnd(&z->gz);
	ZSTD_freeDStream(z->zstd);
	free(z);
}

bool inflate_is_whole(const struct inflate *z)
{
	return z->whole;
}

/* One decompression step; *ret_used and *ret_made: bytes consumed and produced. */
static int step_gzip(struct inflate *z, const struct buf *in, void *out, size_t cap, size_t *ret_used,
		     size_t *ret_made, struct err *err)
{
	int r;

	if (z->whole && inflateReset(&z->gz) != Z_OK)
		return err_set(err, -ENOMEM, "cannot decompress");
	z->whole = false;
	z->gz.next_in = (unsigned char *)in->data;
	z->gz.avail_in = (unsigned)MIN(in->len, (size_t)UINT32_MAX / 2);
	z->gz.next_out = out;
	z->gz.avail_out = (unsigned)cap;
	r = inflate(&z->gz, Z_NO_FLUSH);
	*ret_used = (size_t)((char *)z->gz.next_in - in->data);
	*ret_made = cap - z->gz.avail_out;
	z->whole = r == Z_STREAM_END;
	if (r == Z_OK || r == Z_STREAM_END || r == Z_BUF_ERROR)
		return 0;
	return err_set(err, r == Z_MEM_ERROR ? -ENOMEM : -EBADMSG, "the gzip stream is corrupt: %s",
		       z->gz.msg ? z->gz.msg : "invalid data");
}

static int step_zstd(struct inflate *z, const struct buf *in, void *out, size_t cap, size_t *ret_used,
		     size_t *ret_made, struct err *err)
{
	ZSTD_inBuffer i = { .src = in->data, .size = in->len };
	ZSTD_outBuffer o = { .dst = out, .size = cap };
	size_t r = ZSTD_decompressStream(z->zstd, &o, &i);

	*ret_used = i.pos;
	*ret_made = o.pos;
	z->whole = r == 0;
	if (!ZSTD_isError(r))
		return 0;
	return err_set(err, -EBADMSG, "the zstd stream is corrupt: %s", ZSTD_getErrorName(r));
}

int inflate_feed(struct inflate *z, struct buf *in, struct buf *out, size_t most, struct err *err)
{
	size_t end = out->len + most, used = 0, made = 0;
	char *p;
	int r;

	while (out->len < end) {
		p = buf_reserve(out, STEP_BYTES);
		if (!p)
			return err_set(err, -ENOMEM, "cannot decompress: not enough memory");
		if (!in->len && z->whole)
			return 0;
		r = z->zstd ? step_zstd(z, in, p, STEP_BYTES, &used, &made, err) :
			      step_gzip(z, in, p, STEP_BYTES, &used, &made, err);
		buf_commit(out, made);
		buf_consume(in, used);
		if (r < 0)
			return r;
		if (!used && !made)
			return 0;
	}
	return 0;
}
