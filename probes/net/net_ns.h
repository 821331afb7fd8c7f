/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Network namespaces: finds one by the user's text, and runs functions inside it.
 */
#ifndef NET_NET_NS_H
#define NET_NET_NS_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct opt_strv;

/*
 * Opens the namespace that @text names: a name below /run/netns, a path, the pid of a process in it, or its inode;
 * NULL = the caller's. Returns a descriptor (owned by the caller) or -EINVAL with a message.
 */
int net_ns_open(const char *text, struct err *err);

/* Argument for every namespace that has a name or a process. */
#define NET_NS_ALL "all"

struct net_ns_words { char **items; size_t len, cap; };	/* owned; zeroed is empty */

void net_ns_words_fini(struct net_ns_words *w);

/*
 * Appends @words to @ret; a glob expands to the matching names below /run/netns. -EINVAL with a message if a glob
 * matches none, -ENOMEM.
 */
int net_ns_globs(const struct opt_strv *words, struct net_ns_words *ret, struct err *err);

/* The inode, which identifies a namespace, or 0. */
uint32_t net_ns_inode(int fd);

/* Name below /run/netns, "host" for that of process 1. 0 or -ENOENT. */
int net_ns_name(uint32_t inode, char *buf, size_t cap);

/* The inodes of namespaces with a name or a process; owned by the caller. 0 or -ENOMEM. */
int net_ns_all(uint32_t **ret, size_t *ret_n);

/*
 * Runs @fn in namespace @fd on the calling thread and returns to its own namespace. Returns the result of @fn, or a
 * negative errno if the namespace cannot be entered.
 */
int net_ns_call(int fd, int (*fn)(void *ctx), void *ctx);

/* The same in a new, empty namespace, removed afterwards. */
int net_ns_scratch(int (*fn)(void *ctx), void *ctx);

#endif
