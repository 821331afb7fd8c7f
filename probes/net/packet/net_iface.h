/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watching the interfaces and addresses of one network namespace by rtnetlink. Descriptions, not devices:
 * whoever listens attaches and detaches.
 */
#ifndef NET_NET_IFACE_H
#define NET_NET_IFACE_H

#include <stdbool.h>
#include <stdint.h>

struct net_link;
struct net_watch;

struct net_addr_key {
	uint8_t family;		/* 4 or 6 */
	uint8_t addr[16];	/* network order */
};

struct net_watch_ops {
	/* An interface is there, or changed: name, flags. Told again and again; @up: it can carry packets. */
	void (*link)(void *ctx, const struct net_link *l, bool up);
	void (*gone)(void *ctx, uint32_t ifindex);
	void (*addr)(void *ctx, const struct net_addr_key *a, bool there);
};

/* Opens the watch in the calling thread's namespace. Nothing is told before the first net_iface_run(). */
int net_iface_open(const struct net_watch_ops *ops, void *ctx, struct net_watch **ret);
void net_iface_close(struct net_watch *w); /* NULL is fine */

int net_iface_fd(const struct net_watch *w); /* readable when there is news */

/*
 * Tells all news and returns without waiting; the first time everything that is there. Overrun of the socket
 * is mended by looking at everything again. 0 or a negative errno.
 */
int net_iface_run(struct net_watch *w);

#endif
