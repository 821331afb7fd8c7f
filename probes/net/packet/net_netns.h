/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One traced network namespace: its tc programs on every selected interface that is up, kept attached while
 * interfaces appear, disappear and change their names.
 */
#ifndef NET_NET_NETNS_H
#define NET_NET_NETNS_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct net_netns;
struct net_parts;

/*
 * @text as in net_ns_open(). -EINVAL if the namespace does not exist; any other error means that the programs do not
 * load here.
 */
int net_netns_open(struct net_parts *all, const char *text, struct net_netns **ret, struct err *err);

/* Attaches to the interfaces that are up and watches for changes. */
int net_netns_start(struct net_netns *s, struct err *err);
void net_netns_tick(struct net_netns *s);   /* about every second: interface changes, and flows that ended */
void net_netns_stop(struct net_netns *s);   /* detaches everything */
void net_netns_finish(struct net_netns *s); /* reports the remaining flows */
void net_netns_close(struct net_netns *s);  /* NULL is fine */

uint32_t net_netns_inode(const struct net_netns *s);
int net_netns_flows(const struct net_netns *s); /* descriptor of the flow table; -1 = flows are off */
bool net_netns_refused(const struct net_netns *s); /* interfaces refused the programs, and none has accepted them */
bool net_netns_has(const struct net_netns *s, const char *iface);

#endif
