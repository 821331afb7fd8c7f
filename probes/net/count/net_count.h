/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports counters: the sums of our programs in a map, or those of another datapath in a pinned one.
 */
#ifndef NET_NET_COUNT_H
#define NET_NET_COUNT_H

#include <stdbool.h>

struct net_count_conf;

/* True if another datapath counts: no programs are loaded. */
bool net_count_foreign(const struct net_count_conf *conf);
/* Each report has the sums since the last one, as records, and adds them to the ledger. */
extern const struct net_part net_count_part;

#endif
