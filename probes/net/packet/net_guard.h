/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that removes the traffic-control filters of this one if it is killed: unlike links, filters do not end
 * with the descriptors of their creator. Filters of other creators stay.
 */
#ifndef NET_NET_GUARD_H
#define NET_NET_GUARD_H

#include <stdbool.h>
#include <stdint.h>

/* Starts the process in the network namespace of the calling thread. NULL on failure. */
struct net_guard *net_guard_start(void);

/* An interface got filters of this process; @made: and its qdisc. NULL is fine, and so is the same one again. */
void net_guard_add(struct net_guard *g, uint32_t ifindex, bool made);

/* The caller has removed its filters: the process ends without a further step. NULL is fine. */
void net_guard_end(struct net_guard *g);

#endif
