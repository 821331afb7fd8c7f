/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tc programs of one network namespace and their attachments: tcx links where the kernel supports them, else
 * clsact filters with a priority and handle of our own. Foreign programs, filters and qdiscs stay untouched.
 */
#ifndef NET_NET_TC_H
#define NET_NET_TC_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct net_addr_key;
struct net_link;
struct net_parts;
struct net_tc;
struct probe;

/* Loaded programs of any purpose. @skel owns the descriptors. */
struct net_tc_progs {
	int fd[2][2];		 /* [link type is raw IP][egress] */
	int points_fd, local_fd; /* maps net_points (-1 = the programs have none), inst_net_local */
	struct net_flows *flows; /* in @skel; NULL = each packet is reported */
	void *skel;		/* owned, by `free` */
	void (*free)(void *skel);
};

/* Loads the programs of one purpose for namespace @netns (inode). */
typedef int net_tc_load_fn(const struct net_parts *all, uint32_t netns, struct net_tc_progs *ret, struct err *err);

/* Those that report each packet. */
int net_tc_load(const struct net_parts *all, uint32_t netns, struct net_tc_progs *ret, struct err *err);

/* Takes ownership of @progs, on failure too. */
int net_tc_open(struct probe *p, const struct net_tc_progs *progs, uint32_t netns, struct net_tc **ret,
		struct err *err);

/* Attaches both directions of @l unless they are attached. Call inside the namespace. */
int net_tc_attach(struct net_tc *t, const struct net_link *l, struct err *err);

/* Detaches from the interface; @gone: the interface was deleted, so the kernel has removed everything. */
void net_tc_detach(struct net_tc *t, uint32_t ifindex, bool gone);
void net_tc_detach_all(struct net_tc *t);

/* An address of this namespace was added or removed: packets to it end here. */
void net_tc_addr(struct net_tc *t, const struct net_addr_key *a, bool there);

/* Detaches everything; inside the namespace. Accepts NULL. */
void net_tc_close(struct net_tc *t);

/* Tries tcx, or clsact, on the loopback of the current namespace and removes everything again. */
int net_tc_try(bool tcx, struct err *err);

#endif
