/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Detects traffic in network namespaces other than that of this process, by interface counters.
 */
#ifndef CMD_OTHER_NETNS_H
#define CMD_OTHER_NETNS_H

/* Saves the counters of all namespaces that have processes. NULL without memory or /proc. */
struct other_netns *other_netns_new(void);
void other_netns_free(struct other_netns *o);	/* NULL is fine */

/* How many of them have seen packets since then. */
unsigned other_netns_busy(const struct other_netns *o);

#endif
