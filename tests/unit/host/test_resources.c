// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/err.h"
#include "base/macros.h"
#include "host/resources.h"

/* Lines of /proc/PID/cgroup; NULL: not of the memory controller. */
static void the_line_of_memory(void **state)
{
	static const struct { const char *line, *path; bool v2; } cases[] = {
		{ "0::/user.slice/a", "/user.slice/a", true }, { "0::/", "/", true },
		{ "4:memory:/docker/x", "/docker/x", false }, { "9:cpu,memory:/a:b", "/a:b", false },
		{ "9:memory,cpu:/", "/", false }, { "3:cpuset:/memory", NULL, false },
		{ "1:name=memory:/x", NULL, false }, { "5:memory2:/x", NULL, false }, { "nonsense", NULL, false },
		{ "0:x", NULL, false }, { "", NULL, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *path = NULL;
		bool v2, found = resources_cgroup_line(cases[i].line, &path, &v2);

		assert_int_equal(found, cases[i].path != NULL);
		if (found) {
			assert_string_equal(path, cases[i].path);
			assert_int_equal(v2, cases[i].v2);
		}
	}
}

static void some_memory_is_left(void **state)
{
	struct memory_room room = resources_memory();

	(void)state;
	assert_true(room.bytes > 0);
}

/* Last, as the limits stay. */
static void descriptors(void **state)
{
	struct rlimit lim = { .rlim_cur = 40, .rlim_max = 4096 };
	struct err err = { 0 };

	(void)state;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &lim), 0);
	assert_int_equal(resources_files(2, &err), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &lim), 0);
	assert_in_range(lim.rlim_cur, 257, 4096);
	lim.rlim_cur = lim.rlim_max = 100;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &lim), 0);
	assert_int_equal(resources_files(2, &err), -EMFILE);
	assert_non_null(strstr(err.msg, "at most 100 files"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_line_of_memory), cmocka_unit_test(some_memory_is_left),
		cmocka_unit_test(descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
