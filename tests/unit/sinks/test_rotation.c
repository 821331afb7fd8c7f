// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names and moments of rotated files. Expectations in tcpdump's manner are those of tcpdump 4.99
 * (tests/e2e/net/test_capture_live.py compares the names of -C and -W with the real one).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sinks/rotation.h"
#include "base/macros.h"

#define S 1000000000ull

static int in_utc(void **state)
{
	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	return 0;
}

/* The names of the first files, in order, joined by blanks; files change by size. */
static const char *names_of(const struct sink_rotation *rule, const char *path, size_t suffix_len, unsigned n)
{
	static char ret[512];
	struct rotation r = { .rule = rule, .path = path, .suffix_len = suffix_len };

	ret[0] = '\0';
	rotation_step(&r, S, 0);
	for (unsigned i = 0; i < n; i++) {
		char name[64];

		assert_int_equal(rotation_name(&r, 0, name, sizeof(name)), 0);
		snprintf(ret + strlen(ret), sizeof(ret) - strlen(ret), "%s%s", i ? " " : "", name);
		assert_int_equal(rotation_step(&r, S, rule->bytes + 1), ROTATION_NEXT);
	}
	return ret;
}

static const char *names(const struct sink_rotation *rule, unsigned n)
{
	return names_of(rule, "f", 0, n);
}

static void test_numbers_before_the_suffix(void **state)
{
	const struct sink_rotation ours = { .bytes = 10 };
	const struct sink_rotation theirs = { .bytes = 10, .files = 11, .like_tcpdump = true };
	struct rotation timed = { .rule = &(struct sink_rotation){ .every_ns = S, .bytes = 10, .like_tcpdump = true },
				  .path = "f-%S.pcapng", .suffix_len = strlen(".pcapng"), .n_files = 3 };
	char name[32];

	(void)state;
	assert_string_equal(names_of(&ours, "f.rec", strlen(".rec"), 3), "f0.rec f1.rec f2.rec");
	assert_string_equal(names_of(&theirs, "f.pcapng", strlen(".pcapng"), 2), "f00.pcapng f01.pcapng");
	assert_int_equal(rotation_name(&timed, 7 * (int64_t)S, name, sizeof(name)), 0);
	assert_string_equal(name, "f-073.pcapng");
}

static void test_numbers(void **state)
{
	(void)state;
	assert_string_equal(names(&(struct sink_rotation){ .bytes = 10 }, 3), "f0 f1 f2");
	assert_string_equal(names(&(struct sink_rotation){ .bytes = 10, .files = 2 }, 4), "f0 f1 f0 f1");
	assert_string_equal(names(&(struct sink_rotation){ .bytes = 10, .like_tcpdump = true }, 4), "f f1 f2 f3");
	assert_string_equal(names(&(struct sink_rotation){ .bytes = 10, .files = 3, .like_tcpdump = true }, 5),
			    "f0 f1 f2 f0 f1");
	assert_string_equal(names(&(struct sink_rotation){ .bytes = 10, .files = 10, .like_tcpdump = true }, 2),
			    "f0 f1");
	assert_string_equal(names(&(struct sink_rotation){ .bytes = 10, .files = 11, .like_tcpdump = true }, 12),
			    "f00 f01 f02 f03 f04 f05 f06 f07 f08 f09 f10 f00");
	assert_string_equal(names(&(struct sink_rotation){ .bytes = 10, .files = 1, .like_tcpdump = true }, 2),
			    "f f");
}

/* tcpdump's file may have its size, sonde's is full then. */
static void test_the_size_itself(void **state)
{
	const struct sink_rotation theirs = { .bytes = 10, .like_tcpdump = true }, ours = { .bytes = 10 };
	struct rotation r = { .rule = &theirs, .path = "f" };

	(void)state;
	assert_int_equal(rotation_step(&r, S, 9), ROTATION_STAY);
	assert_int_equal(rotation_step(&r, S, 10), ROTATION_STAY);
	assert_int_equal(rotation_step(&r, S, 11), ROTATION_NEXT);
	r = (struct rotation){ .rule = &ours, .path = "f" };
	assert_int_equal(rotation_step(&r, S, 9), ROTATION_STAY);
	assert_int_equal(rotation_step(&r, S, 10), ROTATION_NEXT);
}

static void assert_name(const struct rotation *r, int64_t wall_s, const char *want)
{
	char name[64];

	assert_int_equal(rotation_name(r, wall_s * (int64_t)S, name, sizeof(name)), 0);
	assert_string_equal(name, want);
}

