// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Limits of readers. No counters are kept: each check adds up the resources that the user's connections hold at
 * that moment.
 */
#include "agent/access/agent_limits.h"

#include <errno.h>
#include <inttypes.h>

#include "agent/access/agent_use.h"
#include "agent/agent_state.h"
#include "base/err.h"
#include "base/macros.h"
#include "ipc/proto.h"

/* ---- use by user ---- */

struct has {
	unsigned connections, streams;
	uint32_t mask; /* 1u << instance */
};

static bool is_limited(const struct agent_conn *c)
{
	return !(c->rights & PROTO_RIGHT_CONTROL);
}

static struct has has_of(const struct agent *a, uint32_t uid)
{
	struct has h = { 0 };

	for (const struct agent_conn *c = a->conns; c; c = c->next) {
		if (!is_limited(c) || c->peer.uid != uid)
			continue;
		h.connections++;
		h.streams += c->sub.on;
		h.mask |= c->sub.mask & ~1u;
	}
	return h;
}

static uint64_t sum_of(const struct agent *a, uint32_t mask, enum opt_use use)
{
	uint64_t sum = 0;

	for (uint16_t i = 1; i < SONDE_INSTANCES; i++)
		if (mask & 1u << i && a->insts.of[i])
			sum = agent_use_plus(sum, a->insts.of[i]->use.of[use]);
	return sum;
}

/* ---- limits ---- */

#define BEYOND(err, code, row, ...) err_set(err, code, "beyond the limit " row " of agent.conf: " __VA_ARGS__)

int agent_limits_subscription(const struct agent_conn *c, size_t bytes, struct err *err)
{
	const struct agent_limits *l = &c->a->conf.limits;
	unsigned uid = c->peer.uid;

	if (!is_limited(c))
		return 0;
	if (bytes > l->max_expression)
		return BEYOND(err, -EDQUOT, "max-expression",
			      "a subscription has at most %" PRIu64 " bytes of "
			      "filters and options, this one has %zu",
			      l->max_expression, bytes);
	if (has_of(c->a, uid).streams >= l->max_subscriptions)
		return BEYOND(err, -EDQUOT, "max-subscriptions", "user %u has %u already", uid, l->max_subscriptions);
	return 0;
}

static int check_use(const struct agent_conn *c, uint32_t mask, const struct inst_use *use, struct err *err)
{
	const struct agent_limits *l = &c->a->conf.limits;
	uint64_t hz = agent_use_plus(sum_of(c->a, mask, OPT_USE_HZ), use->of[OPT_USE_HZ]);
	uint64_t memory = agent_use_plus(sum_of(c->a, mask, OPT_USE_MEMORY), use->of[OPT_USE_MEMORY]);
	uint64_t interval = use->of[OPT_USE_INTERVAL];
	unsigned uid = c->peer.uid;

	if (hz > l->max_frequency)
		return BEYOND(err, -EDQUOT, "max-frequency",
			      "user %u would have %" PRIu64 " samples per second and "
			      "CPU, %u are allowed",
			      uid, hz, l->max_frequency);
	if (memory > l->max_memory)
		return BEYOND(err, -EDQUOT, "max-memory",
			      "probes of user %u would take %" PRIu64 " bytes, %" PRIu64 " are allowed", uid, memory,
			      l->max_memory);
	if (use->of[OPT_USE_BYTES] > l->max_snaplen)
		return BEYOND(err, -EDQUOT, "max-snaplen", "%" PRIu64 " bytes of one event, %" PRIu64 " are allowed",
			      use->of[OPT_USE_BYTES], l->max_snaplen);
	if (interval && interval < l->min_interval_ns)
		return BEYOND(err, -EDQUOT, "min-interval",
			      "a report every %" PRIu64 " ns, every %" PRIu64 " ns is allowed", interval,
			      l->min_interval_ns);
	return 0;
}

int agent_limits_instance(const struct agent_conn *c, const struct inst_use *use, uint16_t shared, struct err *err)
{
	uint32_t mask;

	if (!is_limited(c) || (shared && c->sub.mask & 1u << shared))
		return 0;
	mask = has_of(c->a, c->peer.uid).mask;
	if ((unsigned)__builtin_popcount(mask) >= c->a->conf.limits.max_instances)
		return BEYOND(err, -EDQUOT, "max-instances",
			      "user %u has %u already; equal probes, options and "
			      "selections share one",
			      (unsigned)c->peer.uid, c->a->conf.limits.max_instances);
	return check_use(c, mask, use, err);
}

static unsigned readers(const struct agent *a)
{
	unsigned n = 0;

	for (const struct agent_conn *c = a->conns; c; c = c->next)
		n += is_limited(c);
	return n;
}

int agent_limits_connection(const struct agent *a, uint32_t uid, bool control, struct err *err)
{
	const struct agent_limits *l = &a->conf.limits;

	if (control)
		return a->n_conns < l->max_clients + CONTROL_CONNECTIONS
			       ? 0
			       : BEYOND(err, -EUSERS, "max-clients",
					"all connections are in use, including those reserved for control");
	if (readers(a) >= l->max_clients)
		return BEYOND(err, -EUSERS, "max-clients", "the agent has %u clients, its maximum", l->max_clients);
	if (has_of(a, uid).connections >= l->max_connections)
		return BEYOND(err, -EUSERS, "max-connections", "user %u has %u already", uid, l->max_connections);
	return 0;
}

bool agent_limits_places_short(const struct agent *a)
{
	const struct agent_limits *l = &a->conf.limits;

	return readers(a) + l->max_clients / 4 >= l->max_clients;
}

/* ---- configuration ---- */

void agent_limits_defaults(struct agent_limits *c)
{
#define DEFAULT(member, value) (c->member = c->member ? c->member : (value))
	DEFAULT(max_clients, 128);
	DEFAULT(max_connections, 64);
	DEFAULT(max_subscriptions, 32);
	DEFAULT(max_instances, 8);
	DEFAULT(max_frequency, 5000);
	DEFAULT(max_snaplen, 256u << 10);
	DEFAULT(max_memory, 256u << 20);
	DEFAULT(max_expression, 8u << 10);
	DEFAULT(min_interval_ns, 10 * NS_PER_MS);
	DEFAULT(idle_ns, 60 * NS_PER_S);
#undef DEFAULT
}
