/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connections that listeners refuse, of all interfaces and namespaces: tracepoints consume_skb and kfree_skb, and the
 * kernel's counters on each CPU.
 */
#ifndef NET_REFUSED_H
#define NET_REFUSED_H

struct err;
struct net_refused;
struct net_setup;
struct probe;

int net_refused_open(struct probe *p, const struct net_setup *s, struct net_refused **ret, struct err *err);
/* Attaches, and reads the counters of every namespace on every CPU. */
int net_refused_attach(struct net_refused *n, struct err *err);
/* Reads the counters again, and detaches. */
void net_refused_detach(struct net_refused *n);
/* Compares the kernel's count with that of the programs: a record for each namespace with refused connections. */
void net_refused_emit(struct net_refused *n);
void net_refused_close(struct net_refused *n); /* accepts NULL */

#endif
