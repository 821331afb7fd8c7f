/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names for the numbers of another datapath, put into the stream: Cilium's, or those of a table
 * (tools/gen_datapath.py).
 */
#ifndef NET_NET_DPNAMES_H
#define NET_NET_DPNAMES_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct probe;

enum net_dpname_kind { NET_DPNAME_FILE, NET_DPNAME_DROP, NET_DPNAME_POINT, NET_DPNAME__MAX };

struct net_dpname {
	enum net_dpname_kind kind;
	uint32_t number;
	const char *text; /* files and points: the name; drops: the text; not terminated */
	size_t len;
};
typedef int (*net_dpname_fn)(void *ctx, const struct net_dpname *n);

/*
 * Parses the rows of a table in memory. -EINVAL with "line:column: message" for an invalid row. Stops if @fn fails.
 */
int net_dpnames_parse(const char *text, size_t len, net_dpname_fn fn, void *ctx, struct err *err);

/* Puts Cilium's names into the stream, or those of the table at @path. */
int net_dpnames_emit(struct probe *p, const char *path, struct err *err);

#endif
