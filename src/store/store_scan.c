// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/store_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "store/crc32c.h"
#include "base/err.h"
#include "base/io.h"
#include "base/macros.h"
#include "store/store_block.h"
#include "store/store_decode.h"

#define SEEK_BYTES (64u << 10)	/* searched at once for the next block behind damage */

/* Index and foot of a sealed segment. False: it has none, or they are damaged. */
static bool read_index(struct store_scan *s)
{
	struct sonde_store_foot *f = &s->foot;
	struct sonde_store_chunk h, sum;
	_cleanup_free_ void *data = NULL;

	if (s->bytes < sizeof(s->head) + sizeof(*f) || io_read_at(s->fd, f, sizeof(*f), s->bytes - sizeof(*f)) < 0 ||
	    memcmp(f->magic, SONDE_STORE_FOOT_MAGIC, SONDE_STORE_MAGIC_LEN) != 0 ||
	    f->crc != crc32c(0, f, offsetof(struct sonde_store_foot, crc)) || f->index_off > s->bytes - sizeof(*f) ||
	    f->index_len > s->bytes - sizeof(*f) - f->index_off || f->index_len < sizeof(h) ||
	    f->index_len > SONDE_STORE_INDEX_MAX_BYTES)
		return false;
	data = malloc(f->index_len);
	if (!data || io_read_at(s->fd, data, f->index_len, f->index_off) < 0)
		return false;
	memcpy(&h, data, sizeof(h));
	if (h.kind != SONDE_STORE_INDEX || h.clen > f->index_len - sizeof(h))
		return false;
	sum = h;
	sum.crc = 0;
	if (crc32c(crc32c(0, &sum, sizeof(sum)), (char *)data + sizeof(h), h.clen) != h.crc)
		return false;
	s->end = f->index_off;
	return store_index_parse(&s->index, (char *)data + sizeof(h), h.clen, f->index_off) == 0;
}

/* ---- without an index ---- */

struct walk {
	struct store_scan *s;
	struct store_block_sum sum;	/* of the open block */
	uint64_t off;			/* of its first chunk */
	uint8_t role;
};

static int end_block(struct walk *w)
{
	const size_t at = w->s->index.blocks.len;
	struct sonde_store_block *b;
	int r;

	if (!w->sum.n_chunks)
		return 0;
	r = store_index_add(&w->s->index, w->off, w->role, &w->sum, NULL);
	b = r < 0 ? NULL : &w->s->index.blocks.items[at];
	if (b && b->role == SONDE_STORE_COPY && b->n_chunks <= at)	/* of the DATA blocks right before it */
		b->covers = (uint32_t)at - b->n_chunks;
	else if (b && b->role == SONDE_STORE_COPY)
		w->s->index.blocks.len--;
	w->sum = (struct store_block_sum){ 0 };
	return r;
}

static int take_chunk(struct walk *w, uint64_t off, const struct sonde_store_chunk *h, uint32_t len)
{
	struct store_block_sum *sum = &w->sum;
	int r = h->kind == SONDE_STORE_BLOCK ? end_block(w) : 0;

	if (r < 0)
		return r;
	if (h->kind == SONDE_STORE_BLOCK) {
		w->off = off;
		w->role = h->role;
	} else if (!sum->n_chunks) {
		return -EBADMSG;	/* its beginning is missing */
	}
	if (h->n) {
		sum->t_min = sum->n ? MIN(sum->t_min, h->t_min) : h->t_min;
		sum->t_max = MAX(sum->t_max, h->t_max);
	}
	sum->len += len;
	sum->rlen += h->rlen;
	sum->n += h->n;
	sum->n_chunks++;
	return 0;
}

uint64_t store_scan_seek(int fd, uint64_t off, uint64_t end)
{
	_cleanup_free_ char *data = malloc(SEEK_BYTES);

	while (data && off < end) {
		const size_t len = MIN(end - off, (uint64_t)SEEK_BYTES);
		size_t at;

		if (io_read_at(fd, data, len, off) < 0)
			break;
		at = store_decode_seek(data, len);
		if (at < len)
			return off + at;
		if (len < SEEK_BYTES)
			break;
		off += len - ROUND_UP(sizeof(struct sonde_store_chunk), SONDE_STORE_ALIGN);
	}
	return end;
}

static int walk_chunks(struct store_scan *s)
{
	struct walk w = { .s = s };
	uint64_t off = sizeof(s->head), next;
	struct sonde_store_chunk h;
	int r = 0;

	store_index_reset(&s->index);
	s->index.offset_min_ns = s->index.offset_max_ns = s->head.clock_offset_ns;
	s->end = off;
	while (r >= 0 && s->bytes - off >= sizeof(h) && io_read_at(s->fd, &h, sizeof(h), off) == 0) {
		const int64_t len = store_decode_size(&h, sizeof(h));
		const bool fits = len > 0 && (uint64_t)len <= s->bytes - off;

		if (fits && h.kind == SONDE_STORE_INDEX)
			break;
		r = fits ? take_chunk(&w, off, &h, (uint32_t)len) : -EBADMSG;
		if (r == 0) {
			off += (uint64_t)len;
			s->end = off;
			continue;
		}
		if (r != -EBADMSG)
			return r;
		next = store_scan_seek(s->fd, off + SONDE_STORE_ALIGN, s->bytes);
		r = end_block(&w);
		s->skipped += next < s->bytes ? next - off : 0;
		off = next;
	}
	return r < 0 ? r : end_block(&w);
}

int store_scan_open(int fd, struct store_scan *s, struct err *err)
{
	off_t bytes = lseek(fd, 0, SEEK_END);
	int r;

	*s = (struct store_scan){ .fd = fd };
	if (bytes < 0)
		return err_errno(err, -errno, "cannot read the segment");
	s->bytes = (uint64_t)bytes;
	r = io_read_at(fd, &s->head, sizeof(s->head), 0);
	if (r < 0)
		return r == -ENODATA ? err_set(err, r, "the segment ends within its head") :
				       err_errno(err, r, "cannot read the segment");
	r = store_decode_head(&s->head, err);
	if (r < 0)
		return r;
	s->indexed = read_index(s);
	r = s->indexed ? 0 : walk_chunks(s);
	return r < 0 ? err_errno(err, r, "cannot read the segment") : 0;
}

void store_scan_fini(struct store_scan *s)
{
	store_index_fini(&s->index);
}
