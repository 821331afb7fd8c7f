// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/budget/budget_control.h"

#include "base/macros.h"
#include "sonde/wire.h"

#define PATIENCE_LEAST 2u
#define PATIENCE_MOST 64u
#define TRIAL 2u  /* periods in which a doubled rate shows its cost */
#define CALM 8u	  /* times the patience: then it is halved */
#define LITTLE 8u /* a probe below this part of the excess is left alone */

uint64_t budget_control_cost(const struct budget_share *s, size_t n, uint64_t user_ns)
{
	uint64_t sum = user_ns;

	for (size_t i = 0; i < n; i++)
		sum += s[i].kernel_ns;
	return sum;
}

/* The cost of each probe: its programs, and this process by its part of the records. */
static void divide(const struct budget_share *s, size_t n, uint64_t user_ns, uint64_t *ret)
{
	uint64_t records = 0;

	for (size_t i = 0; i < n; i++)
		records += s[i].records;
	for (size_t i = 0; i < n; i++)
		ret[i] = s[i].kernel_ns +
			 (records ? (uint64_t)((double)user_ns * (double)s[i].records / (double)records) : 0);
}

/*
 * Halves the rate of the most expensive probe. False if none can be reduced, or the limit is out of reach: the hook
 * of a probe costs something for each event that it leaves out, and cheap probes should not suffer for that.
 */
static bool widen(struct budget_share *s, size_t n, uint64_t limit_ns, uint64_t *cost, uint64_t *expect)
{
	size_t most = n;

	for (size_t i = 0; i < n; i++)
		if (s[i].steered && s[i].one_in < BUDGET_ONE_IN_MOST && (most == n || cost[i] > cost[most]))
			most = i;
	if (most == n || !cost[most] || cost[most] < (*expect - limit_ns) / LITTLE)
		return false;
	s[most].one_in *= 2;
	*expect -= cost[most] - cost[most] / 2;
	cost[most] /= 2;
	return true;
}

/* Doubles the lowest rate that fits: at twice the rate a probe costs twice as much at most. */
static bool narrow(struct budget_share *s, size_t n, const uint64_t *cost, uint64_t expect, uint64_t below)
{
	size_t least = n;

	for (size_t i = 0; i < n; i++)
		if (s[i].one_in > 1 && expect + cost[i] <= below && (least == n || s[i].one_in > s[least].one_in))
			least = i;
	if (least == n)
		return false;
	s[least].one_in /= 2;
	return true;
}

static bool go_wider(struct budget_control *c, uint64_t limit_ns, struct budget_share *s, size_t n, uint64_t *cost,
		     uint64_t expect)
{
	bool changed = false;

	while (expect > limit_ns && widen(s, n, limit_ns, cost, &expect))
		changed = true;
	if (changed && c->trial)
		c->patience = MIN(2 * c->patience, PATIENCE_MOST);
	c->quiet = c->trial = c->calm = 0;
	return changed;
}

static bool go_narrower(struct budget_control *c, struct budget_share *s, size_t n, const uint64_t *cost,
			uint64_t expect, uint64_t below)
{
	if (++c->quiet < c->patience || !narrow(s, n, cost, expect, below))
		return false;
	c->quiet = 0;
	c->trial = TRIAL;
	return true;
}

static void calm_down(struct budget_control *c)
{
	c->trial -= c->trial > 0;
	if (++c->calm < CALM * c->patience)
		return;
	c->calm = 0;
	c->patience = MAX(c->patience / 2, PATIENCE_LEAST);
}

bool budget_control_step(struct budget_control *c, uint64_t limit_ns, uint64_t user_ns, struct budget_share *s,
			 size_t n)
{
	uint64_t cost[SONDE_INSTANCES], expect = budget_control_cost(s, n, user_ns);
	const uint64_t below = limit_ns / 4 * 3;

	if (n > SONDE_INSTANCES)
		return false;
	c->patience = MAX(c->patience, PATIENCE_LEAST);
	divide(s, n, user_ns, cost);
	if (expect > limit_ns)
		return go_wider(c, limit_ns, s, n, cost, expect);
	calm_down(c);
	if (expect <= below)
		return go_narrower(c, s, n, cost, expect, below);
	c->quiet = 0;
	return false;
}
