/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parser of clauses, for rules and for the packets of `policy explain`. Private to src/policy.
 */
#ifndef POLICY_PARSE_H
#define POLICY_PARSE_H

#include "policy/lex.h"
#include "policy/policy.h"

/* Clauses that take a list of values. */
enum policy_list {
	LIST_FROM, LIST_TO, LIST_SPORT, LIST_PORT, LIST_TYPE, LIST_CGROUP, LIST_COMM, LIST_PID, LIST__MAX,
};

/* Bits of policy_reader.seen; the bits of enum policy_list follow at CLAUSE__MAX. */
enum policy_clause { CLAUSE_DIR, CLAUSE_PROTO, CLAUSE_ESTABLISHED, CLAUSE_FRAGMENT, CLAUSE__MAX };

struct policy_reader {
	struct policy_lex lex;
	struct policy_rule rule;	/* being read */
	enum policy_list list;		/* being read */
	unsigned seen;
	uint32_t items;			/* in all lists so far */
};

void policy_parse_rule_init(struct policy_rule *r, uint32_t line);
void policy_parse_rule_fini(struct policy_rule *r);

/* Reads the clauses up to the end of the line into rd->rule. */
int policy_parse_read_clauses(struct policy_reader *rd, struct err *err);

/* Rejects clauses that exclude each other; the message points to @t. */
int policy_parse_rule_check(const struct policy_reader *rd, const struct policy_token *t, struct err *err);

#endif
