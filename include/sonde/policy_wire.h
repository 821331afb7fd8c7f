/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Rules as tables for BPF programs. Each criterion (source, port, process...) maps a packet to the set of rules that
 * accept its value; the packet matches the rules in the intersection of all sets, and the first of them decides. A
 * set is a bitmap, bit 0 of word 0 being the first rule. Equal sets are stored once: tables hold indexes of sets.
 */
#ifndef SONDE_POLICY_WIRE_H
#define SONDE_POLICY_WIRE_H

#ifndef __bpf__
#include <linux/types.h>
#endif

/* Criteria. The first two are looked up in the trie, the last three in the hash. */
#define SONDE_POLICY_SRC 0
#define SONDE_POLICY_DST 1
#define SONDE_POLICY_SPORT 2
#define SONDE_POLICY_DPORT 3	/* or ICMP type */
#define SONDE_POLICY_CGROUP 4
#define SONDE_POLICY_COMM 5
#define SONDE_POLICY_PID 6
#define SONDE_POLICY_ASKS 7

#define SONDE_POLICY_WORDS 64	/* words of a set, at most: 4096 rules */
#define SONDE_POLICY_PORTS 65536
#define SONDE_POLICY_LEVELS 16	/* distinct depths of cgroups in the rules */

/* Numbers of enum policy_action, policy_dir and policy_state (policy/policy.h). */
#define SONDE_POLICY_ALLOW 0
#define SONDE_POLICY_DENY 1
#define SONDE_POLICY_AUDIT 2
#define SONDE_POLICY_STATE_WHOLE 0
#define SONDE_POLICY_STATE_ESTABLISHED 1
#define SONDE_POLICY_STATE_FRAGMENT 2
#define SONDE_POLICY_STATE_CUT 3

/* Key of the trie. Criterion and family are part of the prefix. */
struct sonde_policy_prefix {
	__u32 bits;		/* SONDE_POLICY_PREFIX + prefix length of the network */
	__u8 ask;		/* SONDE_POLICY_SRC, SONDE_POLICY_DST */
	__u8 family;		/* SONDE_IPV4, SONDE_IPV6 */
	__u8 pad[2];
	__u8 addr[16];		/* network order */
};

#define SONDE_POLICY_PREFIX 32

/* Key of the hash. */
struct sonde_policy_exact {
	__u32 ask;		/* SONDE_POLICY_CGROUP and on */
	__u8 key[16];		/* cgroup id, command name or process id; zero-padded */
};

struct sonde_policy_rule {
	__u32 line;		/* of the file; 0 = the built-in default */
	__u8 action;
	__u8 match;		/* enum sonde_policy_match */
	__u8 pad[2];
};

/* Header of a table. */
struct sonde_policy_head {
	__u32 generation;	/* of the table, from 1 */
	__u32 n_words;		/* words of each set in use */
	__u32 asks;		/* bits 1u << SONDE_POLICY_*: criteria that some rule uses */
	__u32 n_levels;
	__u8 levels[SONDE_POLICY_LEVELS];	/* depths of the cgroups in the hash; 0 = the root */
	__u32 none[SONDE_POLICY_ASKS];	/* by criterion: set of the rules without it */
	__u32 kind[2][2][4];	/* by direction, IPv6, state */
	__u32 proto[256];
	struct sonde_policy_rule fallback[2];	/* by direction */
};

#ifndef __cplusplus
_Static_assert(sizeof(struct sonde_policy_prefix) == 24, "no hole in the key");
_Static_assert(sizeof(struct sonde_policy_exact) == 20, "no hole in the key");
_Static_assert(sizeof(struct sonde_policy_rule) == 8, "sonde_policy_rule");
#endif

#endif
