/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cgroup hooks where socket addresses are translated; the programs sit at the root of the cgroup2 tree.
 */
#ifndef NET_NET_SOCK_H
#define NET_NET_SOCK_H

#include "probe/probe.h"

struct net_sock;

extern const struct net_part net_sock_part;

/* Reports the state of each hook, for doctor. */
void net_sock_report(const struct net_sock *s, hook_report_fn fn, void *ctx);

#endif
