/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose packet it was, asked after the fact: from the maps that the kernel side fills (bpf/owner.bpf.h), and from the
 * other packets of the same conversation.
 */
#ifndef NET_NET_RECORDER_OWNER_H
#define NET_NET_RECORDER_OWNER_H

#include <stdbool.h>

struct net_owners;
struct net_rec;
struct probe;

/* NULL without memory. */
struct net_owners *net_recorder_owner_new(struct probe *p);
void net_recorder_owner_free(struct net_owners *o); /* NULL is fine */

/* A packet with its bytes and its socket's cookie: what it says of others. Before the first
 * net_recorder_owner_find(). */
void net_recorder_owner_learn(struct net_owners *o, const struct net_rec *r);

/*
 * Fills cookie, way, process and cgroup of @r, which has direction, namespace and bytes. False if the selection by
 * process (or being our own) leaves it out.
 */
bool net_recorder_owner_find(struct net_owners *o, struct net_rec *r);

#endif
