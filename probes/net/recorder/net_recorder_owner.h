/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds owners of packets after the fact: from the maps that the kernel side fills (bpf/ident_sock.bpf.h), and from
 * other packets of the same flow.
 */
#ifndef NET_NET_RECORDER_OWNER_H
#define NET_NET_RECORDER_OWNER_H

#include <stdbool.h>

struct net_rec;
struct probe;

/* NULL without memory. */
struct net_owners *net_recorder_owner_new(struct probe *p);
void net_recorder_owner_free(struct net_owners *o); /* NULL is fine */

/* Learns from a packet with its bytes and its socket's cookie. Call ahead of net_recorder_owner_find(). */
void net_recorder_owner_learn(struct net_owners *o, const struct net_rec *r);

/*
 * Fills in cookie, source, process and cgroup of @r, which has direction, namespace and bytes. False if the selection
 * by process excludes it, or if it is our own.
 */
bool net_recorder_owner_find(struct net_owners *o, struct net_rec *r);

#endif
