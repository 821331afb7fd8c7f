/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flows of one network namespace: the programs that count packets, and the ends of idle flows, which only user space
 * can notice.
 */
#ifndef NET_NET_FLOW_H
#define NET_NET_FLOW_H

#include <stdint.h>

struct err;
struct net_flows;
struct net_setup;
struct net_tc_progs;
struct probe;

/* Loads the programs for namespace @netns (inode); free *ret_progs before @ret. */
int net_flow_load(struct probe *p, const struct net_setup *s, uint32_t netns, struct net_flows **ret,
		  struct net_tc_progs *ret_progs, struct err *err);
int net_flow_fd(const struct net_flows *f); /* of the map net_flows */
void net_flow_free(struct net_flows *f);    /* NULL is fine */

/* Inside the namespace, before the next two: completes flows from connection tracking. @ctx: the flows. */
int net_flow_query(void *ctx);

/* Reports and removes flows that closed a while ago or exceeded the idle time. */
void net_flow_sweep(struct net_flows *f);

/* After detaching: reports all remaining flows. */
void net_flow_end(struct net_flows *f);

#endif
