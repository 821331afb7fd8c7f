/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One network namespace that is traced: its tc programs on every interface that is up and wanted, kept so
 * while interfaces come, go and change their names.
 */
#ifndef NET_NET_NETNS_H
#define NET_NET_NETNS_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct net_recorder;
struct net_names;
struct net_policy;
struct net_setup;
struct net_netns;
struct probe;

/*
 * @text as in net_ns_open(). -EINVAL when there is no such namespace; anything else says that the programs do
 * not load here. @setup, @names, @keep and @policy (both NULL = packets are told of as they come) are borrowed.
 */
int net_netns_open(struct probe *p, const struct net_setup *setup, struct net_names *names, struct net_recorder *keep,
		   struct net_policy *policy, const char *text, struct net_netns **ret, struct err *err);

/* Attaches to what is up and listens for news. */
int net_netns_start(struct net_netns *s, struct err *err);
void net_netns_tick(struct net_netns *s);   /* about every second: news, and flows that ended */
void net_netns_stop(struct net_netns *s);   /* detaches everything */
void net_netns_finish(struct net_netns *s); /* tells of the flows that are left */
void net_netns_close(struct net_netns *s);  /* NULL is fine */

uint32_t net_netns_inode(const struct net_netns *s);
int net_netns_flows(const struct net_netns *s); /* descriptor of the table of flows; -1 = there are none */
bool net_netns_has(const struct net_netns *s, const char *iface);

#endif
