/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rule files (doc/policy.md defines the language): the parser, the parsed rules, and the verdict on one packet,
 * evaluated rule by rule. Independent of kernel, maps and interfaces; policy/table.h compiles rules for BPF programs.
 */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "event/value.h"

struct err;

enum policy_action { POLICY_ALLOW, POLICY_DENY, POLICY_AUDIT, POLICY_ACTION__MAX };

enum policy_dir { POLICY_IN, POLICY_OUT, POLICY_DIR__MAX };

/* State of the packet behind the IP header. */
enum policy_state {
	POLICY_WHOLE,		/* the transport header is complete, or rules match none of its fields */
	POLICY_ESTABLISHED,	/* complete, TCP with ACK or RST */
	POLICY_FRAGMENT,	/* a fragment other than the first: no ports */
	POLICY_CUT,		/* the transport header is truncated, or beyond the parser's limits */
	POLICY_STATE__MAX,
};

#define POLICY_ANY_PROTO (-1)
#define POLICY_RULES_MAX 4096	/* of a file; also the size of a set in bits */
#define POLICY_ITEMS_MAX 16384	/* in all lists of a file */
#define POLICY_TEXT_MAX (1u << 20)	/* bytes of a file */
#define POLICY_COMM 16		/* size of a command name, NUL included */

struct policy_ports { uint16_t from, to; };	/* both included */

struct policy_comm { char name[POLICY_COMM]; };	/* padded with zeros */

/* A packet must match one item of each list; an empty list matches every packet. */
struct policy_rule {
	uint32_t line;
	enum policy_action action;
	bool dirs[POLICY_DIR__MAX];
	uint8_t family;			/* 4, 6, 0 = both */
	int proto;			/* IPPROTO_*, POLICY_ANY_PROTO */
	bool established, fragment;
	VEC(struct ipnet) from, to;
	VEC(struct policy_ports) sports, dports;	/* an ICMP type is a destination port */
	VEC(char *) cgroups;		/* owned; paths below the cgroup2 mount, without a trailing slash */
	VEC(struct policy_comm) comms;
	VEC(uint32_t) pids;
	char *text;			/* owned; as in the file, without indentation and comment */
};

struct policy {
	VEC(struct policy_rule) rules;	/* in the order of the file; the first match decides */
	enum policy_action fallback[POLICY_DIR__MAX];	/* if no rule matches */
	uint32_t fallback_line[POLICY_DIR__MAX];	/* 0 = not in the file: allow */
};

/*
 * Parses @len bytes. -EINVAL with "LINE:COLUMN: message" for the first error, -ENOMEM. Free @ret with policy_free().
 */
int policy_parse(const char *text, size_t len, struct policy **ret, struct err *err);
void policy_free(struct policy *p);	/* NULL is fine */

/* The properties of a packet that rules can match. */
struct policy_packet {
	enum policy_dir dir;
	enum policy_state state;
	bool has_ip;			/* false: the IP header is invalid, so no rule matches */
	uint8_t family, proto;
	struct ipaddr saddr, daddr;
	uint16_t sport, dport;		/* host order; ICMP: 0 and the type */
	const char *cgroup;		/* of its socket, a path as in a rule; NULL = unknown */
	struct policy_comm comm;	/* of its process; "" = unknown */
	uint32_t pid;			/* 0 = unknown */
};

struct policy_verdict {
	enum policy_action action;
	const struct policy_rule *rule;	/* NULL = the default */
	uint32_t number;		/* of the rule, from 1 in the order of the file; 0 = the default */
};

void policy_decide(const struct policy *p, const struct policy_packet *pkt, struct policy_verdict *ret);

/*
 * Parses a packet written as the clauses of a rule ("in tcp from 10.0.0.1 to 10.0.0.2 sport 4711 port 22"), one item
 * in each list. -EINVAL with "LINE:COLUMN: message" or "1: message".
 */
int policy_packet_parse(const char *words, struct policy_packet *ret, struct err *err);
void policy_packet_fini(struct policy_packet *p);

const char *policy_action_name(enum policy_action a);

/* enum sonde_policy_match (sonde/notify_wire.h) of Cilium's policy verdicts: the layers that the rule matches. */
uint8_t policy_match_kind(const struct policy_rule *r);

#endif
