// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Positions of bytes and numbers of records only grow; their remainders are places in the two rings.
 */
#include "pipeline/shared_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

struct shared_log {
	size_t size, max_records;
	char *bytes;		/* owned; size of them */
	uint64_t *starts;	/* owned; where each record begins; max_records of them */
	uint64_t first, end;	/* numbers of the oldest record and of the next new one */
	uint64_t tail, head;	/* positions of the oldest byte and behind the newest */
	struct log_reader *readers;
};

struct shared_log *shared_log_new(size_t bytes, size_t records)
{
	struct shared_log *l = calloc(1, sizeof(*l));

	if (l)
		*l = (struct shared_log){ .size = bytes, .max_records = records };
	return l;
}

void shared_log_free(struct shared_log *l)
{
	if (!l)
		return;
	free(l->bytes);
	free(l->starts);
	free(l);
}

int shared_log_join(struct shared_log *l, struct log_reader *r)
{
	if (!l->bytes)
		l->bytes = malloc(l->size);
	if (!l->starts)
		l->starts = calloc(l->max_records, sizeof(*l->starts));
	if (!l->bytes || !l->starts)
		return -ENOMEM;
	r->next = l->end;
	r->next_reader = l->readers;
	l->readers = r;
	return 0;
}

void shared_log_leave(struct shared_log *l, struct log_reader *r)
{
	for (struct log_reader **at = &l->readers; *at; at = &(*at)->next_reader)
		if (*at == r) {
			*at = r->next_reader;
			break;
		}
	buf_fini(&r->rest);
}

static uint64_t start_of(const struct shared_log *l, uint64_t record)
{
	return record == l->end ? l->head : l->starts[record % l->max_records];
}

/* The bytes of [from, to), which may lie across the end of the ring. */
static int pieces(const struct shared_log *l, uint64_t from, uint64_t to, struct iovec iov[static 2])
{
	size_t at = from % l->size, len = (size_t)(to - from), first = MIN(len, l->size - at);

	if (!len)
		return 0;
	iov[0] = (struct iovec){ .iov_base = l->bytes + at, .iov_len = first };
	iov[1] = (struct iovec){ .iov_base = l->bytes, .iov_len = len - first };
	return first < len ? 2 : 1;
}

/* A reader in the middle of the record that goes keeps the end of it; without memory for that it reads it never. */
static void save_rest(const struct shared_log *l, struct log_reader *r, uint64_t from, uint64_t to)
{
	struct iovec iov[2];
	int n = pieces(l, from + r->off, to, iov);

	buf_reset(&r->rest);
	r->rest_off = 0;
	for (int i = 0; i < n; i++)
		buf_add(&r->rest, iov[i].iov_base, iov[i].iov_len);
	r->off = 0;
	r->next++;
	r->taken++;
}

static void drop_first(struct shared_log *l)
{
	uint64_t from = l->tail, to = start_of(l, l->first + 1);

	for (struct log_reader *r = l->readers; r; r = r->next_reader)
		if (r->next == l->first && r->off)
			save_rest(l, r, from, to);
	l->tail = to;
	l->first++;
}

int shared_log_add(struct shared_log *l, const void *data, size_t len)
{
	struct iovec iov[2];
	int n;

	if (!l->readers)
		return 0;
	if (len > l->size / 2)
		return -EMSGSIZE;
	while (l->size - (size_t)(l->head - l->tail) < len || l->end - l->first >= l->max_records)
		drop_first(l);
	n = pieces(l, l->head, l->head + len, iov);
	for (int i = 0; i < n; i++) {
		memcpy(iov[i].iov_base, data, iov[i].iov_len);
		data = (const char *)data + iov[i].iov_len;
	}
	l->starts[l->end % l->max_records] = l->head;
	l->head += len;
	l->end++;
	return 0;
}

uint64_t shared_log_gap(struct shared_log *l, struct log_reader *r)
{
	uint64_t gap = r->next < l->first ? l->first - r->next : 0;

	r->next += gap;
	r->lost += gap;
	return gap;
}

int shared_log_peek(const struct shared_log *l, const struct log_reader *r, size_t most, struct iovec iov[static 2])
{
	uint64_t from;

	if (r->rest_off < r->rest.len) {
		iov[0] = (struct iovec){ .iov_base = r->rest.data + r->rest_off,
					 .iov_len = MIN(most, r->rest.len - r->rest_off) };
		return 1;
	}
	if (r->next < l->first || r->next >= l->end)
		return 0;
	from = start_of(l, r->next) + r->off;
	return pieces(l, from, from + MIN((uint64_t)most, l->head - from), iov);
}

void shared_log_take(const struct shared_log *l, struct log_reader *r, size_t len)
{
	if (r->rest_off < r->rest.len) {
		r->rest_off += len;
		if (r->rest_off >= r->rest.len) {
			buf_reset(&r->rest);
			r->rest_off = 0;
		}
		return;
	}
	len += r->off;
	while (r->next < l->end) {
		size_t whole = (size_t)(start_of(l, r->next + 1) - start_of(l, r->next));

		if (len < whole)
			break;
		len -= whole;
		r->next++;
		r->taken++;
	}
	r->off = len;
}
