/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rule files: which packets may pass (doc/policy.md has the language and what it means). The text, the rules, and
 * what they say of one packet, decided rule by rule. Knows no kernel, map or interface; policy/table.h is the form
 * that a program evaluates.
 */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "event/value.h"

struct buf;
struct err;

enum policy_action { POLICY_ALLOW, POLICY_DENY, POLICY_AUDIT, POLICY_ACTION__MAX };

enum policy_dir { POLICY_IN, POLICY_OUT, POLICY_DIR__MAX };

/* What is known behind the IP header. */
enum policy_state {
	POLICY_WHOLE,		/* the transport header is there, or the protocol needs none */
	POLICY_ESTABLISHED,	/* likewise, TCP with ACK or RST */
	POLICY_FRAGMENT,	/* a fragment that does not begin the packet: no ports */
	POLICY_CUT,		/* the transport header is not whole, or lies too deep */
	POLICY_STATE__MAX,
};

#define POLICY_ANY_PROTO (-1)
#define POLICY_RULES_MAX 4096	/* of a file: a rule is a bit in sets of this size */
#define POLICY_ITEMS_MAX 16384	/* of all lists of a file together */
#define POLICY_TEXT_MAX (1u << 20)	/* bytes of a file */
#define POLICY_COMM 16		/* of a command name, NUL included */

struct policy_ports { uint16_t from, to; };	/* both included */

struct policy_comm { char name[POLICY_COMM]; };	/* zeros behind the name */

/* Empty lists ask for nothing. Of each list one item must fit. */
struct policy_rule {
	uint32_t line;
	enum policy_action action;
	bool dirs[POLICY_DIR__MAX];
	uint8_t family;			/* 4, 6, 0 = both */
	int proto;			/* IPPROTO_*, POLICY_ANY_PROTO */
	bool established, fragment;
	VEC(struct ipnet) from, to;
	VEC(struct policy_ports) sports, dports;	/* an ICMP type is a destination port */
	VEC(char *) cgroups;		/* owned; paths below the cgroup2 mount, without a slash at the end */
	VEC(struct policy_comm) comms;
	VEC(uint32_t) pids;
	char *text;			/* owned; as it was typed, blanks and comment removed */
};

struct policy {
	VEC(struct policy_rule) rules;	/* in the order of the file: the first that fits decides */
	enum policy_action fallback[POLICY_DIR__MAX];	/* where none does */
	uint32_t fallback_line[POLICY_DIR__MAX];	/* 0 = not said: allow */
};

/*
 * Reads @len bytes. -EINVAL with "LINE:COLUMN: sentence" for the first thing that is wrong, -ENOMEM.
 * @ret is the caller's, by policy_free().
 */
int policy_parse(const char *text, size_t len, struct policy **ret, struct err *err);
void policy_free(struct policy *p);	/* NULL is fine */

/* One packet, as far as rules can ask about it. */
struct policy_packet {
	enum policy_dir dir;
	enum policy_state state;
	bool has_ip;			/* false: the IP header itself is broken, so no rule fits */
	uint8_t family, proto;
	struct ipaddr saddr, daddr;
	uint16_t sport, dport;		/* host order; ICMP: 0 and the type */
	const char *cgroup;		/* of its socket: a path as in a rule; NULL = not known */
	struct policy_comm comm;	/* of its process; "" = not known */
	uint32_t pid;			/* 0 = not known */
};

bool policy_rule_fits(const struct policy_rule *r, const struct policy_packet *p);

struct policy_verdict {
	enum policy_action action;
	const struct policy_rule *rule;	/* NULL = the default */
	uint32_t number;		/* of the rule in the file, from 1; 0 = the default */
};

void policy_decide(const struct policy *p, const struct policy_packet *pkt, struct policy_verdict *ret);

/*
 * A packet in the words of a rule ("in tcp from 10.0.0.1 to 10.0.0.2 sport 4711 port 22"), each list with one item.
 * -EINVAL with "COLUMN: sentence".
 */
int policy_packet_parse(const char *words, struct policy_packet *ret, struct err *err);
void policy_packet_fini(struct policy_packet *p);

const char *policy_action_name(enum policy_action a);

/* As in a policy verdict of Cilium (sonde/notify_wire.h, enum sonde_policy_match): what the rule asks about. */
uint8_t policy_match_kind(const struct policy_rule *r);

#endif
