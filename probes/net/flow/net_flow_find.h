/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flow named by the user, as part of a packet filter: by the id that `sonde flows` prints, looked up in the flow
 * tables of this host's kernel, or by its ends. Covers both directions and both sides of an address translation.
 */
#ifndef NET_FLOW_FIND_H
#define NET_FLOW_FIND_H

#include <stdbool.h>
#include <stdint.h>

#include "event/value.h"

struct err;
struct opt_strv;

/* From one end to the other; family 0 = none. */
struct net_tuple {
	struct ipaddr src, dst;
	uint16_t sport, dport;	/* host order; 0 = any */
	uint8_t proto;		/* IPPROTO_* */
};

/*
 * @text is an id or a tuple. With @live, queries translations of its addresses from running sondes and from
 * connection tracking in each of @netns (none = the current namespace). -EINVAL with a message if @text is neither,
 * or if the id is unknown.
 */
int net_flow_find(const char *text, bool live, const struct opt_strv *netns, struct buf *ret_words, struct err *err);

/*
 * The other side of the translation of @t by connection tracking in the current network namespace, same direction: 0,
 * or -ENOENT if it is not translated (net_ct_find.c).
 */
int net_ct_find(const struct net_tuple *t, struct net_tuple *ret);

#endif
