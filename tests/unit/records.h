/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of capture files as lines of text, for comparing; and invariants of every record, whatever the file (also
 * used by the fuzz targets, hence abort() and no cmocka).
 */
#ifndef TESTS_RECORDS_H
#define TESTS_RECORDS_H

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "event/params.h"
#include "source/source.h"
#include "sonde/foreign_wire.h"
#include "sonde/scap_wire.h"

static inline void records_need(bool ok)
{
	if (!ok)
		abort();
}

static inline void records_packet(struct buf *out, const struct sonde_packet_rec *p)
{
	records_need(p->hdr.len >= sizeof(*p) && p->hdr.len - sizeof(*p) == (uint64_t)p->cap_len + p->text_len);
	records_need(p->cap_len <= p->orig_len && p->direction <= 2);
	buf_printf(out, "packet %u ts=%llu link=%u cap=%u orig=%u if=%u dir=%u pid=%u/%u text=[%.*s] sum=%llx\n",
		   p->hdr.seq, (unsigned long long)p->hdr.ts_ns, p->link, p->cap_len, p->orig_len, p->iface,
		   p->direction, p->hdr.tgid, p->hdr.tid, (int)p->text_len, (const char *)p->data + p->cap_len,
		   (unsigned long long)(p->cap_len ? p->data[0] + 256u * p->data[p->cap_len - 1] : 0));
}

static inline void records_foreign(struct buf *out, const struct sonde_foreign_rec *f)
{
	records_need(f->hdr.len == sizeof(*f) + f->len);
	buf_printf(out, "foreign %u cpu=%lld kind=%lld lost=%llu bytes=%u sum=%llx\n", f->hdr.seq, (long long)f->cpu,
		   (long long)f->kind, (unsigned long long)f->lost, f->len,
		   (unsigned long long)(f->len ? f->data[0] + 256u * f->data[f->len - 1] : 0));
}

static inline void records_scap(struct buf *out, const struct sonde_rec *r)
{
	struct params p;

	records_need((uintptr_t)(r + 1) % 8 == 0 && params_read(r + 1, r->len - sizeof(*r), &p) == 0);
	buf_printf(out, "scap %u ts=%llu tid=%lld type=%u n=%u bytes=%u\n", r->cpu, (unsigned long long)r->ts_ns,
		   (long long)p.head->tid, p.head->type, p.n, p.n ? p.end[p.n - 1] : 0);
}

/* A source_fn; ctx is the struct buf that takes the lines. */
static inline int records_line(void *ctx, const struct sonde_rec *r)
{
	const struct sonde_name_rec *n = (const void *)r;
	const struct sonde_host_rec *h = (const void *)r;
	const struct sonde_clock_rec *c = (const void *)r;
	struct buf *out = ctx;

	records_need(r->len >= sizeof(*r));
	switch (r->type) {
	case SONDE_EV_HOST:
		records_need(r->len == sizeof(*h) && !h->release[sizeof(h->release) - 1] &&
			     !h->machine[sizeof(h->machine) - 1]);
		buf_printf(out, "host %s %s\n", h->release, h->machine);
		break;
	case SONDE_EV_CLOCK:
		records_need(r->len == sizeof(*c));
		buf_printf(out, "clock %lld\n", (long long)c->offset_ns);
		break;
	case SONDE_EV_NAME:
		records_need(r->len == sizeof(*n) + n->name_len);
		buf_printf(out, "name %u %llu %.*s\n", n->space, (unsigned long long)n->key, (int)n->name_len,
			   n->name);
		break;
	case SONDE_EV_FOREIGN:
		records_foreign(out, (const void *)r);
		break;
	case SONDE_EV_PACKET:
		records_packet(out, (const void *)r);
		break;
	case SONDE_EV_SCAP:
	case SONDE_EV_SCAP_ROW:
		records_scap(out, r);
		break;
	default:
		abort();
	}
	return 0;
}

/*
 * Parses the whole of @data in windows that grow by @step bytes, each in an allocation of its exact size. Lines go
 * to @out. Returns 0 or the error.
 */
static inline int records_parse(const struct source_ops *ops, const void *data, size_t len, size_t step,
				struct buf *out, struct err *err)
{
	void *state = calloc(1, ops->state_size);
	size_t from = 0, to = 0;
	int64_t r = 0;

	records_need(state && step);
	do {
		bool eof;
		void *window;

		to = len - to < step ? len : to + step;
		eof = to == len;
		window = malloc(to - from ? to - from : 1);
		records_need(window != NULL);
		memcpy(window, (const char *)data + from, to - from);
		r = ops->parse(state, window, to - from, eof, records_line, out, err);
		free(window);
		records_need(r <= (int64_t)(to - from));
		if (r > 0)
			from += (size_t)r;
	} while (r >= 0 && to < len);
	if (ops->fini)
		ops->fini(state);
	free(state);
	return r < 0 ? (int)r : 0;
}

#endif
