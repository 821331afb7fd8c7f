/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tc programs of one network namespace and where they are attached: tcx links where the kernel has them,
 * clsact filters with a priority and handle of our own where not. Foreign programs, filters and qdiscs are
 * never touched.
 */
#ifndef NET_NET_TC_H
#define NET_NET_TC_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct net_addr_key;
struct net_link;
struct net_setup;
struct net_tc;
struct probe;

/* Loaded programs, of whatever they do with packets. Descriptors are theirs. */
struct net_tc_progs {
	int fd[2][2];		/* [starts at the IP header][egress] */
	int points_fd, local_fd;	/* maps net_points (-1 = they have none), inst_net_local */
	void *skel;		/* owned, by `free` */
	void (*free)(void *skel);
};

/* The programs that tell of each packet, for namespace @netns (inode). */
int net_tc_load(struct probe *p, const struct net_setup *s, uint32_t netns, struct net_tc_progs *ret,
		struct err *err);

/* Takes @progs over, also when it fails. */
int net_tc_open(struct probe *p, const struct net_tc_progs *progs, uint32_t netns, struct net_tc **ret,
		struct err *err);

/* Both directions of @l; nothing to do when they are attached already. Call inside the namespace. */
int net_tc_attach(struct net_tc *t, const struct net_link *l, struct err *err);

/* What is attached to the interface goes; @gone: with the interface, so there is nothing left to remove. */
void net_tc_detach(struct net_tc *t, uint32_t ifindex, bool gone);
void net_tc_detach_all(struct net_tc *t);

/* An address of this namespace came or went: packets to it end here. */
void net_tc_addr(struct net_tc *t, const struct net_addr_key *a, bool there);

/* Detaches everything; inside the namespace. NULL is fine. */
void net_tc_close(struct net_tc *t);

/* Tries tcx, or clsact, on the loopback of the current namespace and leaves nothing behind. */
int net_tc_try(bool tcx, struct err *err);

#endif
