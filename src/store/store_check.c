// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/store_check.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/macros.h"
#include "store/store_reader.h"
#include "store/store_scan.h"

static void sum_blocks(const struct store_scan *s, struct store_segment_facts *ret)
{
	vec_each(b, &s->index.blocks) {
		if (b->role != SONDE_STORE_DATA)
			continue;
		if (b->n && (!ret->records || b->t_min < ret->t_min))
			ret->t_min = b->t_min;
		ret->t_max = MAX(ret->t_max, b->t_max);
		ret->blocks++;
		ret->records += b->n;
		ret->raw_bytes += b->rlen;
	}
}

/* As the pipeline counts: neither state nor sums nor its own records. */
static int on_record(void *ctx, const struct sonde_rec *r)
{
	struct store_segment_facts *f = ctx;
	const unsigned instance = r->instance % SONDE_INSTANCES;
	struct sonde_ledger_rec l;

	f->read++;
	if (r->type >> 8 && !(r->flags & SONDE_RF_UNCOUNTED))
		f->by_instance[instance]++;
	if (r->type == SONDE_EV_LEDGER && r->len >= sizeof(l)) {
		memcpy(&l, r, sizeof(l));
		f->delivered[instance] = l.delivered;
		f->has_ledger = true;
		f->read--;
	}
	return 0;
}

static void decode(int fd, struct store_segment_facts *ret)
{
	const struct store_query all = { 0 };
	struct store_reader *r = NULL;
	struct err err = { 0 };
	int n = store_reader_new(&all, &r);

	if (n >= 0)
		n = store_reader_segment(r, fd, on_record, ret, &err);
	if (n >= 0)
		n = store_reader_end(r, on_record, ret);
	if (n >= 0) {
		ret->damages = store_reader_report(r)->damages;
		ret->damaged_bytes = store_reader_report(r)->damaged_bytes;
	}
	ret->error = n < 0 ? n : 0;
	ret->decoded = n >= 0;
	store_reader_free(r);
}

void store_check_segment(int fd, bool with_records, struct store_segment_facts *ret)
{
	struct store_scan s = { 0 };
	struct err err = { 0 };

	*ret = (struct store_segment_facts){ .error = store_scan_open(fd, &s, &err) };
	if (ret->error >= 0) {
		ret->indexed = s.indexed;
		ret->run = s.head.run;
		ret->major = s.head.major;
		ret->minor = s.head.minor;
		ret->begins_run = s.head.number == s.head.first;
		ret->start_ns = s.head.start_ns;
		ret->clock_offset_ns = s.head.clock_offset_ns;
		ret->lost = s.indexed ? s.foot.lost : 0;
		memcpy(ret->boot_id, s.head.boot_id, sizeof(ret->boot_id));
		snprintf(ret->host, sizeof(ret->host), "%.63s", s.head.host);
		snprintf(ret->release, sizeof(ret->release), "%.63s", s.head.release);
		snprintf(ret->options, sizeof(ret->options), "%.511s", s.head.options);
		sum_blocks(&s, ret);
	}
	store_scan_fini(&s);
	if (ret->error >= 0 && with_records)
		decode(fd, ret);
}
