/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The probes of a recording (sonde record --set, `record` of agent.conf): names of sets, whose rows are data, or
 * probes with options.
 */
#ifndef AGENT_RECORD_SETS_H
#define AGENT_RECORD_SETS_H

#include <stdbool.h>

#include "base/opt.h"
#include "base/vec.h"

struct record_member {
	const struct probe_ops *ops;
	void *conf;	/* owned; ops->conf_size bytes */
	char *words;	/* owned; values of the configuration point into it */
	bool plain;	/* no option was given: the command's own options apply */
};

struct record_sets {
	VEC(struct record_member) members;
	bool memory;	/* of a set that is kept in memory only, unless an output is named */
	const char *row;	/* name of the option, for messages; NULL = --set */
};

#define RECORD_SET_DEFAULT "light"

/*
 * Adds the members of @list, SET or PROBE[:OPTION...] separated by commas. -EINVAL with a sentence.
 * record_sets_fini() in any case.
 */
int record_sets_add(struct record_sets *s, const char *list, struct err *err);
void record_sets_fini(struct record_sets *s);

/* Appends the strings of an agent's subscription, probe=NAME and option=--NAME=VALUE. 0 or -errno with a message. */
int record_sets_words(const struct record_sets *s, struct buf *out, struct err *err);

#endif
