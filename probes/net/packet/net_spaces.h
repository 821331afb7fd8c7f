/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets at the interfaces of the network namespaces of --netns.
 */
#ifndef NET_SPACES_H
#define NET_SPACES_H

#include <stdint.h>

struct bpf_map;
struct net_parts;
struct net_spaces;

/* open(): NULL if the programs load in no namespace; -EINVAL with a message if a namespace does not exist. */
extern const struct net_part net_spaces_part;

/* Inode of the namespace if it is the only one, else 0. @s may be NULL. */
uint32_t net_spaces_only(const struct net_spaces *s);

/* Puts the flow tables of all namespaces into @map, so that a program counts what it sees with their flows. */
void net_spaces_share_flows(const struct net_parts *all, const struct bpf_map *map);

#endif
