/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A part of a segment as a segment of its own.
 */
#ifndef STORE_STORE_CUT_H
#define STORE_STORE_CUT_H

#include <stdint.h>

struct store_query;

/* When the stream of the segment @fd begins and ends, wall clock; both 0 without a record. 0 or -errno. */
int store_cut_span(int fd, int64_t *ret_from_ns, int64_t *ret_to_ns);

/*
 * Writes to the empty file @to_fd what the segment @fd has from q->since_ns on, and in front of it the state before
 * that, by q->is_state. The ledgers are left out: they count all of the segment. 0 or -errno.
 */
int store_cut(int fd, int to_fd, const struct store_query *q);

#endif
