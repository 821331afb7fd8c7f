// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Complete reads and writes, over a pipe that transfers partially.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"

#define MORE_THAN_A_PIPE (1u << 20)

static void test_through_a_pipe(void **state)
{
	char *data = malloc(MORE_THAN_A_PIPE), head[MORE_THAN_A_PIPE / 4];
	struct buf got = { 0 };
	int ends[2], status;
	pid_t pid;

	(void)state;
	for (size_t i = 0; i < MORE_THAN_A_PIPE; i++)
		data[i] = (char)(i * 7);
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (!pid)
		_exit(io_write_all(ends[1], data, MORE_THAN_A_PIPE) < 0);
	close(ends[1]);
	assert_int_equal(io_read_all(ends[0], head, sizeof(head)), 0);
	assert_memory_equal(head, data, sizeof(head));
	assert_int_equal(io_read_to_end(ends[0], MORE_THAN_A_PIPE, &got), 0);
	assert_int_equal(got.len, MORE_THAN_A_PIPE - sizeof(head));
	assert_memory_equal(got.data, data + sizeof(head), got.len);
	assert_int_equal(io_read_all(ends[0], head, 1), -ENODATA);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(ends[0]);
	buf_fini(&got);
	free(data);
}

static void test_errors(void **state)
{
	struct buf got = { 0 };
	char zeros[100] = "x";
	int fd = open("/dev/full", O_RDWR | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, "x", 1), -ENOSPC);
	assert_int_equal(io_write_all(fd, "x", 0), 0);
	assert_int_equal(io_read_all(fd, zeros, sizeof(zeros)), 0);
	assert_int_equal(zeros[sizeof(zeros) - 1], 0);
	assert_int_equal(io_read_to_end(fd, 10000, &got), -EFBIG);	/* endless zeros */
	assert_true(got.len > 10000 && got.len < 20000);
	close(fd);
	assert_int_equal(io_read_all(fd, zeros, 1), -EBADF);
	assert_int_equal(io_read_to_end(fd, 10, &got), -EBADF);
	assert_int_equal(io_write_all(fd, "x", 1), -EBADF);
	buf_fini(&got);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_through_a_pipe), cmocka_unit_test(test_errors) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
