/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tuples of senders in namespaces without programs at their interfaces: owners of packets that show up elsewhere.
 */
#ifndef NET_SENDER_TUPLES_H
#define NET_SENDER_TUPLES_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct net_sender_tuples;
struct net_setup;
struct probe;

/*
 * @netns: the namespace whose tc programs record its senders already, 0 = none. @turns: counts redirected packets
 * with their flows too, in place of net_redirect.
 */
int net_sender_tuples_open(struct probe *p, const struct net_setup *s, uint32_t netns, bool turns,
			   struct net_sender_tuples **ret, struct err *err);
/* Counts redirected packets of namespace @netns with their flows, in the map @flows_fd. */
int net_sender_tuples_flows(struct net_sender_tuples *f, uint32_t netns, int flows_fd);
int net_sender_tuples_attach(struct net_sender_tuples *f, struct err *err);
void net_sender_tuples_close(struct net_sender_tuples *f); /* accepts NULL */

#endif
