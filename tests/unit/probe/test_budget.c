// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The controller of --max-cpu against models of probes: what a second costs at a rate.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/err.h"
#include "probe/budget/budget.h"
#include "probe/budget/budget_control.h"

#define MS 1000000ull
#define LIMIT (20 * MS) /* of a second: 2 % */
#define PROBES 4

/* A probe costs @load at rate 1 and @fixed at any rate; half of the first is in this process. */
struct model {
	uint64_t load[PROBES], fixed[PROBES], idle;
	unsigned noise_pct;
	unsigned cliff[PROBES]; /* a rate below 1 costs the load / this; 0 = in proportion */
	struct budget_control control;
	struct budget_share shares[PROBES];
	uint64_t cost; /* of the last second */
};

static void begin(struct model *m)
{
	srand(1);
	m->control = (struct budget_control){ 0 };
	for (size_t i = 0; i < PROBES; i++)
		m->shares[i] = (struct budget_share){ .steered = true, .one_in = 1 };
}

static uint64_t noisy(const struct model *m, uint64_t ns)
{
	const uint64_t span = ns / 100 * m->noise_pct;

	return span ? ns - span + (uint64_t)rand() % (2 * span) : ns;
}

/* One second at the current rates, then the next rates. True if one changed. */
static bool second(struct model *m)
{
	uint64_t user_ns = m->idle;

	for (size_t i = 0; i < PROBES; i++) {
		struct budget_share *s = &m->shares[i];
		const uint64_t part = s->one_in > 1 && m->cliff[i] ? s->one_in * m->cliff[i] / 2 : s->one_in;
		const uint64_t ns = noisy(m, m->load[i] / part);

		s->kernel_ns = ns / 2 + m->fixed[i];
		s->records = ns / 10000;
		user_ns += ns / 2;
	}
	m->cost = budget_control_cost(m->shares, PROBES, user_ns);
	return budget_control_step(&m->control, LIMIT, user_ns, m->shares, PROBES);
}

static void seconds(struct model *m, unsigned n)
{
	while (n--)
		second(m);
}

static void below_the_limit_everything_is_recorded(void **state)
{
	struct model m = { .load = { 4 * MS, 3 * MS, 2 * MS, MS }, .idle = 3 * MS, .noise_pct = 25 };

	(void)state;
	begin(&m);
	for (unsigned i = 0; i < 600; i++)
		assert_false(second(&m));
}

static void two_seconds_above_the_limit_suffice(void **state)
{
	struct model m = { .load = { 600 * MS, 10 * MS, 4 * MS, MS }, .idle = 2 * MS };

	(void)state;
	begin(&m);
	assert_true(second(&m));
	assert_true(m.cost > LIMIT);
	seconds(&m, 2);
	assert_in_range(m.cost, 1, LIMIT);
}

/* The cheap ones stay as they are. */
static void the_most_expensive_probe_is_reduced(void **state)
{
	struct model m = { .load = { 160 * MS, 2 * MS, 2 * MS, 2 * MS } };

	(void)state;
	begin(&m);
	seconds(&m, 60);
	assert_in_range(m.shares[0].one_in, 16, 32);
	for (size_t i = 1; i < PROBES; i++)
		assert_int_equal(m.shares[i].one_in, 1);
}

static void a_steady_load_ends_in_steady_rates(void **state)
{
	(void)state;
	for (unsigned seed = 0; seed < 200; seed++) {
		struct model m = { .idle = 2 * MS, .noise_pct = 20 };
		uint32_t least[PROBES], most[PROBES];

		begin(&m);
		srand(seed);
		for (size_t i = 0; i < PROBES; i++)
			m.load[i] = (uint64_t)(rand() % 200 + 1) * MS;
		seconds(&m, 60);
		for (size_t i = 0; i < PROBES; i++)
			least[i] = most[i] = m.shares[i].one_in;
		for (unsigned k = 0; k < 300; k++) {
			second(&m);
			for (size_t i = 0; i < PROBES; i++) {
				least[i] = m.shares[i].one_in < least[i] ? m.shares[i].one_in : least[i];
				most[i] = m.shares[i].one_in > most[i] ? m.shares[i].one_in : most[i];
			}
		}
		for (size_t i = 0; i < PROBES; i++)
			assert_in_range(most[i], least[i], 2 * least[i]);
	}
}

static void after_a_storm_everything_is_recorded_again(void **state)
{
	struct model m = { .load = { 600 * MS, 300 * MS, 4 * MS, MS }, .idle = 2 * MS };

	(void)state;
	begin(&m);
	seconds(&m, 20);
	assert_in_range(m.cost, 1, LIMIT);
	m.load[0] = m.load[1] = 2 * MS;
	seconds(&m, 600);
	for (size_t i = 0; i < PROBES; i++)
		assert_int_equal(m.shares[i].one_in, 1);
}

/* Without user stacks waits cost far less: at every try the full rate exceeds the limit. */
static void a_cliff_is_tried_ever_more_rarely(void **state)
{
	struct model m = { .load = { 60 * MS, MS, MS, MS }, .cliff = { 20 } };
	unsigned exceeded = 0;

	(void)state;
	begin(&m);
	for (unsigned i = 0; i < 600; i++) {
		second(&m);
		exceeded += m.cost > LIMIT;
	}
	assert_in_range(exceeded, 2, 20);
}

/* Nothing helps: the rate goes to the end and stays there; cheap probes do not suffer. */
static void a_cost_without_a_remedy_does_not_swing(void **state)
{
	struct model m = { .load = { 5 * MS, 5 * MS, MS, MS }, .fixed = { 30 * MS } };

	(void)state;
	begin(&m);
	seconds(&m, 30);
	assert_int_equal(m.shares[0].one_in, BUDGET_ONE_IN_MOST);
	assert_int_equal(m.shares[2].one_in, 1);
	for (unsigned i = 0; i < 300; i++)
		assert_false(second(&m));
}

static void probes_that_cannot_are_left_alone(void **state)
{
	struct model m = { .load = { 100 * MS, 50 * MS, MS, MS } };

	(void)state;
	begin(&m);
	m.shares[0].steered = false;
	seconds(&m, 30);
	assert_int_equal(m.shares[0].one_in, 1);
	assert_in_range(m.shares[1].one_in, 8, BUDGET_ONE_IN_MOST);
	assert_int_equal(m.shares[3].one_in, 1);
}

static void percentages(void **state)
{
	static const char *const bad[] = { "", "0", "0.0%", "-1%", "x", "2%%", "2.55%", "1e9" };
	struct err err = { 0 };
	unsigned permille = 0;

	(void)state;
	assert_int_equal(budget_parse("2%", &permille, &err), 0);
	assert_int_equal(permille, 20);
	assert_int_equal(budget_parse("0.1", &permille, &err), 0);
	assert_int_equal(permille, 1);
	assert_int_equal(budget_parse("400%", &permille, &err), 0);
	assert_int_equal(permille, 4000);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_true(budget_parse(bad[i], &permille, &err) < 0);
	assert_int_equal(permille, 4000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(below_the_limit_everything_is_recorded),
		cmocka_unit_test(two_seconds_above_the_limit_suffice),
		cmocka_unit_test(the_most_expensive_probe_is_reduced),
		cmocka_unit_test(a_steady_load_ends_in_steady_rates),
		cmocka_unit_test(after_a_storm_everything_is_recorded_again),
		cmocka_unit_test(a_cliff_is_tried_ever_more_rarely),
		cmocka_unit_test(a_cost_without_a_remedy_does_not_swing),
		cmocka_unit_test(probes_that_cannot_are_left_alone),
		cmocka_unit_test(percentages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
