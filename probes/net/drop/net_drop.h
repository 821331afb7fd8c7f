/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drops by the tracepoint kfree_skb, of all interfaces and namespaces.
 */
#ifndef NET_DROP_H
#define NET_DROP_H

struct probe_env;

/* Loads the program that fits the running kernel's tracepoint; it takes stacks if the configuration is verbose. */
extern const struct net_part net_drop_part;

/* Number of arguments of the tracepoint (2, 3 or 4); 0 if the kernel lacks the tracepoint or its BTF. */
int net_drop_args(struct probe_env *env);
/* Puts the running kernel's names of drop reasons into the stream. */
int net_drop_names(struct probe_env *env);

#endif
