// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/store_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/io.h"
#include "base/macros.h"
#include "sonde/sampling_wire.h"
#include "store/store_decode.h"
#include "store/store_scan.h"

/* A block in memory, of which chunks are decoded in order. */
struct loaded {
	struct store_decode *decode;	/* owned */
	struct buf data;
	size_t at;			/* of the next chunk */
	uint32_t next;			/* its number */
	size_t block;			/* index of the block; SIZE_MAX = none */
};

struct ledger {
	struct sonde_ledger_rec last, before;	/* of the current run, and the sum of the runs before */
	bool has;
};

struct store_reader {
	struct store_query q;
	struct store_report report;
	struct loaded stream, copy;
	struct ledger ledgers[SONDE_INSTANCES];
	uint64_t run, number;	/* of the segment before */
	bool follows;		/* the next segment continues the state of the one before */
	bool partial;		/* something was left out: the ledgers would not fit */
	bool has_ledger;	/* the last segment */
	bool hole;		/* records of the stream were left out since the last one delivered */
	bool needs_state;	/* of the followed segment */
	bool skips_block;	/* further chunks of the current block of the followed segment are left out */
	/* of the current delivery */
	store_fn fn;
	void *ctx;
	enum filter { ALL, STATE_ONLY, LEDGERS_ONLY, NO_LEDGERS, FILTER__MAX } filter;
};

DEFINE_CLEANUP(struct store_reader *, store_reader_free)

int store_reader_new(const struct store_query *q, struct store_reader **ret)
{
	_cleanup_(store_reader_freep) struct store_reader *r = calloc(1, sizeof(*r));

	if (!r || store_decode_new(&r->stream.decode) < 0 || store_decode_new(&r->copy.decode) < 0)
		return -ENOMEM;
	r->q = *q;
	*ret = TAKE_PTR(r);
	return 0;
}

void store_reader_free(struct store_reader *r)
{
	if (!r)
		return;
	store_decode_free(r->stream.decode);
	store_decode_free(r->copy.decode);
	buf_fini(&r->stream.data);
	buf_fini(&r->copy.data);
	free(r);
}

const struct store_report *store_reader_report(const struct store_reader *r)
{
	return &r->report;
}

/* ---- records ---- */

static bool is_state(const struct store_reader *r, const struct sonde_rec *rec)
{
	return rec->flags & SONDE_RF_SNAPSHOT || rec->type == SONDE_EV_SAMPLING ||
	       (r->q.is_state && r->q.is_state(r->q.ctx, rec->type));
}

static void take_ledger(struct store_reader *r, const struct sonde_rec *rec)
{
	struct ledger *l = &r->ledgers[rec->instance % SONDE_INSTANCES];

	memset(&l->last, 0, sizeof(l->last));
	memcpy(&l->last, rec, MIN((size_t)rec->len, sizeof(l->last)));
	l->has = r->has_ledger = true;
}

static int on_record(void *ctx, const struct sonde_rec *rec)
{
	struct store_reader *r = ctx;

	if (rec->type == SONDE_EV_LEDGER) {
		if (r->filter != NO_LEDGERS)
			take_ledger(r, rec);
		return 0;
	}
	if (r->filter == LEDGERS_ONLY || (r->filter == STATE_ONLY && !is_state(r, rec)))
		return 0;
	r->report.records++;
	return r->fn(r->ctx, rec);
}

/* ---- blocks ---- */

