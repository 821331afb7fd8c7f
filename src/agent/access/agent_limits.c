// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Limits of readers. No counters are kept: each check adds up the resources that the user's connections hold at
 * that moment.
 */
#include "agent/access/agent_limits.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "agent/agent_conn.h"
#include "agent/agent_state.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/units.h"
#include "ipc/proto.h"

/* ---- cost of options ---- */

static uint64_t times(uint64_t a, uint64_t b)
{
	uint64_t r;

	return __builtin_mul_overflow(a, b, &r) ? UINT64_MAX : r;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/* The largest of "65535", "drop=256": parse errors are reported elsewhere. */
static uint64_t largest(const struct opt_strv *v, uint64_t zero_is)
{
	uint64_t most = 0, n;

	for (size_t i = 0; i < v->len; i++) {
		const char *eq = strrchr(v->items[i], '=');

		if (str_to_bytes(eq ? eq + 1 : v->items[i], &n) == 0)
			most = MAX(most, n ? n : zero_is);
	}
	return most;
}

static uint64_t value_of(const struct opt *o, const void *at)
{
	switch (o->kind) {
	case OPT_BOOL: return *(const bool *)at;
	case OPT_U32: return *(const uint32_t *)at;
	case OPT_U64:
	case OPT_BYTES:
	case OPT_DURATION: return *(const uint64_t *)at;
	case OPT_STRV: return largest(at, o->zero_is);
	case OPT_COUNT:
	case OPT_STR:
	case OPT_MAYBE:
	case OPT_U32V:
	case OPT_ENUM:
	case OPT_CALL:
	case OPT__MAX: break;
	}
	return 0;
}

static bool in_effect(const struct opt *o, const char *conf)
{
	for (size_t i = 0; i < o->with_size; i++)
		if (conf[o->with + i])
			return true;
	return !o->with_size;
}

static void measure(const struct opt *o, const char *conf, unsigned n_cpus, struct inst_use *ret)
{
	uint64_t v = value_of(o, conf + o->off), unit = o->unit ? o->unit : 1;
	uint64_t *hz = &ret->of[OPT_USE_HZ], *shortest = &ret->of[OPT_USE_INTERVAL];

	if (!v && o->kind != OPT_STRV)
		v = o->zero_is;
	if (!v || !in_effect(o, conf))
		return;
	switch (o->use) {
	case OPT_USE_HZ: *hz = plus(*hz, v); break;
	case OPT_USE_PERIOD: *hz = plus(*hz, unit / v + !!(unit % v)); break;
	case OPT_USE_BYTES: ret->of[OPT_USE_BYTES] = MAX(ret->of[OPT_USE_BYTES], times(v, unit)); break;
	case OPT_USE_MEMORY:
		v = times(times(v, unit), o->per_cpu ? n_cpus : 1);
		ret->of[OPT_USE_MEMORY] = plus(ret->of[OPT_USE_MEMORY], v);
		break;
	case OPT_USE_INTERVAL: *shortest = *shortest ? MIN(*shortest, v) : v; break;
	case OPT_USE_UNSAID:
	case OPT_USE_NONE:
	case OPT_USE__MAX: break;
	}
}

void agent_limits_measure(const struct opt_set *sets, size_t n_sets, unsigned n_cpus, struct inst_use *ret)
{
	*ret = (struct inst_use){ 0 };
	for (size_t i = 0; i < n_sets; i++)
		for (const struct opt *o = sets[i].opts; opt_is_row(o); o++)
			measure(o, sets[i].conf, n_cpus, ret);
}

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
			sum = plus(sum, a->insts.of[i]->use.of[use]);
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
	uint64_t hz = plus(sum_of(c->a, mask, OPT_USE_HZ), use->of[OPT_USE_HZ]);
	uint64_t memory = plus(sum_of(c->a, mask, OPT_USE_MEMORY), use->of[OPT_USE_MEMORY]);
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

int agent_limits_instance(const struct agent_conn *c, const struct inst_use *use, struct err *err)
{
	uint32_t mask;

	if (!c || !is_limited(c))
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
