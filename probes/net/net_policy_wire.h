/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Verdicts of a rule file (sonde/policy_wire.h). Their records are struct net_rec: reason is the rule's line in the
 * file (0 = the default that nobody wrote), prog_id its number (0 = the default), location the bits below.
 */
#ifndef NET_POLICY_WIRE_H
#define NET_POLICY_WIRE_H

#include "probes/net/net_wire.h"
#include "sonde/policy_wire.h"

#define NET_EV_VERDICT SONDE_EV(2, 18)

#define NET_VERDICT_ACTION(l) ((l) & 3)		/* SONDE_POLICY_ALLOW ... */
#define NET_VERDICT_STATE(l) ((l) >> 4 & 3)	/* SONDE_POLICY_STATE_* */
#define NET_VERDICT_MATCH(l) ((l) >> 8 & 7)	/* enum sonde_policy_match */
#define NET_VERDICT_GENERATION(l) ((l) >> 32)	/* of the file: reloads count */

#define NET_POLICY_FILE 200	/* number of the rule file; Cilium's source files have other numbers */

/* Drop codes of Cilium: no rule allowed it; a rule says so. */
#define NET_POLICY_DENIED 133
#define NET_POLICY_DENIED_BY_RULE 181

/* Which verdicts are told. */
#define NET_TELL_DENIED 0	/* and those of audit rules */
#define NET_TELL_ALL 1
#define NET_TELL_NONE 2
#define NET_TELL__MAX 3

/*
 * Texts of rules, for others that show what rules count: keys are generation << 32 | line, and NET_POLICY_HEAD with
 * the file's name and the map that it is counted in.
 */
#define NET_POLICY_HEAD (~0ull)
#define NET_POLICY_TEXTS 16384
#define NET_POLICY_TEXT 248
#define NET_POLICY_TEXTS_NAME "sonde_rules"

struct net_policy_text {
	__u32 counts;		/* id of the map; 0 but with the head */
	__u32 pad;
	char text[NET_POLICY_TEXT];	/* NUL-terminated */
};

#endif
