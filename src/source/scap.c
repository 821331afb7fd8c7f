// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Capture files of sysdig and Falco (.scap), all versions. Splits the file into blocks; scap/block.h parses them.
 *
 * The file starts like pcapng; the block after the section header distinguishes it. Captures may be concatenated.
 * Blocks of unknown type are skipped. So are events of unknown type, but they count, so event numbers match other
 * readers.
 */
#include <errno.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "event/params.h"
#include "scap/block.h"
#include "sonde/scap_wire.h"
#include "source/capture.h"

#define FRAME_BYTES 12u		/* type, length, length again */
#define SHB_MIN 28u
#define SHB_MAX 65536u		/* includes options, which sysdig does not write */
#define BLOCK_MAX (64u << 20)	/* a list is a single block */

struct scap {
	struct capture cap;
	struct params_out out;
	struct buf rec;
	uint64_t num;		/* events so far, including unknown types */
	uint64_t too_large;	/* events larger than a record */
	bool in_section, has_host;
};

static size_t scap_match_bytes(const void *head, size_t len)
{
	struct cursor c = cur_init(head, len);
	uint32_t type = cur_u32(&c), total = cur_u32(&c);

	return type == SCAP_SHB && total >= SHB_MIN && total <= SHB_MAX ? (size_t)total + 4 : 0;
}

static bool scap_match(const void *head, size_t len)
{
	struct cursor c = cur_init(head, len);
	const struct scap_block_type *t;
	uint32_t type = cur_u32(&c), total = cur_u32(&c);

	if (type != SCAP_SHB || total < SHB_MIN)
		return false;
	cur_skip(&c, total - 2 * sizeof(uint32_t));
	t = scap_block_type(cur_u32(&c));
	return cur_ok(&c) && t && t->kind != SCAP_BLOCK_SECTION;
}

static int send(struct scap *st, uint16_t type, uint16_t cpu, uint16_t flags, int64_t time_ns)
{
	struct sonde_rec head = { .type = type, .cpu = cpu, .flags = flags };
	int64_t tid = st->out.head.tid;
	void *p;

	head.tid = tid > 0 && tid <= UINT32_MAX ? (uint32_t)tid : 0;
	buf_reset(&st->rec);
	buf_add(&st->rec, &head, sizeof(head));
	if (params_write(&st->out, &st->rec) < 0)
		return buf_error(&st->rec) ? -ENOMEM : -EBADMSG;
	if (st->rec.len > SOURCE_RECORD_MAX_BYTES) {
		st->too_large++;
		return 0;
	}
	p = st->rec.data;
	if (!(flags & SONDE_RF_SNAPSHOT))
		return capture_record(&st->cap, p, st->rec.len, time_ns);
	/* Rows have no time: the first event brings the clock. */
	head.len = (uint32_t)st->rec.len;
	memcpy(p, &head, sizeof(head));
	return MIN(st->cap.fn(st->cap.ctx, p), 0);
}

static int on_row(void *ctx, const struct params_out *row)
{
	struct scap *st = ctx;

	(void)row;	/* equals st->out */
	return send(st, SONDE_EV_SCAP_ROW, 0, SONDE_RF_SNAPSHOT, 0);
}

static int parse_section(struct scap *st, struct cursor body, struct err *err)
{
	uint32_t order = cur_u32(&body);
	uint16_t major = cur_u16(&body);
	int r = 0;

	if (order == __builtin_bswap32(SCAP_BYTE_ORDER))
		return err_set(err, -EBADMSG, "the capture is of a big-endian machine; only those of little-endian "
			       "ones can be read");
	if (order != SCAP_BYTE_ORDER)
		return err_set(err, -EBADMSG, "the section at byte %llu has no byte-order mark",
			       (unsigned long long)st->cap.at);
	if (major != SCAP_MAJOR)
		return err_set(err, -EBADMSG, "scap version %u: only version %u is known", major, SCAP_MAJOR);
	if (!st->has_host)
		r = capture_host(&st->cap, NULL, 0, NULL, 0);
	st->has_host = st->in_section = true;
	return r;
}

