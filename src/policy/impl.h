/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Between the files of this module: reading clauses, which rules and described packets have in common.
 */
#ifndef POLICY_IMPL_H
#define POLICY_IMPL_H

#include "policy/lex.h"
#include "policy/policy.h"

/* Clauses with lists of values. */
enum policy_list {
	LIST_FROM, LIST_TO, LIST_SPORT, LIST_PORT, LIST_TYPE, LIST_CGROUP, LIST_COMM, LIST_PID, LIST__MAX,
};

/* Bits of policy_reader.seen; those of enum policy_list are behind them. */
enum policy_clause { CLAUSE_DIR, CLAUSE_PROTO, CLAUSE_ESTABLISHED, CLAUSE_FRAGMENT, CLAUSE__MAX };

struct policy_reader {
	struct policy_lex lex;
	struct policy_rule rule;	/* being read */
	enum policy_list list;		/* and of it this */
	unsigned seen;
	uint32_t items;			/* of all lists so far */
};

void policy_rule_init(struct policy_rule *r, uint32_t line);
void policy_rule_fini(struct policy_rule *r);

/* Clauses up to the end of the line into rd->rule. */
int policy_clauses(struct policy_reader *rd, struct err *err);

/* Whether the clauses go together; @t: where to say that they do not. */
int policy_rule_check(const struct policy_reader *rd, const struct policy_token *t, struct err *err);

#endif
