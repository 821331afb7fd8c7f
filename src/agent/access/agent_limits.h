/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits of what clients of the read socket take, by user. Each is a row of agent.conf; the control socket has none.
 * The option row says which resource its value takes (struct opt, use).
 */
#ifndef AGENT_AGENT_LIMITS_H
#define AGENT_AGENT_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/opt.h"

struct agent;
struct agent_conn;
struct agent_limits;
struct err;

/* Places that are left for control: connections beside max-clients, instances of those that there are. */
#define CONTROL_CONNECTIONS 4u
#define CONTROL_INSTANCES 1u

/* Resources of one instance; of OPT_USE_INTERVAL the shortest (0 = none), of OPT_USE_BYTES the most. */
struct inst_use {
	uint64_t of[OPT_USE__MAX];
};

/* Adds up the options of @sets. */
void agent_limits_measure(const struct opt_set *sets, size_t n_sets, unsigned n_cpus, struct inst_use *ret);

/* Zeros become defaults. */
void agent_limits_defaults(struct agent_limits *l);

/*
 * May @c begin a subscription with @bytes of words? May it use one more instance that takes @use? 0, or -EDQUOT with
 * a sentence that names the limit and its row.
 */
int agent_limits_subscription(const struct agent_conn *c, size_t bytes, struct err *err);
int agent_limits_instance(const struct agent_conn *c, const struct inst_use *use, struct err *err);

/* Is there a place for a connection of @uid? -EUSERS with a sentence. */
int agent_limits_connection(const struct agent *a, uint32_t uid, bool control, struct err *err);
/* Are places so short that idle connections have to make room? */
bool agent_limits_places_short(const struct agent *a);

#endif
