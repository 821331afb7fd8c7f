/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Spans or log records by process, as one request of OTLP: at most 512 items, 512 KiB, or those of a second of the
 * stream's time, so a recording always gives the same requests.
 */
#ifndef SINKS_OTLP_BATCH_H
#define SINKS_OTLP_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/vec.h"
#include "sinks/otlp/otlp_kv.h"
#include "sinks/otlp/otlp_resource.h"

struct sink;

/* Items of one process in a batch. */
struct otlp_process {
	uint64_t start_ns;
	uint32_t tgid;		/* 0 = of the host */
	struct buf resource, items;
};

/* Starts zeroed. */
struct otlp_batch {
	VEC(struct otlp_process) processes;	/* n_processes of this batch, then empty ones for reuse */
	size_t n_processes, n_items, bytes;
	uint64_t first_ns;		/* event time of the first item */
	uint64_t since_ns;		/* arrival of that item */
	struct buf message, part;
	struct otlp_kv kv;
};

void otlp_batch_fini(struct otlp_batch *b);

/* Does the batch have to go before an item of @ev? */
bool otlp_batch_is_due(const struct otlp_batch *b, const struct event *ev);
/* Has its first item waited long enough for a server? */
bool otlp_batch_is_late(const struct otlp_batch *b);
/* Adds an encoded item of @ev. 0 or -ENOMEM. */
int otlp_batch_add(struct otlp_batch *b, const struct sink *s, const struct event *ev, const struct buf *item);
/*
 * The same in two steps: an item of @ev counts from now on, *ret_process is its process. The second step, before the
 * batch goes, adds it.
 */
int otlp_batch_reserve(struct otlp_batch *b, const struct sink *s, const struct event *ev, size_t *ret_process);
void otlp_batch_fill(struct otlp_batch *b, size_t process, const struct buf *item);
/* Writes the request and empties the batch; nothing without items. */
int otlp_batch_put(struct otlp_batch *b, struct sink *s);

#endif
