/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Verdicts of a rule file (sonde/policy_wire.h). Their records are struct net_rec: reason is the line of the rule
 * (0 = the built-in default), prog_id its number (0 = a default), location has the bits below.
 */
#ifndef NET_POLICY_WIRE_H
#define NET_POLICY_WIRE_H

#include "probes/net/net_wire.h"
#include "sonde/policy_wire.h"

#define NET_EV_VERDICT SONDE_EV(2, 35)

#define NET_VERDICT_ACTION(l) ((l) & 3)		/* SONDE_POLICY_ALLOW ... */
#define NET_VERDICT_STATE(l) ((l) >> 4 & 3)	/* SONDE_POLICY_STATE_* */
#define NET_VERDICT_MATCH(l) ((l) >> 8 & 7)	/* enum sonde_policy_match */
#define NET_VERDICT_GENERATION(l) ((l) >> 32)	/* of the tables, one more after each reload */

#define NET_POLICY_FILE 200	/* number of the rule file; Cilium's source files have other numbers */

/* Drop codes of Cilium: denied by the default, denied by a rule. */
#define NET_POLICY_DENIED 133
#define NET_POLICY_DENIED_BY_RULE 181

/* Verdicts to report. */
#define NET_REPORT_DENIED 0	/* those of audit rules included */
#define NET_REPORT_ALL 1
#define NET_REPORT_NONE 2
#define NET_REPORT__MAX 3

/*
 * Map of rule texts for other processes that print the counters. Keys are generation << 32 | line; NET_POLICY_HEAD
 * has the name of the file and the id of the map with its counters.
 */
#define NET_POLICY_HEAD (~0ull)
#define NET_POLICY_TEXTS 16384
#define NET_POLICY_TEXT 248
#define NET_POLICY_TEXTS_NAME "sonde_rules"

struct net_policy_text {
	__u32 counts;		/* NET_POLICY_HEAD: id of the map with the counters; else 0 */
	__u32 pad;
	char text[NET_POLICY_TEXT];	/* NUL-terminated */
};

#endif
