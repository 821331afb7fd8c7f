/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connections that listeners refuse, of all interfaces and namespaces: tracepoints consume_skb and kfree_skb, and the
 * kernel's counters on each CPU.
 */
#ifndef NET_REFUSED_H
#define NET_REFUSED_H

extern const struct net_part net_refused_part;

#endif
