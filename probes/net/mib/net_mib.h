/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Losses that no packet tells: the kernel's counters of the watched network namespaces, read once per second.
 */
#ifndef NET_MIB_H
#define NET_MIB_H

/* A namespace that ends meanwhile is left out; a word of --netns that names none is -EINVAL with a message. */
extern const struct net_part net_mib_part;

#endif
