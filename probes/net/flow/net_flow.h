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
struct net_parts;
struct net_tc_progs;

int net_flow_load(const struct net_parts *all, uint32_t netns, struct net_tc_progs *ret, struct err *err);
int net_flow_fd(const struct net_flows *f); /* of the map net_flows */

/* Inside the namespace, before the next two: completes flows from connection tracking. @ctx: the flows. */
int net_flow_query(void *ctx);

/* Reports and removes flows that closed a while ago or exceeded the idle time. */
void net_flow_sweep(struct net_flows *f);

/* After detaching: reports all remaining flows. */
void net_flow_end(struct net_flows *f);

#endif
