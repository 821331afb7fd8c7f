/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The flows of one network namespace: the programs that count packets into them, and what the kernel side cannot
 * notice, the ends of those that fall silent.
 */
#ifndef NET_NET_FLOW_H
#define NET_NET_FLOW_H

#include <stdint.h>

struct err;
struct net_flows;
struct net_setup;
struct net_tc_progs;
struct probe;

/* Loads the programs for namespace @netns (inode); they are *ret_progs' owner's to free, before @ret. */
int net_flow_load(struct probe *p, const struct net_setup *s, uint32_t netns, struct net_flows **ret,
		  struct net_tc_progs *ret_progs, struct err *err);
int net_flow_fd(const struct net_flows *f); /* of the map net_flows */
void net_flow_free(struct net_flows *f);    /* NULL is fine */

/* Inside the namespace, before the next two: completes what connection tracking knows by now. @ctx: the flows. */
int net_flow_ask(void *ctx);

/* Tells of flows that closed a while ago or were silent for too long, and forgets them. */
void net_flow_sweep(struct net_flows *f);

/* Nothing is attached any more: tells of all that are left. */
void net_flow_end(struct net_flows *f);

#endif
