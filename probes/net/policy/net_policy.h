/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads the rule file of a run into the kernel: programs for the interfaces of each network namespace, and tables
 * that a reload replaces as a whole.
 */
#ifndef NET_NET_POLICY_H
#define NET_NET_POLICY_H

#include <stdint.h>

struct err;
struct net_policy;
struct net_setup;
struct net_tc_progs;
struct probe;

/* Parses the rules of the configuration. -EINVAL with "NAME:LINE:COLUMN: message". */
int net_policy_open(struct probe *p, const struct net_setup *s, struct net_policy **ret, struct err *err);
void net_policy_close(struct net_policy *n);	/* NULL is fine */

/* Loads the programs for namespace @netns (inode) and installs the rules. */
int net_policy_load(struct net_policy *n, uint32_t netns, struct net_tc_progs *ret, struct err *err);

/* Replaces the rules of all interfaces at once. On failure (syntax error, no memory) the old rules stay active. */
int net_policy_replace(struct net_policy *n, const char *text, struct err *err);

#endif
