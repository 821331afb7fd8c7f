// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The process that starts the commands of tcpdump's -z.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "compat/tcpdump/tcpdump_rotated.h"
#include "tests/unit/scratch_dir.h"

static bool is_child(pid_t pid, pid_t parent)
{
	char path[64];
	int found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (fscanf(f, "%*d (%*[^)]) %*c %d", &found) != 1)
		found = 0;
	fclose(f);
	return found == parent;
}

/* Some child of @parent, zombies included; 0 = none. */
static pid_t child_of(pid_t parent)
{
	DIR *d = opendir("/proc");
	const struct dirent *e;
	pid_t found = 0;

	assert_non_null(d);
	while (!found && (e = readdir(d))) {
		const pid_t pid = atoi(e->d_name);

		found = pid > 0 && is_child(pid, parent) ? pid : 0;
	}
	closedir(d);
	return found;
}

/* A command that shows that it ran, and what SIGTERM does to it. */
static struct tcpdump_rotated *begin(pid_t *ret_helper)
{
	const char *path = in_scratch("command");
	struct tcpdump_rotated *t;
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs("#!/bin/sh\ntouch $1.ran\nkill -TERM $$\ntouch $1.ignored\n", f);
	assert_int_equal(fchmod(fileno(f), 0700), 0);
	fclose(f);
	assert_int_equal(tcpdump_rotated_new(path, &t), 0);
	*ret_helper = child_of(getpid());
	assert_true(*ret_helper);
	return t;
}

static void close_file(struct tcpdump_rotated *t, unsigned number)
{
	char name[16];

	snprintf(name, sizeof(name), "file%u", number);
	tcpdump_rotated_closed(t, in_scratch(name));
}

static bool has(unsigned number, const char *what)
{
	char name[32];

	snprintf(name, sizeof(name), "file%u.%s", number, what);
	return access(in_scratch(name), F_OK) == 0;
}

/* Signals that end the capture reach the process as well where they go to a group. */
static void the_last_file_gets_its_command(void **state)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct tcpdump_rotated *t;
	pid_t helper;

	(void)state;
	t = begin(&helper);
	close_file(t, 0);
	while (!has(0, "ran"))
		usleep(1000);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		assert_int_equal(kill(helper, ends[i]), 0);
	close_file(t, 1);
	tcpdump_rotated_free(t);
	assert_true(has(1, "ran"));
	assert_false(has(0, "ignored") || has(1, "ignored"));
}

static void ended_commands_leave_no_zombies(void **state)
{
	struct tcpdump_rotated *t;
	pid_t helper;

	(void)state;
	t = begin(&helper);
	for (unsigned i = 10; i < 18; i++)
		close_file(t, i);
	for (unsigned i = 10; i < 18; i++)
		while (!has(i, "ran"))
			usleep(1000);
	while (child_of(helper)) /* zombies would stay */
		usleep(1000);
	tcpdump_rotated_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_file_gets_its_command),
		cmocka_unit_test(ended_commands_leave_no_zombies),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
