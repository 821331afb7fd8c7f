/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rule file of a run, in the kernel: programs for a namespace's interfaces, tables that are replaced as a whole.
 */
#ifndef NET_NET_POLICY_H
#define NET_NET_POLICY_H

#include <stdint.h>

struct err;
struct net_policy;
struct net_setup;
struct net_tc_progs;
struct probe;

/* Reads the rules of the configuration. -EINVAL with "NAME:LINE:COLUMN: sentence". */
int net_policy_open(struct probe *p, const struct net_setup *s, struct net_policy **ret, struct err *err);
void net_policy_close(struct net_policy *n);	/* NULL is fine */

/* Programs for namespace @netns (inode), with the rules in place. */
int net_policy_load(struct net_policy *n, uint32_t netns, struct net_tc_progs *ret, struct err *err);

/*
 * Other rules: they hold for all packets of all interfaces from one moment on. When they cannot be had (a mistake
 * in them, no memory) those that hold go on, and @err says why.
 */
int net_policy_replace(struct net_policy *n, const char *text, struct err *err);

#endif
