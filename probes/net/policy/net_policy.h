/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads the rule file of a run into the kernel: programs for the interfaces of each network namespace, and tables
 * that a reload replaces as a whole.
 */
#ifndef NET_NET_POLICY_H
#define NET_NET_POLICY_H

#include <stdint.h>

struct err;
struct net_parts;
struct net_policy;
struct net_tc_progs;

/* open() parses the rules of the configuration: -EINVAL with "NAME:LINE:COLUMN: message". */
extern const struct net_part net_policy_part;

/* The first one installs the rules, too. */
int net_policy_load(const struct net_parts *all, uint32_t netns, struct net_tc_progs *ret, struct err *err);

/* Replaces the rules of all interfaces at once. On failure (syntax error, no memory) the old rules stay active. */
int net_policy_replace(struct net_policy *n, const char *text, struct err *err);

#endif