static void test_by_time_ends_after_so_many(void **state)
{
	const struct sink_rotation rule = { .every_ns = 5 * S, .files = 2, .like_tcpdump = true };
	struct rotation r = { .rule = &rule, .path = "d-%H%M%S" };

	(void)state;
	assert_int_equal(rotation_step(&r, 100 * S, 0), ROTATION_STAY);
	assert_name(&r, 3600, "d-010000");
	assert_int_equal(rotation_step(&r, 105 * S - 1, 0), ROTATION_STAY);
	assert_int_equal(rotation_step(&r, 105 * S, 0), ROTATION_NEXT);
	assert_name(&r, 3605, "d-010005");
	assert_int_equal(rotation_step(&r, 109 * S, 0), ROTATION_STAY);
	assert_int_equal(rotation_step(&r, 111 * S, 0), ROTATION_END);
}

/* Without a time format in its name the file is overwritten, as tcpdump documents. */
static void test_by_time_without_a_format(void **state)
{
	const struct sink_rotation rule = { .every_ns = S, .like_tcpdump = true };
	struct rotation r = { .rule = &rule, .path = "d" };

	(void)state;
	rotation_step(&r, S, 0);
	assert_name(&r, 0, "d");
	assert_int_equal(rotation_step(&r, 2 * S, 0), ROTATION_NEXT);
	assert_name(&r, 1, "d");
}

static void test_size_and_time(void **state)
{
	const struct sink_rotation rule = { .bytes = 10, .every_ns = 60 * S, .files = 3, .like_tcpdump = true };
	struct rotation r = { .rule = &rule, .path = "%M-" };

	(void)state;
	rotation_step(&r, S, 0);
	assert_name(&r, 0, "00-0");
	for (unsigned i = 1; i < 5; i++) {	/* the number is a ring of its own */
		char want[16];

		snprintf(want, sizeof(want), "00-%u", i % 3);
		assert_int_equal(rotation_step(&r, 2 * S, 11), ROTATION_NEXT);
		assert_name(&r, 1, want);
		r.since_ns = S;
	}
	for (unsigned period = 1; period < 5; period++) {	/* and never ends the run */
		char want[16];

		snprintf(want, sizeof(want), "%02u-0", period);
		assert_int_equal(rotation_step(&r, (1 + 60 * period) * S, 10), ROTATION_NEXT);
		assert_name(&r, 60 * period, want);
	}
}

static void test_by_events(void **state)
{
	const struct sink_rotation rule = { .events = 3, .like_tcpdump = true };
	struct rotation r = { .rule = &rule, .path = "f" };
	unsigned in_file[4] = { 0 }, file = 0;

	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		file += rotation_step(&r, S + i, 1000000) == ROTATION_NEXT;
		assert_true(file < ARRAY_SIZE(in_file));
		in_file[file]++;
	}
	assert_int_equal(in_file[0], 3);
	assert_int_equal(in_file[1], 3);
	assert_int_equal(in_file[2], 2);
	assert_name(&r, 0, "f2");
}

static void test_sonde_names_by_time(void **state)
{
	const struct sink_rotation rule = { .every_ns = S };
	struct rotation r = { .rule = &rule, .path = "x-%S" };

	(void)state;
	assert_name(&r, 7, "x-07");
	r.path = "x";
	assert_name(&r, 7, "x0");
}

static void test_too_long(void **state)
{
	const struct sink_rotation rule = { .bytes = 1, .files = 100, .like_tcpdump = true };
	struct rotation r = { .rule = &rule, .path = "seven77" };
	char name[9];

	(void)state;
	assert_int_equal(rotation_name(&r, 0, name, sizeof(name)), -ENAMETOOLONG);
	r.path = "six666";
	assert_int_equal(rotation_name(&r, 0, name, sizeof(name)), 0);
	assert_string_equal(name, "six66600");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers), cmocka_unit_test(test_numbers_before_the_suffix),
		cmocka_unit_test(test_the_size_itself),
		cmocka_unit_test(test_by_time_ends_after_so_many),
		cmocka_unit_test(test_by_time_without_a_format), cmocka_unit_test(test_size_and_time),
		cmocka_unit_test(test_by_events), cmocka_unit_test(test_sonde_names_by_time),
		cmocka_unit_test(test_too_long),
	};

	return cmocka_run_group_tests(tests, in_utc, NULL);
}
