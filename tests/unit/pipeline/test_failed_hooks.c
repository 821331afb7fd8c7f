// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pipeline/failed_hooks.h"

#define INSTANCE(n) (1ull << (n))

static void a_hook_is_news_once_and_to_each_instance(void **state)
{
	struct failed_hooks f = { 0 };

	(void)state;
	assert_int_equal(failed_hooks_add(&f, INSTANCE(1), "drops", "why"), 0);
	assert_int_equal(failed_hooks_add(&f, INSTANCE(1), "drops", "why"), INSTANCE(1));
	assert_int_equal(failed_hooks_add(&f, INSTANCE(32), "drops", "again"), INSTANCE(1));
	assert_int_equal(failed_hooks_add(&f, INSTANCE(2), "packets", "other"), 0);
	assert_int_equal(f.all.len, 2);
	assert_string_equal(f.all.items[0].why, "why");
	assert_int_equal(f.all.items[0].of, INSTANCE(1) | INSTANCE(32));
	assert_true(failed_hooks_has(&f, "packets"));
	assert_false(failed_hooks_has(&f, "drop"));
	failed_hooks_fini(&f);
}

static void an_instance_that_ended_lacks_nothing(void **state)
{
	struct failed_hooks f = { 0 };

	(void)state;
	failed_hooks_add(&f, INSTANCE(1), "drops", "");
	failed_hooks_add(&f, INSTANCE(1), "packets", "");
	failed_hooks_add(&f, INSTANCE(2), "packets", "");
	failed_hooks_forget(&f, INSTANCE(1));
	assert_false(failed_hooks_has(&f, "drops"));
	assert_true(failed_hooks_has(&f, "packets"));
	failed_hooks_forget(&f, INSTANCE(2));
	assert_int_equal(f.all.len, 0);
	assert_int_equal(failed_hooks_add(&f, INSTANCE(1), "drops", ""), 0);
	failed_hooks_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hook_is_news_once_and_to_each_instance),
		cmocka_unit_test(an_instance_that_ended_lacks_nothing),
	};

	return cmocka_run_group_tests_name("failed_hooks", tests, NULL, NULL);
}
