// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/macros.h"
#include "worker/spawner.h"
#include "worker/worker.h"

#define TIMEOUT_NS 10000000000ull
#define N_FILES 3

/* Written after the spawner's start: what a worker finds here says who forked it. */
static char memory[16] = "before";

static int start(void **state)
{
	(void)state;
	strcpy(memory, "before");
	if (spawner_start(NULL) < 0)
		return -1;
	strcpy(memory, "after");
	return 0;
}

static int stop(void **state)
{
	(void)state;
	spawner_stop();
	return 0;
}

static int tell_memory(void *ctx, int in_fd, int out_fd)
{
	(void)in_fd;
	return write(out_fd, memory, sizeof(memory)) != sizeof(memory) || (ctx && memcmp(ctx, "context", 8));
}
WORKER_PLAIN(tell_memory);

static int tell_memory_directly(void *ctx, int in_fd, int out_fd)
{
	return tell_memory(ctx, in_fd, out_fd);
}

static void call(worker_fn fn, char answer[static sizeof(memory)])
{
	const struct worker_opts o = { .name = "test", .ctx_bytes = sizeof("context") };
	char context[] = "context";
	struct err err = { 0 };

	assert_int_equal(worker_call(&o, fn, context, -1, answer, sizeof(memory), TIMEOUT_NS, &err), sizeof(memory));
}

static void plain_workers_have_nothing_of_later(void **state)
{
	char answer[sizeof(memory)];

	(void)state;
	call(tell_memory, answer);
	assert_string_equal(answer, "before");
	call(tell_memory_directly, answer);
	assert_string_equal(answer, "after");
}

static void workers_with_rights_are_not_its_business(void **state)
{
	const struct worker_opts o = { .name = "test", .rights = 1 };
	char answer[sizeof(memory)];

	(void)state;
	assert_int_equal(worker_call(&o, tell_memory, NULL, -1, answer, sizeof(answer), TIMEOUT_NS, NULL),
			 sizeof(answer));
	assert_string_equal(answer, "after");
}

/* The input, then each file. */
static int read_all(void *ctx, int in_fd, int out_fd)
{
	char text[N_FILES + 1] = "";

	if (*(const int *)ctx != N_FILES || read(in_fd, text, 1) != 1)
		return 1;
	for (int i = 0; i < N_FILES; i++)
		if (pread(WORKER_FD_FIRST + i, text + 1 + i, 1, 0) != 1)
			return 2;
	return write(out_fd, text, sizeof(text)) != sizeof(text);
}
WORKER_PLAIN(read_all);

static int file_with(const char *text)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	assert_int_equal(write(fd, text, 1), 1);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static void check_files(void)
{
	int in = file_with("i"), fds[N_FILES] = { file_with("a"), file_with("b"), file_with("c") }, n = N_FILES;
	int swapped[] = { fds[2], fds[0], fds[1] };	/* their numbers are in each other's way */
	const struct worker_opts o = { .name = "test", .fds = swapped, .n_fds = N_FILES, .ctx_bytes = sizeof(n) };
	char answer[N_FILES + 1];
	struct err err = { 0 };

	assert_int_equal(worker_call(&o, read_all, &n, in, answer, sizeof(answer), TIMEOUT_NS, &err), sizeof(answer));
	assert_memory_equal(answer, "icab", sizeof(answer));
	close(in);
	for (int i = 0; i < N_FILES; i++)
		close(fds[i]);
}

static void descriptors_come_in_order(void **state)
{
	(void)state;
	check_files();
	spawner_stop();		/* and without it */
	check_files();
}

static void a_killed_one_is_done_without(void **state)
{
	char answer[sizeof(memory)];

	(void)state;
	assert_int_equal(kill(spawner_pid(), SIGKILL), 0);
	call(tell_memory, answer);
	assert_string_equal(answer, "after");
	assert_int_equal(spawner_pid(), 0);
	assert_int_equal(start(state), 0);
	call(tell_memory, answer);
	assert_string_equal(answer, "before");
}

/* A spawner's worker that waits for ever, and both pids, from a process that then waits. */
static int wait_for_ever(void *ctx, int in_fd, int out_fd)
{
	char byte;

	(void)ctx, (void)out_fd;
	return (int)read(in_fd, &byte, 1);
}
WORKER_PLAIN(wait_for_ever);

_Noreturn static void parent_of_both(int out_fd)
{
	const struct worker_opts o = { .name = "test" };
	struct worker *w;
	pid_t pids[2];
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0 || spawner_start(NULL) < 0 ||
	    worker_start(&o, wait_for_ever, NULL, fds[0], &w, NULL) < 0)
		_exit(1);
	pids[0] = spawner_pid();
	pids[1] = worker_pid(w);
	if (write(out_fd, pids, sizeof(pids)) != sizeof(pids))
		_exit(1);
	for (;;)
		pause();
}

static void it_dies_with_its_process(void **state)
{
	struct pollfd p[2] = { { .events = POLLIN }, { .events = POLLIN } };
	pid_t child, pids[2];
	int fds[2];

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	child = fork();
	if (!child)
		parent_of_both(fds[1]);
	assert_int_equal(read(fds[0], pids, sizeof(pids)), sizeof(pids));
	for (int i = 0; i < 2; i++) {
		p[i].fd = (int)syscall(SYS_pidfd_open, pids[i], 0);
		assert_true(p[i].fd >= 0);
	}
	assert_int_equal(poll(p, 2, 0), 0);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(poll(&p[i], 1, 10000), 1);
		close(p[i].fd);
	}
	close(fds[0]);
	close(fds[1]);
}

static void *call_often(void *ctx)
{
	(void)ctx;
	for (int i = 0; i < 50; i++) {
		char answer[sizeof(memory)];

		call(tell_memory, answer);
		if (strcmp(answer, "before"))
			return (void *)1;
	}
	return NULL;
}

static void two_threads_share_it(void **state)
{
	pthread_t threads[2];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, call_often, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
		void *result;

		assert_int_equal(pthread_join(threads[i], &result), 0);
		assert_null(result);
	}
}

#define WITH_SPAWNER(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_SPAWNER(plain_workers_have_nothing_of_later),
		WITH_SPAWNER(workers_with_rights_are_not_its_business),
		WITH_SPAWNER(descriptors_come_in_order),
		WITH_SPAWNER(a_killed_one_is_done_without),
		WITH_SPAWNER(two_threads_share_it),
		cmocka_unit_test(it_dies_with_its_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
