// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads recordings. Format: include/sonde/rec.h. Pure: bytes in, records out.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/macros.h"
#include "sonde/rec.h"
#include "source/source_ops.h"

#define HEADER_MAX_BYTES 4096 /* allows later minor versions */

struct rec_state {
	bool have_header;
	uint64_t offset;	/* file offset of the next input */
	uint64_t records;
	struct crc32_prefix prefix;
	void *aligned;		/* owned; copy of a misaligned record */
};

static bool rec_match(const void *head, size_t len)
{
	return len >= SONDE_REC_MAGIC_LEN && !memcmp(head, SONDE_REC_MAGIC, SONDE_REC_MAGIC_LEN);
}

static int cut(const struct rec_state *st, struct err *err)
{
	if (!st->have_header)
		return err_set(err, -ENODATA, "the recording ends within its header");
	return err_set(err, -ENODATA, "the recording ends inside the record at byte %llu; the %llu before it "
		       "are whole", (unsigned long long)st->offset, (unsigned long long)st->records);
}

static int check_header(const struct sonde_rec_file *h, struct err *err)
{
	if (memcmp(h->magic, SONDE_REC_MAGIC, SONDE_REC_MAGIC_LEN))
		return err_set(err, -EBADMSG, "not a recording");
	if (h->byte_order != SONDE_REC_BYTE_ORDER)
		return err_set(err, -EBADMSG, "recorded with another byte order, or a corrupt header");
	if (h->major != SONDE_REC_MAJOR)
		return err_set(err, -EBADMSG, "recording format %u; this version reads format %u", h->major,
			       SONDE_REC_MAJOR);
	if (h->crc != crc32_add(0, h, offsetof(struct sonde_rec_file, crc)) ||
	    h->header_len < sizeof(*h) || h->header_len > HEADER_MAX_BYTES || h->header_len % SONDE_REC_ALIGN ||
	    h->rec_len != sizeof(struct sonde_rec))
		return err_set(err, -EBADMSG, "the header of the recording is corrupt");
	return 0;
}

/* 1 once the header is read, 0 if more input is needed. */
static int read_header(struct rec_state *st, struct cursor *c, struct err *err)
{
	struct cursor look = *c;
	struct sonde_rec_file h;
	int r;

	if (!cur_copy(&look, &h, sizeof(h)))
		return 0;
	r = check_header(&h, err);
	if (r < 0)
		return r;
	cur_skip(&look, h.header_len - sizeof(h));
	if (!cur_ok(&look))
		return 0;
	st->have_header = true;
	*c = look;
	return 1;
}

static int broken(const struct rec_state *st, const char *what, struct err *err)
{
	return err_set(err, -EBADMSG, "the recording is corrupt at byte %llu, after %llu records: %s",
		       (unsigned long long)st->offset, (unsigned long long)st->records, what);
}

/* The payload, copied if misaligned. NULL without memory. */
static const struct sonde_rec *aligned(struct rec_state *st, const void *data, uint32_t len)
{
	if ((uintptr_t)data % SONDE_REC_ALIGN == 0)
		return data;
	if (!st->aligned)
		st->aligned = malloc(SONDE_REC_MAX_BYTES);
	return st->aligned ? memcpy(st->aligned, data, len) : NULL;
}

/* 1 and the next record, or 0 if more input is needed. */
static int read_frame(struct rec_state *st, struct cursor *c, const struct sonde_rec **ret, struct err *err)
{
	struct cursor look = *c;
	uint32_t len = cur_u32(&look), crc = cur_u32(&look);
	const void *data;

	if (!cur_ok(&look))
		return 0;
	if (len < sizeof(struct sonde_rec) || len > SONDE_REC_MAX_BYTES)
		return broken(st, "impossible record length", err);
	data = cur_bytes(&look, len);
	cur_skip(&look, ROUND_UP(len, (uint32_t)SONDE_REC_ALIGN) - len);
	if (!cur_ok(&look))
		return 0;
	if (crc32_prefixed(&st->prefix, len, data, len) != crc)
		return broken(st, "wrong checksum", err);
	*ret = aligned(st, data, len);
	if (!*ret)
		return err_errno(err, -ENOMEM, "cannot read the recording");
	if ((*ret)->len != len)
		return broken(st, "the lengths of record and frame differ", err);
	*c = look;
	return 1;
}

static int64_t rec_parse(void *state, const void *data, size_t len, bool eof, source_fn fn, void *ctx,
			 struct err *err)
{
	struct rec_state *st = state;
	const uint64_t start = st->offset;
	struct cursor c = cur_init(data, len);
	int r = st->have_header ? 1 : read_header(st, &c, err);

	while (r > 0) {
		const struct sonde_rec *rec = NULL;

		st->offset = start + (len - cur_left(&c));
		r = cur_left(&c) ? read_frame(st, &c, &rec, err) : 0;
		if (r <= 0)
			break;
		st->records++;
		r = fn(ctx, rec);
		if (r < 0)
			break;
		r = 1;
	}
	if (r < 0)
		return r;
	if (eof && (cur_left(&c) || !st->have_header))
		return cut(st, err);
	return (int64_t)(len - cur_left(&c));
}

static void rec_fini(void *state)
{
	free(((struct rec_state *)state)->aligned);
}

const struct source_ops rec_source = {
	.name = "rec", .summary = "recordings of -o rec", .state_size = sizeof(struct rec_state),
	.match = rec_match, .parse = rec_parse, .fini = rec_fini,
};
