/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes for many readers of different speed: records are written once into one bounded ring, and each reader has a
 * place in it. A reader that falls behind loses whole records and is told how many; it costs nobody anything. What
 * it has begun to read it gets to the end.
 *
 * Knows no socket and no format.
 */
#ifndef AGENT_SHARED_LOG_H
#define AGENT_SHARED_LOG_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/buf.h"

struct shared_log;

/* Zeroed, then shared_log_join(). */
struct log_reader {
	struct log_reader *next_reader;	/* the log's */
	uint64_t next;		/* number of the record that is read */
	size_t off;		/* bytes of it that were taken */
	struct buf rest;	/* comes first: the end of a record that is gone, or what the owner put in front */
	size_t rest_off;	/* bytes of it that were taken */
	uint64_t taken, lost;	/* whole records */
};

/* Room for @bytes in @records; both are made when the first reader joins. NULL without memory. */
struct shared_log *shared_log_new(size_t bytes, size_t records);
void shared_log_free(struct shared_log *l);	/* NULL is fine; readers leave before */

/* A reader begins behind the last record. 0 or -ENOMEM. */
int shared_log_join(struct shared_log *l, struct log_reader *r);
void shared_log_leave(struct shared_log *l, struct log_reader *r);	/* frees what @r holds */

/* 0, -EMSGSIZE for more than half of the log, -ENOMEM; without readers nothing is kept. */
int shared_log_add(struct shared_log *l, const void *data, size_t len);

/* Records that are missing in front of the next one; they count as lost, and are told once. */
uint64_t shared_log_gap(struct shared_log *l, struct log_reader *r);
/* Up to @most bytes that come next, in place, and how many pieces they are (0 = nothing). Not across a gap. */
int shared_log_peek(const struct shared_log *l, const struct log_reader *r, size_t most, struct iovec iov[static 2]);
/* @len bytes of what peek showed are done with. */
void shared_log_take(const struct shared_log *l, struct log_reader *r, size_t len);

#endif
