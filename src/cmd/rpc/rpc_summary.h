/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls counted by method: rate, errors, latencies.
 */
#ifndef CMD_RPC_SUMMARY_H
#define CMD_RPC_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct event;
struct rpc_summary;
struct sink_ops;

int rpc_summary_new(struct rpc_summary **ret);	/* 0 or -ENOMEM */
void rpc_summary_free(struct rpc_summary *s);	/* NULL is fine */

/*
 * Ends an interval at @now_ns and begins the next one; tables show what it had beside the whole. The first call only
 * begins one.
 */
void rpc_summary_interval(struct rpc_summary *s, uint64_t now_ns);

/*
 * The table, most calls first (of the interval, where there is one); at most @max rows, 0 = all. @json: an object a
 * row. Percentiles are right within 4 %. The time it covers is that between the first and the last event.
 */
int rpc_summary_print(const struct rpc_summary *s, bool json, unsigned max, struct buf *out);

/* A sink that adds every event; its context is the struct rpc_summary. */
extern const struct sink_ops rpc_summary_sink;

#endif
