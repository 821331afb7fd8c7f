/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits per user of clients of the read socket, one row of agent.conf each; the control socket has none. Option
 * tables say which resource a value takes (struct opt, use).
 */
#ifndef AGENT_AGENT_LIMITS_H
#define AGENT_AGENT_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agent;
struct agent_conn;
struct agent_limits;
struct err;
struct inst_use;

/* Reserved for control, beyond max-clients. */
#define CONTROL_CONNECTIONS 4u

/* Replaces zeros by defaults. */
void agent_limits_defaults(struct agent_limits *l);

/*
 * May @c start a subscription of @bytes? May it use one more instance with the resources @use? 0, or -EDQUOT with a
 * message that names the limit and its row.
 */
int agent_limits_subscription(const struct agent_conn *c, size_t bytes, struct err *err);
int agent_limits_instance(const struct agent_conn *c, const struct inst_use *use, uint16_t shared, struct err *err);

/* May @uid connect? 0, or -EUSERS with a message. */
int agent_limits_connection(const struct agent *a, uint32_t uid, bool control, struct err *err);
/* Are connections so scarce that idle ones are closed? */
bool agent_limits_places_short(const struct agent *a);

#endif
