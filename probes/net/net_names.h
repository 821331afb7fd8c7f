/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that records of the net probe need and do not carry: kernel symbols, interfaces, namespaces. Each enters the
 * stream once, ahead of the first record that needs it.
 */
#ifndef NET_NET_NAMES_H
#define NET_NET_NAMES_H

#include <stdint.h>

#include "base/map.h"

struct sonde_rec;

struct net_names {
	struct probe_env *env;
	struct map ifaces;	/* names_iface_key() -> char[16] */
	struct map spaces;	/* inode -> u8 */
};

void net_names_init(struct net_names *n, struct probe_env *env);
void net_names_fini(struct net_names *n);

int net_names_iface(struct net_names *n, uint32_t netns, uint32_t ifindex, const char name[static 16]);
/* Puts the namespace of this process into the stream: text lines name the other ones. */
int net_names_home(struct net_names *n);
int net_names_space(struct net_names *n, uint32_t netns);

/* Provides all names for record @r; ignores other probes' records. */
int net_names_record(struct net_names *n, const struct sonde_rec *r);

#endif
