/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads events that another datapath writes to a pinned map: a perf event array, which gets rings of ours, or a ring
 * buffer. Either replaces the current reader, so the map is checked for one first.
 */
#ifndef NET_NET_MAP_H
#define NET_NET_MAP_H

struct net_map;
struct ring_rec;

/* open(): -EBUSY with a message that names the reader. Interfaces have the names of the caller's namespace. */
extern const struct net_part net_map_part;

int net_map_raw(struct net_map *m, const struct ring_rec *r);	/* one of the events */

#endif
