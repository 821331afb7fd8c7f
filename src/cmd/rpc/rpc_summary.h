/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls counted by method: rate, errors, latencies.
 */
#ifndef CMD_RPC_SUMMARY_H
#define CMD_RPC_SUMMARY_H

#include <stdbool.h>

struct buf;
struct rpc_summary;

/* @raw: paths and other resources with the ids in them. 0 or -ENOMEM. */
int rpc_summary_new(bool raw, struct rpc_summary **ret);
void rpc_summary_free(struct rpc_summary *s);	/* NULL is fine */

/*
 * The table, most calls first. @json: an object per
 * row. Percentiles are right within 4 %. It covers the time between the first and the last event.
 */
int rpc_summary_print(const struct rpc_summary *s, bool json, struct buf *out);

/* A sink that adds every event; its context is the struct rpc_summary. */
extern const struct sink_ops rpc_summary_sink;

#endif
