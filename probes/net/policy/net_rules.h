/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the rules of each running `sonde policy` count: the kernel shows its maps to whoever may load programs.
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

/* @key: its location tells the rule from those of all others; its name was told. @file: number of the rule file. */
typedef int (*net_rules_fn)(void *ctx, const struct net_count_key *key, uint8_t file);

/* @names is borrowed. -ENOENT where no policy runs, -EPERM where the kernel shows no maps, with a sentence. */
int net_rules_open(struct probe *p, struct net_names *names, struct net_rules **ret, struct err *err);

/* Of each rule, direction and interface what was counted so far: into @cpus, a value per possible CPU, then @fn. */
int net_rules_read(struct net_rules *r, struct net_count *cpus, net_rules_fn fn, void *ctx);

void net_rules_close(struct net_rules *r);	/* NULL is fine */

#endif