static int load(const struct store_scan *s, size_t block, struct loaded *to)
{
	const struct sonde_store_block *b = &s->index.blocks.items[block];
	size_t done = 0;
	char *at;

	to->at = to->next = 0;
	to->block = block;
	buf_reset(&to->data);
	at = buf_reserve(&to->data, b->len);
	if (!at)
		return -ENOMEM;
	while (done < b->len) {
		ssize_t n = TEMP_FAILURE_RETRY(pread(s->fd, at + done, b->len - done, (off_t)(b->off + done)));

		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	buf_commit(&to->data, done);
	return 0;
}

/* Decodes the next chunk. 1, 0 at the end of the block, -EBADMSG, or the return of the callback. */
static int next_chunk(struct store_reader *r, struct loaded *l, bool deliver)
{
	const char *data = l->data.data + l->at;
	const int64_t len = store_decode_size(data, l->data.len - l->at);
	int ret;

	if (l->at == l->data.len)
		return 0;
	if (len <= 0 || (uint64_t)len > l->data.len - l->at)
		return -EBADMSG;
	ret = store_decode_chunk(l->decode, data, deliver ? on_record : NULL, r);
	if (ret < 0)
		return ret;
	l->at += (size_t)len;
	l->next++;
	return 1;
}

static void note_damage(struct store_reader *r, const struct sonde_store_block *b, uint64_t bytes)
{
	struct store_report *p = &r->report;

	p->damages++;
	p->damaged_bytes += bytes;
	p->from_ns = p->from_ns ? p->from_ns : b->t_min;
	p->to_ns = MAX(p->to_ns, b->t_max);
	r->partial = true;
	r->follows = false;
}

static int read_block(struct store_reader *r, const struct store_scan *s, size_t i, enum filter filter)
{
	int ret = load(s, i, &r->stream);

	r->filter = filter;
	while (ret >= 0) {
		ret = next_chunk(r, &r->stream, true);
		if (ret == 0)
			return 0;
	}
	if (ret != -EBADMSG)
		return ret;
	note_damage(r, &s->index.blocks.items[i], s->index.blocks.items[i].len - r->stream.at);
	return 0;
}

/* The mark of a hole, if there is one, in front of the records at @ts_ns. */
static int deliver_mark(struct store_reader *r, uint64_t ts_ns)
{
	const struct sonde_rec mark = {
		.ts_ns = ts_ns, .len = sizeof(mark), .type = SONDE_EV_TICK, .flags = SONDE_RF_SKIPPED,
	};

	if (!r->hole)
		return 0;
	r->hole = false;
	return r->fn(r->ctx, &mark);
}

/* A block of the stream, behind the mark of a hole before it. */
static int read_data(struct store_reader *r, const struct store_scan *s, size_t i)
{
	const int ret = deliver_mark(r, s->index.blocks.items[i].t_min);

	return ret < 0 ? ret : read_block(r, s, i, ALL);
}

/* The block with the copy of block @i; SIZE_MAX if there is none. */
static size_t find_copy(const struct store_scan *s, size_t i)
{
	for (size_t c = i + 1; c < s->index.blocks.len; c++) {
		const struct sonde_store_block *b = &s->index.blocks.items[c];

		if (b->role == SONDE_STORE_COPY)
			return b->covers <= i && i - b->covers < b->n_chunks ? c : SIZE_MAX;
	}
	return SIZE_MAX;
}

/* The state records of block @i, without reading it if there is a copy of them. */
static int read_state_of(struct store_reader *r, const struct store_scan *s, size_t i)
{
	const size_t c = find_copy(s, i);
	uint32_t want;
	int ret = 1;

	if (c == SIZE_MAX)
		return read_block(r, s, i, STATE_ONLY);
	want = (uint32_t)(i - s->index.blocks.items[c].covers);
	if (r->copy.block != c || r->copy.next > want)
		ret = load(s, c, &r->copy);
	r->filter = ALL;
	while (ret >= 0 && r->copy.next < want)
		ret = next_chunk(r, &r->copy, false) ?: -EBADMSG;
	if (ret >= 0)
		ret = next_chunk(r, &r->copy, true) ?: -EBADMSG;
	r->copy.block = ret < 0 ? SIZE_MAX : c;
	return ret == -EBADMSG ? read_block(r, s, i, STATE_ONLY) : MIN(ret, 0);
}

/* ---- which ones ---- */

static bool is_in_time(const struct store_reader *r, const struct store_scan *s, const struct sonde_store_block *b)
{
	/* unsigned: the sums of a damaged index may wrap */
	const int64_t from = (int64_t)(b->t_min + (uint64_t)s->index.offset_min_ns),
		      to = (int64_t)(b->t_max + (uint64_t)s->index.offset_max_ns);

	return (!r->q.since_ns || to >= r->q.since_ns - (int64_t)STORE_LEAD_NS) &&
	       (!r->q.until_ns || from <= r->q.until_ns);
}

static bool has_key(const struct store_index *x, const struct sonde_store_block *b, unsigned by,
		    const struct store_keys *keys)
{
	for (size_t i = 0; i < keys->len; i++)
		if (store_index_may_have(x, b, by, keys->items[i]))
			return true;
	return !keys->len || (keys->unknown && store_index_has_probe(x, b, keys->unknown));
}

static bool is_selected(const struct store_reader *r, const struct store_scan *s, size_t i)
{
	const struct sonde_store_block *b = &s->index.blocks.items[i];

	if (b->role != SONDE_STORE_DATA || !is_in_time(r, s, b))
		return false;
	if (r->q.probes && !store_index_has_probe(&s->index, b, r->q.probes))
		return false;
	for (unsigned by = 0; by < SONDE_STORE_BY__MAX; by++)
		if (!has_key(&s->index, b, by, &r->q.keys[by]))
			return false;
	return true;
}

static size_t last_selected(const struct store_reader *r, const struct store_scan *s)
{
	for (size_t i = s->index.blocks.len; i-- > 0;)
		if (is_selected(r, s, i))
			return i;
	return SIZE_MAX;
}

static bool asks_all(const struct store_query *q)
{
	for (unsigned by = 0; by < SONDE_STORE_BY__MAX; by++)
		if (q->keys[by].len)
			return false;
	return !q->since_ns && !q->until_ns && !q->probes;
}

/* ---- a segment ---- */

static int read_role(struct store_reader *r, const struct store_scan *s, uint8_t role, enum filter filter)
{
	int ret = 0;

	for (size_t i = 0; ret >= 0 && i < s->index.blocks.len; i++)
		if (s->index.blocks.items[i].role == role)
			ret = read_block(r, s, i, filter);
	return ret;
}

static int read_stream(struct store_reader *r, const struct store_scan *s, size_t last)
{
	int ret = 0;

	for (size_t i = 0; ret >= 0 && i < s->index.blocks.len; i++) {
		if (s->index.blocks.items[i].role != SONDE_STORE_DATA)
			continue;
		if (last != SIZE_MAX && i <= last && is_selected(r, s, i)) {
			r->report.blocks++;
			ret = read_data(r, s, i);
			continue;
		}
		r->report.skipped_blocks++;
		r->partial = r->hole = true;
		if (last != SIZE_MAX && i < last)
			ret = read_state_of(r, s, i);
		else
			r->follows = false;
	}
	return ret;
}

static void add_ledger(struct sonde_ledger_rec *sum, const struct sonde_ledger_rec *l)
{
	sum->seen += l->seen;
	sum->delivered += l->delivered;
	sum->filtered += l->filtered;
	sum->sampled += l->sampled;
	for (unsigned i = 0; i < SONDE_LOST__MAX; i++)
		sum->lost[i] += l->lost[i];
}

/* Another run counts from 0. */
static void close_run(struct store_reader *r)
{
	for (unsigned i = 0; i < SONDE_INSTANCES; i++) {
		add_ledger(&r->ledgers[i].before, &r->ledgers[i].last);
		r->ledgers[i].last = (struct sonde_ledger_rec){ 0 };
	}
}

static void begin_segment(struct store_reader *r, const struct sonde_store_head *h)
{
	const bool same_run = r->report.segments && h->run == r->run;

	if (r->report.segments && !same_run) {
		r->partial |= !r->has_ledger;
		close_run(r);
	}
	r->has_ledger = false;
	if (!same_run || h->number != r->number + 1)
		r->follows = false;
	if (h->number != (same_run ? r->number + 1 : h->first))
		r->partial = true;	/* segments between, or before, were removed */
	if (r->report.segments && !r->follows)
		r->hole = true;
	r->run = h->run;
	r->number = h->number;
	r->report.segments++;
	r->copy.block = r->stream.block = SIZE_MAX;
}

static int read_parts(struct store_reader *r, const struct store_scan *s)
{
	const size_t last = last_selected(r, s);
	int ret = 0;

	if (last == SIZE_MAX && !asks_all(&r->q)) {
		r->report.skipped_segments++;
		r->partial = r->hole = true;
		r->follows = false;
		return 0;
	}
	if (!r->follows)
		ret = read_role(r, s, SONDE_STORE_STATE, ALL);
	r->follows = true;
	if (ret >= 0)
		ret = read_role(r, s, SONDE_STORE_NAMES, NO_LEDGERS);
	if (ret >= 0)
		ret = read_stream(r, s, last);
	return ret < 0 ? ret : read_role(r, s, SONDE_STORE_NAMES, LEDGERS_ONLY);
}

int store_reader_segment(struct store_reader *r, int fd, store_fn fn, void *ctx, struct err *err)
{
	_cleanup_(store_scan_fini) struct store_scan s = { 0 };
	int ret = store_scan_open(fd, &s, err);

	if (ret < 0)
		return ret;
	r->fn = fn;
	r->ctx = ctx;
	begin_segment(r, &s.head);
	if (s.skipped) {
		r->report.damages++;
		r->report.damaged_bytes += s.skipped;
		r->partial = true;
	}
	return read_parts(r, &s);
}

/* ---- a segment that grows ---- */

/* 1; 0 if the file does not have @len bytes at @off yet; -errno. */
static int read_ready(int fd, void *to, size_t len, uint64_t off)
{
	int r = io_read_at(fd, to, len, off);

	return r == -ENODATA ? 0 : r < 0 ? r : 1;
}

static int follow_head(struct store_reader *r, int fd, uint64_t *off, struct err *err)
{
	struct sonde_store_head h;
	int ret = read_ready(fd, &h, sizeof(h), 0);

	if (ret > 0)
		ret = store_decode_head(&h, err) < 0 ? -EBADMSG : 1;
	if (ret <= 0)
		return ret;
	begin_segment(r, &h);
	r->needs_state = !r->follows;
	r->follows = true;
	r->skips_block = false;
	*off = sizeof(h);
	return 1;
}

/* Damage, too, ends with the next block. */
static int follow_chunk(struct store_reader *r, const struct sonde_store_chunk *h)
{
	int ret = 0;

	if (h->kind == SONDE_STORE_BLOCK)
		r->skips_block = h->role == SONDE_STORE_COPY || (h->role == SONDE_STORE_STATE && !r->needs_state);
	if (r->skips_block)
		return 0;
	if (h->role == SONDE_STORE_DATA)
		ret = deliver_mark(r, h->t_min);
	r->filter = ALL;
	if (ret >= 0)
		ret = store_decode_chunk(r->stream.decode, r->stream.data.data, on_record, r);
	if (ret != -EBADMSG)
		return ret;
	r->report.damages++;
	r->partial = r->skips_block = true;
	return 0;
}

/* Behind damage: the next block. 1, or 0 if there is none yet. */
static int follow_seek(struct store_reader *r, int fd, uint64_t *off)
{
	const uint64_t keep = ROUND_UP(sizeof(struct sonde_store_chunk), SONDE_STORE_ALIGN);
	struct stat st;
	uint64_t end, next;

	if (fstat(fd, &st) < 0)
		return -errno;
	end = (uint64_t)st.st_size;
	next = store_scan_seek(fd, *off + SONDE_STORE_ALIGN, end);
	r->report.damages += !r->skips_block;
	r->partial = r->skips_block = true;
	if (next < end) {
		*off = next;
		return 1;
	}
	if (end > *off + keep)	/* the last bytes may begin a header */
		*off += (end - *off - keep) / SONDE_STORE_ALIGN * SONDE_STORE_ALIGN;
	return 0;
}

int store_reader_follow(struct store_reader *r, int fd, uint64_t *off, store_fn fn, void *ctx, struct err *err)
{
	int ret = 1;

	r->fn = fn;
	r->ctx = ctx;
	if (!*off)
		ret = follow_head(r, fd, off, err);
	while (ret > 0) {
		struct sonde_store_chunk h;
		int64_t len;
		char *data;

		ret = read_ready(fd, &h, sizeof(h), *off);
		if (ret <= 0)
			return ret;
		len = store_decode_size(&h, sizeof(h));
		if (len <= 0) {
			ret = follow_seek(r, fd, off);
			continue;
		}
		buf_reset(&r->stream.data);
		data = buf_reserve(&r->stream.data, (size_t)len);
		if (!data)
			return -ENOMEM;
		/* the header that was checked, not another look at a file that may change */
		memcpy(data, &h, sizeof(h));
		ret = read_ready(fd, data + sizeof(h), (size_t)len - sizeof(h), *off + sizeof(h));
		if (ret > 0 && h.kind == SONDE_STORE_INDEX)
			return 1;
		if (ret <= 0)
			return ret;
		*off += (uint64_t)len;
		ret = follow_chunk(r, &h);
		ret = ret < 0 ? ret : 1;
	}
	return ret;
}

int store_reader_end(struct store_reader *r, store_fn fn, void *ctx)
{
	int ret = 0;

	if (r->partial || !r->has_ledger)
		return 0;
	for (unsigned i = 0; ret >= 0 && i < SONDE_INSTANCES; i++) {
		struct ledger *l = &r->ledgers[i];

		if (!l->has)
			continue;
		add_ledger(&l->last, &l->before);
		l->last.hdr.len = sizeof(l->last);
		ret = fn(ctx, &l->last.hdr);
	}
	return ret;
}
