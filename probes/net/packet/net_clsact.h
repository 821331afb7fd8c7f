/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * clsact filters, for kernels without tcx (before 6.6) and for hosts with many interfaces. Three values identify
 * a filter of ours: priority, handle (the process id of its creator) and program id. A filter is removed only if all
 * three match; a qdisc only if this process added it and it is unused.
 *
 * All functions work on the interfaces of the calling thread's namespace.
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

/* @dir: 0 ingress, 1 egress. *made_qdisc becomes true if the interface had no clsact qdisc. */
int net_clsact_add(uint32_t ifindex, int dir, int prog_fd, struct net_filter *f, bool *made_qdisc);
void net_clsact_remove(uint32_t ifindex, int dir, struct net_filter *f);

/* Removes the clsact qdisc unless it has filters. */
void net_clsact_release(uint32_t ifindex);

/* Removes the filters of process @creator, running or not; 0 = those of all creators that have exited. */
void net_clsact_sweep(uint32_t ifindex, uint32_t creator);

#endif
