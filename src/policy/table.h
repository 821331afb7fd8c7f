/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compiles a policy to the tables of sonde/policy_wire.h. They give the same verdicts as policy_decide().
 */
#ifndef POLICY_TABLE_H
#define POLICY_TABLE_H

#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "sonde/policy_wire.h"

struct err;
struct policy;

struct policy_prefix_row { struct sonde_policy_prefix key; uint32_t set; };
struct policy_exact_row { struct sonde_policy_exact key; uint32_t set; };

struct policy_table {
	struct sonde_policy_head head;	/* the caller sets generation */
	uint64_t *sets;			/* n_sets sets of head.n_words each */
	uint32_t n_sets;
	VEC(struct policy_prefix_row) prefixes;
	VEC(struct policy_exact_row) exacts;
	uint32_t *ports[2];	/* source, destination: SONDE_POLICY_PORTS numbers of sets; NULL = unused */
	VEC(struct sonde_policy_rule) rules;
	struct map numbers;		/* set -> its number */
};

/* Looks up the id and depth of a cgroup by its path; negative errno on failure. */
typedef int (*policy_cgroup_fn)(void *ctx, const char *path, uint64_t *ret_id, uint32_t *ret_level);

/* -EINVAL with "LINE: message" for an unknown cgroup, -ENOMEM. Free @ret with policy_table_free(). */
int policy_table_compile(const struct policy *p, policy_cgroup_fn cgroup, void *ctx, struct policy_table **ret,
			 struct err *err);
void policy_table_free(struct policy_table *t);	/* NULL is fine */

#endif
