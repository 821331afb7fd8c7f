/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drops by the tracepoint kfree_skb, of all interfaces and namespaces.
 */
#ifndef NET_DROP_H
#define NET_DROP_H

#include <stdint.h>

struct err;
struct net_drop;
struct net_setup;
struct probe;
struct probe_env;

/* Loads the program that fits the running kernel's tracepoint; it takes stacks if @p's configuration is verbose. */
int net_drop_open(struct probe *p, const struct net_setup *s, struct net_drop **ret, struct err *err);
int net_drop_attach(struct net_drop *d, struct err *err);
void net_drop_detach(struct net_drop *d);
/* Counts drops in namespace @netns with their flows, in the map @flows_fd. */
int net_drop_flows(struct net_drop *d, uint32_t netns, int flows_fd);
void net_drop_close(struct net_drop *d); /* accepts NULL */

/* Number of arguments of the tracepoint (2, 3 or 4); 0 if the kernel lacks the tracepoint or its BTF. */
int net_drop_args(struct probe_env *env);
/* Puts the running kernel's names of drop reasons into the stream. */
int net_drop_names(struct probe_env *env);

#endif
