/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One network namespace that is traced: its tc programs on every interface that is up and wanted, kept so
 * while interfaces come, go and change their names.
 */
#ifndef NET_NET_SPACE_H
#define NET_NET_SPACE_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct net_keep;
struct net_names;
struct net_policy;
struct net_setup;
struct net_space;
struct probe;

/*
 * @text as in net_ns_open(). -EINVAL when there is no such namespace; anything else says that the programs do
 * not load here. @setup, @names, @keep and @policy (both NULL = packets are told of as they come) are borrowed.
 */
int net_space_open(struct probe *p, const struct net_setup *setup, struct net_names *names, struct net_keep *keep,
		   struct net_policy *policy, const char *text, struct net_space **ret, struct err *err);

/* Attaches to what is up and listens for news. */
int net_space_start(struct net_space *s, struct err *err);
void net_space_tick(struct net_space *s);	/* about every second: news, and flows that ended */
void net_space_stop(struct net_space *s);	/* detaches everything */
void net_space_finish(struct net_space *s);	/* tells of the flows that are left */
void net_space_close(struct net_space *s);	/* NULL is fine */

uint32_t net_space_inode(const struct net_space *s);
int net_space_flows(const struct net_space *s);	/* descriptor of the table of flows; -1 = there are none */
bool net_space_has(const struct net_space *s, const char *iface);

#endif
