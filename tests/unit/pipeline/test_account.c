// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "pipeline/account.h"

static void live_sums_close(void **state)
{
	struct accounts all = { 0 };
	struct account *a = account_of(&all, 1);
	struct sonde_ledger t;

	(void)state;
	a->from_kernel = true;
	a->origin = (struct sonde_ledger){ .seen = 100, .delivered = 60, .filtered = 10, .sampled = 5 };
	a->origin.lost[SONDE_LOST_RING_FULL] = 25;
	a->records = 60;
	a->delivered = 50;
	a->filtered = 7;
	a->lost[SONDE_LOST_DECODE] = 3;
	account_total(a, &t);
	assert_int_equal(t.seen, 100);
	assert_int_equal(t.delivered, 50);
	assert_int_equal(t.filtered, 17);
	assert_int_equal(t.sampled, 5);
	assert_int_equal(t.lost[SONDE_LOST_RING_FULL], 25);
	assert_int_equal(t.lost[SONDE_LOST_DECODE], 3);
	assert_int_equal(account_gap(a), 0);
}

/* A decoder finds that calls are missing whose records arrived; a replay of these records finds them again. */
static void what_decoders_find_is_seen_and_lost(void **state)
{
	struct account live = { .from_kernel = true, .origin = { .seen = 9, .delivered = 9 }, .records = 9,
				.delivered = 9 };
	struct account replay = { .origin = { .seen = 9, .delivered = 9 }, .records = 9, .delivered = 9 };
	struct account *const all[] = { &live, &replay };
	struct sonde_ledger t;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		account_find(all[i], SONDE_LOST_NO_REQUEST, 2);
		account_total(all[i], &t);
		assert_int_equal(t.seen, 11);
		assert_int_equal(t.delivered, 9);
		assert_int_equal(t.lost[SONDE_LOST_NO_REQUEST], 2);
		assert_int_equal(account_gap(all[i]), 0);
		assert_int_equal(account_report(all[i], &t, SONDE_LOST_NO_REQUEST), 0);
		account_kernel(all[i], &t);
		assert_int_equal(t.seen, 9);
	}
}

/* Records made by a live half count as seen by it, not by the kernel. */
static void injected_records_are_seen(void **state)
{
	struct account a = { .from_kernel = true, .origin = { .seen = 5, .delivered = 5 } };
	struct sonde_ledger t;

	(void)state;
	a.records = a.delivered = 8;
	a.injected = 3;
	account_total(&a, &t);
	assert_int_equal(t.seen, 8);
	assert_int_equal(account_gap(&a), 0);
}

static void a_record_that_never_arrived_shows_as_a_gap(void **state)
{
	struct account a = {
		.from_kernel = true, .origin = { .seen = 10, .delivered = 10 }, .records = 9, .delivered = 9,
	};

	(void)state;
	assert_int_equal(account_gap(&a), 1);
}

/* Of packets that were added up in the kernel only their number arrives. */
static void what_was_added_up_is_delivered(void **state)
{
	struct account a = { .from_kernel = true, .origin = { .seen = 1000, .filtered = 400 }, .counted = 600 };
	struct account replayed = { .counted = 600 };
	struct sonde_ledger t;

	(void)state;
	account_total(&a, &t);
	assert_int_equal(t.delivered, 600);
	assert_int_equal(account_gap(&a), 0);
	account_total(&replayed, &t);
	assert_int_equal(t.seen, 600);
	assert_int_equal(account_gap(&replayed), 0);
}

/* A recording reports losses from before it; the replay's own filter adds to them. */
static void replay_continues_the_recorded_ledger(void **state)
{
	struct account a = { .records = 60, .delivered = 20, .filtered = 40 };
	struct sonde_ledger t;

	(void)state;
	a.origin = (struct sonde_ledger){ .seen = 100, .delivered = 60, .filtered = 15 };
	a.origin.lost[SONDE_LOST_RING_FULL] = 25;
	account_total(&a, &t);
	assert_int_equal(t.seen, 100);
	assert_int_equal(t.filtered, 55);
	assert_int_equal(account_gap(&a), 0);
}

static void a_capture_without_a_ledger_was_seen_as_it_arrived(void **state)
{
	struct account a = { .records = 7, .delivered = 6, .filtered = 1 };
	struct sonde_ledger t;

	(void)state;
	account_total(&a, &t);
	assert_int_equal(t.seen, 7);
	assert_int_equal(account_gap(&a), 0);
}

/* A ring outside the kernel's ledger reports its own losses: they are in the stream and in the sums. */
static void announced_losses_are_in_the_sums(void **state)
{
	struct account live = { .from_kernel = true, .origin = { .seen = 10, .delivered = 6 } };
	struct account cut = { .records = 3, .delivered = 3 };
	struct sonde_ledger t;

	(void)state;
	live.origin.lost[SONDE_LOST_RING_FULL] = 4;
	live.records = live.delivered = 6;
	account_announce(&live, SONDE_LOST_RING_FULL, 100);
	account_total(&live, &t);
	assert_int_equal(t.seen, 110);
	assert_int_equal(t.lost[SONDE_LOST_RING_FULL], 104);
	assert_int_equal(account_gap(&live), 0);
	assert_int_equal(account_report(&live, &t, SONDE_LOST_RING_FULL), 4);
	assert_int_equal(account_report(&live, &t, SONDE_LOST_RING_FULL), 0);

	account_announce(&cut, SONDE_LOST_RING_FULL, 5);
	account_announce(&cut, SONDE_LOST__MAX, 5);
	account_total(&cut, &t);
	assert_int_equal(t.seen, 8);
	assert_int_equal(t.lost[SONDE_LOST_RING_FULL], 5);
	assert_int_equal(account_gap(&cut), 0);
}

/* The ledger of a recording counts the records that its stream announces. */
static void a_recorded_ledger_has_the_announced_losses(void **state)
{
	struct account a = { .records = 60, .delivered = 60, .origin = { .seen = 100, .delivered = 60 } };
	struct sonde_ledger t;

	(void)state;
	a.origin.lost[SONDE_LOST_RING_FULL] = 40;
	account_announce(&a, SONDE_LOST_RING_FULL, 40);
	account_total(&a, &t);
	assert_int_equal(t.lost[SONDE_LOST_RING_FULL], 40);
	assert_int_equal(account_gap(&a), 0);
}

static void numbers_out_of_range_have_no_account(void **state)
{
	struct accounts all = { 0 };

	(void)state;
	assert_null(account_of(&all, SONDE_INSTANCES));
	assert_non_null(account_of(&all, SONDE_INSTANCES - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(live_sums_close),
		cmocka_unit_test(what_decoders_find_is_seen_and_lost),
		cmocka_unit_test(injected_records_are_seen),
		cmocka_unit_test(what_was_added_up_is_delivered),
		cmocka_unit_test(a_record_that_never_arrived_shows_as_a_gap),
		cmocka_unit_test(replay_continues_the_recorded_ledger),
		cmocka_unit_test(a_capture_without_a_ledger_was_seen_as_it_arrived),
		cmocka_unit_test(announced_losses_are_in_the_sums),
		cmocka_unit_test(a_recorded_ledger_has_the_announced_losses),
		cmocka_unit_test(numbers_out_of_range_have_no_account),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
