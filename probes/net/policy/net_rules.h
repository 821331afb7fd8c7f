/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters of the rules of each running `sonde policy`: the kernel shows its maps to any process that may load
 * programs.
 */
#ifndef NET_NET_RULES_H
#define NET_NET_RULES_H

#include <stdint.h>

struct err;
struct net_count;
struct net_count_key;
struct net_names;
struct net_rules;
struct probe;

/* @key: its location identifies the rule; its name is in the stream. @file: number of the rule file. */
typedef int (*net_rules_fn)(void *ctx, const struct net_count_key *key, uint8_t file);

/* @names is borrowed. -ENOENT if no policy runs, -EPERM if the kernel does not show maps, with a message. */
int net_rules_open(struct probe *p, struct net_names *names, struct net_rules **ret, struct err *err);

/* For each rule, direction and interface: reads the counts into @cpus, a value per possible CPU, then calls @fn. */
int net_rules_read(struct net_rules *r, struct net_count *cpus, net_rules_fn fn, void *ctx);

void net_rules_close(struct net_rules *r);	/* NULL is fine */

#endif
