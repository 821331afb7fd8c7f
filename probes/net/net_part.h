/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of the net probe: each has a kind of hook, or a task of user space beside them, and its own file.
 */
#ifndef NET_NET_PART_H
#define NET_NET_PART_H

#include "probes/net/net_names.h"
#include "probes/net/net_setup.h"

/* Opened and attached in this order, closed in reverse. */
enum net_part_id {
	NET_PART_RECORDER, NET_PART_POLICY, NET_PART_MAP, NET_PART_SPACES, NET_PART_REDIRECT, NET_PART_SENDERS,
	NET_PART_DROP, NET_PART_XDP, NET_PART_COUNT, NET_PART_REFUSED, NET_PART_SOCK, NET_PART_MIB, NET_PART__MAX
};

/* Shared by all parts, which borrow it until they are closed. */
struct net_parts {
	struct probe *p;
	struct net_setup setup;
	struct net_names names;
	void *part[NET_PART__MAX];	/* NULL = is not needed, or does not work here */
};

/* Functions but open() and close() may be NULL. */
struct net_part {
	int (*open)(struct net_parts *all, void **ret, struct err *err);
	int (*attach)(void *part, struct err *err);
	void (*tick)(void *part);	/* about every second */
	void (*detach)(void *part);
	void (*finish)(void *part);	/* after detaching: the last records */
	void (*close)(void *part);	/* detaches; NULL is fine */
};

/* Parts of which no more is public; the others are in the headers of their files. */
extern const struct net_part net_redirect_part, net_refused_part, net_sender_tuples_part;
/* open(): a namespace that ends meanwhile is left out; a word of --netns that names none: -EINVAL with a message. */
extern const struct net_part net_mib_part;

#endif
