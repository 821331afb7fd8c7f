// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Raw recording. Format: include/sonde/rec.h. The header is written with the first record, the host record: in a
 * replay, the recorded host differs from this one.
 */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/crc32.h"
#include "base/macros.h"
#include "sinks/outfile.h"
#include "sinks/sink.h"
#include "sonde/rec.h"

struct rec {
	struct crc32_prefix prefix;
	bool started;
};

static int write_header(struct sink *s, const struct sonde_rec *first)
{
	struct sonde_rec_file h = {
		.magic = SONDE_REC_MAGIC, .major = SONDE_REC_MAJOR, .minor = SONDE_REC_MINOR,
		.byte_order = SONDE_REC_BYTE_ORDER, .header_len = sizeof(h), .rec_len = sizeof(struct sonde_rec),
	};

	if (first && first->type == SONDE_EV_HOST && first->len >= sizeof(struct sonde_host_rec)) {
		struct sonde_host_rec host;

		memcpy(&host, first, sizeof(host));
		h.page_size = host.page_size;
		memcpy(h.release, host.release, sizeof(h.release) - 1);
	}
	h.crc = crc32_add(0, &h, offsetof(struct sonde_rec_file, crc));
	return outfile_record(s->out, &h, sizeof(h));
}

static int start(struct sink *s, const struct sonde_rec *first)
{
	struct rec *st = s->state;
	int r;

	if (st->started)
		return 0;
	r = write_header(s, first);
	st->started = r == 0;
	return r;
}

static int rec_record(struct sink *s, const struct sonde_rec *r)
{
	static const char zeros[SONDE_REC_ALIGN];
	struct sonde_rec_frame f = { .len = r->len };
	struct rec *st = s->state;
	int ret = start(s, r);
	struct buf *out;

	if (ret < 0)
		return ret;
	if (f.len < sizeof(*r) || f.len > SONDE_REC_MAX_BYTES)
		return -EMSGSIZE;
	f.crc = crc32_prefixed(&st->prefix, f.len, r, f.len);
	out = outfile_begin(s->out);
	buf_add(out, &f, sizeof(f));
	buf_add(out, r, f.len);
	buf_add(out, zeros, ROUND_UP(f.len, (uint32_t)SONDE_REC_ALIGN) - f.len);
	return outfile_end(s->out);
}

/* A recording may be empty, but has a header. */
static int rec_close(struct sink *s)
{
	return start(s, NULL);
}

const struct sink_ops rec_sink = {
	.name = "rec", .summary = "raw records, to be replayed exactly with -r", .suffix = ".rec",
	.flags = SINK_BINARY | SINK_RAW, .state_size = sizeof(struct rec), .record = rec_record, .close = rec_close,
};
