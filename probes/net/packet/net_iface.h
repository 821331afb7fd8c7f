/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watches interfaces and addresses of one network namespace by rtnetlink. It delivers descriptions, not devices: the
 * listener attaches and detaches.
 */
#ifndef NET_NET_IFACE_H
#define NET_NET_IFACE_H

#include <stdbool.h>
#include <stdint.h>

#include "sonde/owner_wire.h"

struct net_link;
struct net_watch;

struct net_addr_key {
	uint8_t family;		/* SONDE_IPV4, SONDE_IPV6 */
	uint8_t addr[16];	/* network order */
};

struct net_watch_ops {
	/*
	 * An interface appeared or changed its name or flags; repeated calls are possible. @up: it can carry packets.
	 */
	void (*link)(void *ctx, const struct net_link *l, bool up);
	void (*gone)(void *ctx, uint32_t ifindex);
	void (*addr)(void *ctx, const struct net_addr_key *a, bool there);
};

/* Opens the watch in the calling thread's namespace. The first net_iface_run() makes the first calls. */
int net_iface_open(const struct net_watch_ops *ops, void *ctx, struct net_watch **ret);
void net_iface_close(struct net_watch *w); /* NULL is fine */

int net_iface_fd(const struct net_watch *w); /* readable when messages wait */

/*
 * Delivers all pending changes and returns without waiting; the first call delivers everything that exists. After an
 * overrun of the socket it lists everything again. 0 or a negative errno.
 */
int net_iface_run(struct net_watch *w);

#endif
