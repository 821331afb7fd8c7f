/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * clsact filters, for kernels without tcx (before 6.6). A filter of ours is told by three things: priority,
 * handle (the process id of its maker) and the id of the program in it. It is removed only if all three are
 * as noted; a qdisc is removed only if we made it and nobody else uses it.
 *
 * Everything here works on the interfaces of the calling thread's namespace.
 */
#ifndef NET_NET_CLSACT_H
#define NET_NET_CLSACT_H

#include <stdbool.h>
#include <stdint.h>

struct net_filter {
	uint32_t prog_id;	/* 0 = none */
	uint32_t handle;
	uint16_t priority;
};

/* @dir: 0 ingress, 1 egress. *made_qdisc becomes true if there was no clsact qdisc. */
int net_clsact_add(uint32_t ifindex, int dir, int prog_fd, struct net_filter *f, bool *made_qdisc);
void net_clsact_remove(uint32_t ifindex, int dir, struct net_filter *f);

/* Removes the clsact qdisc unless somebody has a filter there. */
void net_clsact_release(uint32_t ifindex);

/* Removes filters whose maker no longer runs. */
void net_clsact_sweep(uint32_t ifindex);

#endif
