/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports of counters: what the programs added up in a map, or what another datapath did in one that it pinned.
 */
#ifndef NET_NET_COUNT_H
#define NET_NET_COUNT_H

#include <stdbool.h>

struct err;
struct net_count_conf;
struct net_counts;
struct net_names;
struct probe;

/* Somebody else counts: no programs are wanted. */
bool net_count_foreign(const struct net_count_conf *conf);
/* After the programs were loaded. @names is borrowed. */
int net_count_open(struct probe *p, struct net_names *names, struct net_counts **ret, struct err *err);
/* Reports at intervals, if the configuration has one. */
int net_count_start(struct net_counts *c, struct err *err);
/* What was added up since the last report, as records; and the ledger learns of it. */
void net_count_tell(struct net_counts *c);
void net_count_close(struct net_counts *c); /* NULL is fine */

#endif
