/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Losses that no packet tells: the kernel's counters of the watched network namespaces, read once per second.
 */
#ifndef NET_MIB_H
#define NET_MIB_H

#include <stdint.h>

struct err;
struct net_mib_reader;
struct net_names;
struct opt_strv;
struct probe;

/*
 * Opens the counters of the namespaces of @netns (as --netns; NULL or none = the current one). A namespace that ends
 * meanwhile is left out; a word that names none is -EINVAL with a message. @names is borrowed.
 */
int net_mib_open(struct probe *p, const struct opt_strv *netns, struct net_names *names,
		 struct net_mib_reader **ret, struct err *err);
void net_mib_start(struct net_mib_reader *m);	/* the first reading: what counts from here on is a loss of the run */
void net_mib_emit(struct net_mib_reader *m);	/* a record for each counter that rose since the last reading */
void net_mib_close(struct net_mib_reader *m);	/* accepts NULL */

#endif
