/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traffic in network namespaces other than that of this process, by the counters of their interfaces.
 */
#ifndef CMD_OTHER_NETNS_H
#define CMD_OTHER_NETNS_H

struct other_netns;

/* Notes the counters of the namespaces in which processes run. NULL without memory or /proc. */
struct other_netns *other_netns_new(void);
void other_netns_free(struct other_netns *o);	/* NULL is fine */

/* How many of them had packets since then. */
unsigned other_netns_busy(const struct other_netns *o);

#endif
