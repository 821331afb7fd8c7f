/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cgroup hooks where socket addresses are translated; the programs sit at the root of the cgroup2 tree.
 */
#ifndef NET_NET_SOCK_H
#define NET_NET_SOCK_H

#include "probe/probe.h"

struct err;
struct net_setup;
struct net_sock;

int net_sock_open(struct probe *p, const struct net_setup *s, struct net_sock **ret, struct err *err);
int net_sock_attach(struct net_sock *s, struct err *err);
void net_sock_detach(struct net_sock *s);
void net_sock_close(struct net_sock *s);	/* NULL is fine */

/* Reports the state of each hook, for doctor. */
void net_sock_report(const struct net_sock *s, hook_report_fn fn, void *ctx);

#endif
