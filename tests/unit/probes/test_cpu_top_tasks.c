// SPDX-License-Identifier: GPL-2.0-or-later
/* Tasks with the highest CPU use, from lines of /proc/PID/stat, and from this process itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "probes/cpu/cpu_top_tasks.h"

#define NOW 100000	/* ticks */

/* After the command name: state, ten numbers, utime, stime, six numbers, starttime. */
#define LINE(comm, state, utime, stime, start) \
	"812 (" comm ") " state " 1 812 812 0 -1 4194560 100 0 0 0 " utime " " stime " 0 0 20 0 1 0 " start " 10 20\n"

static void states_and_shares(void **state)
{
	static const struct { const char *line, *comm; bool busy; } rows[] = {
		{ LINE("make", "R", "0", "0", "99999"), "make", true },
		{ LINE("redis", "S", "1500", "500", "0"), "redis", true },	/* two hundredths of its time */
		{ LINE("redis", "S", "1499", "500", "0"), "redis", false },
		{ LINE("young", "S", "1", "1", "99901"), "young", true },
		{ LINE("born now", "S", "0", "0", "100000"), "born now", false },
		{ LINE("dead", "Z", "9000", "9000", "0"), "", false },
		{ LINE("a) R 1 (b", "D", "0", "0", "0"), "a) R 1 (b", false },
		{ LINE("0123456789abcdef", "R", "0", "0", "0"), "0123456789abcde", true },
		{ "812 (cut) R 1 812", "", false },
		{ "812 cut R", "", false },
		{ ")(", "", false },
		{ "", "", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char comm[16] = "";

		assert_int_equal(cpu_top_tasks_stat(rows[i].line, NOW, comm), rows[i].busy);
		assert_string_equal(comm, rows[i].comm);
	}
}

static void find_self(void *ctx, uint32_t tgid, const char *comm)
{
	if (tgid == (uint32_t)getpid())
		*(bool *)ctx = !strncmp(comm, "test_cpu_top_tasks", 13);
}

/* The calling thread is running. */
static void the_caller_is_busy(void **state)
{
	int proc_fd = open("/proc", O_PATH | O_DIRECTORY);
	bool found = false;

	(void)state;
	cpu_top_tasks_each(proc_fd, 10000000000ull, NULL, find_self, &found);
	assert_true(found);
	found = false;
	cpu_top_tasks_each(proc_fd, 0, NULL, find_self, &found);
	assert_false(found);
	close(proc_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(states_and_shares),
		cmocka_unit_test(the_caller_is_busy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