static int bad_block(const struct scap *st, const char *problem, struct err *err)
{
	return err_set(err, -EBADMSG, "the block at byte %llu is corrupt: %s", (unsigned long long)st->cap.at,
		       problem);
}

static int parse_rows(struct scap *st, const struct scap_block_type *t, struct cursor body, struct err *err)
{
	const char *problem = "";
	int r = scap_block_rows(t, body, &st->out, on_row, st, &problem);

	if (r == -EBADMSG && !err->code)
		return bad_block(st, problem, err);
	return r;
}

static int parse_event(struct scap *st, const struct scap_block_type *t, struct cursor body, struct err *err)
{
	struct scap_event_head head;
	const char *problem;
	int r = scap_block_event(t, body, &head, &st->out, &problem);

	if (r < 0)
		return bad_block(st, problem, err);
	st->num++;
	st->out.head.num = st->num;
	if (r == 0)
		return 0;
	/* Events without time describe state from before the capture, as rows do. */
	return send(st, SONDE_EV_SCAP, head.cpu, head.ts_ns ? 0 : SONDE_RF_SNAPSHOT,
		    head.ts_ns > INT64_MAX ? INT64_MAX : (int64_t)head.ts_ns);
}

static int parse_body(struct scap *st, const struct scap_block_type *t, struct cursor body, struct err *err)
{
	switch (t->kind) {
	case SCAP_BLOCK_SECTION: return parse_section(st, body, err);
	case SCAP_BLOCK_EVENT: return parse_event(st, t, body, err);
	case SCAP_BLOCK_MACHINE:
	case SCAP_BLOCK_THREADS:
	case SCAP_BLOCK_FDS:
	case SCAP_BLOCK_IFACES:
	case SCAP_BLOCK_USERS: return parse_rows(st, t, body, err);
	case SCAP_BLOCK__MAX: break;
	}
	return -EBADMSG;
}

static int64_t parse_block(void *state, struct cursor c, struct err *err)
{
	struct scap *st = state;
	struct cursor whole = c, body;
	uint32_t number = cur_u32(&c), total = cur_u32(&c), again;
	const struct scap_block_type *t = scap_block_type(number);
	int r;

	if (!cur_ok(&c))
		return 0;
	if (!st->in_section && number != SCAP_SHB)
		return err_set(err, -EBADMSG, "not a capture file: the section header is missing");
	if (total < FRAME_BYTES || total % 4 || (t && total > BLOCK_MAX) ||
	    (number == SCAP_SHB && (total < SHB_MIN || total > SHB_MAX)))
		return err_set(err, -EBADMSG, "the block at byte %llu claims %u bytes, which is impossible",
			       (unsigned long long)st->cap.at, total);
	if (!t) {
		st->cap.skip = total;
		return 0;
	}
	if (cur_left(&whole) < total)
		return 0;
	body = cur_sub(&c, total - FRAME_BYTES);
	again = cur_u32(&c);
	if (again != total)
		return err_set(err, -EBADMSG, "the block at byte %llu has different lengths at its start and end",
			       (unsigned long long)st->cap.at);
	r = parse_body(st, t, body, err);
	return r < 0 ? r : (int64_t)total;
}

static int64_t scap_parse(void *state, const void *data, size_t len, bool eof, source_fn fn, void *ctx,
			  struct err *err)
{
	struct scap *st = state;

	st->cap.fn = fn;
	st->cap.ctx = ctx;
	return capture_blocks(&st->cap, cur_init(data, len), eof, parse_block, st, err);
}

static void scap_fini(void *state)
{
	struct scap *st = state;

	capture_fini(&st->cap);
	params_out_fini(&st->out);
	buf_fini(&st->rec);
}

const struct source_ops scap_source = {
	.name = "scap", .summary = "captures of sysdig and Falco", .state_size = sizeof(struct scap),
	.match = scap_match, .match_bytes = scap_match_bytes, .parse = scap_parse, .fini = scap_fini,
};
