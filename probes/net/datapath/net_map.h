/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads events that another datapath writes to a pinned map: a perf event array, which gets rings of ours, or a ring
 * buffer. Either replaces the current reader, so the map is checked for one first.
 */
#ifndef NET_NET_MAP_H
#define NET_NET_MAP_H

struct err;
struct net_map;
struct net_names;
struct probe;
struct ring_rec;

/* Opens the map and looks for a reader: -EBUSY with a message that names the process. Changes nothing yet. */
int net_map_open(struct probe *p, struct net_names *names, struct net_map **ret, struct err *err);
/* Takes over the events. Interfaces have the names of the caller's network namespace. */
int net_map_attach(struct net_map *m, struct err *err);
int net_map_raw(struct net_map *m, const struct ring_rec *r);	/* one of them */
void net_map_tick(struct net_map *m);	/* rings for CPUs that came online, names of new interfaces */
void net_map_detach(struct net_map *m);
void net_map_close(struct net_map *m);	/* NULL is fine */

#endif
