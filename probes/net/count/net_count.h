/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports counters: the sums of our programs in a map, or those of another datapath in a pinned one.
 */
#ifndef NET_NET_COUNT_H
#define NET_NET_COUNT_H

#include <stdbool.h>

struct err;
struct net_count_conf;
struct net_counts;
struct net_names;
struct probe;

/* True if another datapath counts: no programs are loaded. */
bool net_count_foreign(const struct net_count_conf *conf);
/* Call after the programs are loaded. @names is borrowed. */
int net_count_open(struct probe *p, struct net_names *names, struct net_counts **ret, struct err *err);
/* Starts periodic reports, if the configuration has an interval. */
int net_count_start(struct net_counts *c, struct err *err);
/* Emits the sums since the last report as records, and adds them to the ledger. */
void net_count_emit(struct net_counts *c);
void net_count_close(struct net_counts *c); /* NULL is fine */

#endif
