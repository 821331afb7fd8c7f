// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A process that drops its rights, and the opener that works for it. Each case runs in its own child.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/rights.h"
#include "tests/unit/scratch_dir.h"
#include "worker/confine.h"
#include "worker/opener.h"
#include "worker/worker.h"

#define TIMEOUT_NS 10000000000ull
#define PRIVATE 7	/* kind of file */

static int in_child(int (*fn)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (!pid)
		_exit(fn());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void need_confinement(void)
{
	if (confine_works())
		return;
	print_message("skipped: a sanitizer build keeps its rights\n");
	skip();
}

static int say(void *ctx, int in_fd, int out_fd)
{
	(void)ctx, (void)in_fd;
	return write(out_fd, "ok", 2) != 2;
}

/* Which of the forbidden or required actions fails; 0 = none. */
static int live_without_rights(void)
{
	static const struct worker_opts w = { .name = "test" };
	char answer[2];

	if (confine_self(false, NULL) < 0)
		return 1;
	if (getuid() == 0 || geteuid() == 0 || rights_permitted())
		return 2;
	if (open("/dev/null", O_WRONLY) >= 0 || errno != EPERM)
		return 3;
	if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || errno != EPERM)
		return 4;
	if (accept4(-1, NULL, NULL, SOCK_CLOEXEC) >= 0 || errno != EPERM)
		return 9;
	if (execl("/bin/true", "true", NULL) == 0 || errno != EPERM)
		return 5;
	if (kill(getppid(), SIGTERM) == 0 || errno != EPERM)
		return 6;
	if (open("/proc/self/stat", O_RDONLY) < 0)
		return 7;
	return worker_call(&w, say, NULL, -1, answer, 2, TIMEOUT_NS, NULL) == 2 ? 0 : 8;
}

static void it_has_no_rights(void **state)
{
	(void)state;
	need_confinement();
	assert_int_equal(in_child(live_without_rights), 0);
}

static int folder = -1;

static int open_private(void *ctx, uint32_t what, const char *name)
{
	int fd;

	if (ctx != &folder || what != PRIVATE || strchr(name, '/'))
		return -EPERM;
	fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static struct opener_opts private_opts(void)
{
	return (struct opener_opts){ .open = open_private, .ctx = &folder, .fds = &folder, .n_fds = 1 };
}

static int read_through_opener(void)
{
	const struct opener_opts opts = private_opts();
	struct opener *o = NULL;
	char text[8] = "";
	int fd;

	if (opener_start(&opts, &o, NULL) < 0 || confine_self(false, NULL) < 0)
		return 1;
	close(folder);
	fd = opener_open(o, PRIVATE, "secret");
	if (fd < 0 || read(fd, text, sizeof(text)) != 5 || strncmp(text, "hello", 5) != 0)
		return 2;
	if (!(fcntl(fd, F_GETFD) & FD_CLOEXEC))
		return 3;
	if (opener_open(o, PRIVATE, "none") != -ENOENT)
		return 4;
	if (opener_open(o, PRIVATE, "../x") != -EPERM || opener_open(o, PRIVATE + 1, "secret") != -EPERM)
		return 5;
	if (opener_remove(o) != -EPERM)
		return 7;
	opener_free(o);
	return waitpid(-1, NULL, 0) == -1 && errno == ECHILD ? 0 : 6;
}

/* A folder that only its owner may enter. */
static void it_opens_what_the_function_allows(void **state)
{
	int fd;

	(void)state;
	need_confinement();
	assert_int_equal(mkdir(in_scratch("private"), 0700), 0);
	folder = open(in_scratch("private"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(folder >= 0);
	fd = openat(folder, "secret", O_WRONLY | O_CREAT, 0600);
	assert_int_equal(write(fd, "hello", 5), 5);
	close(fd);
	assert_int_equal(in_child(read_through_opener), 0);
	close(folder);
}

static int remove_socket(void *ctx)
{
	return ctx == &folder && unlinkat(folder, "socket", 0) == 0 ? 0 : -errno;
}

static int remove_elsewhere(void *ctx)
{
	(void)ctx;
	return unlinkat(AT_FDCWD, in_scratch("other"), 0) < 0 ? -errno : 0;
}

static int serve_without_rights(void)
{
	struct opener_opts opts = private_opts();
	struct opener *o = NULL;

	opts.remove = remove_socket;
	opts.remove_fd = folder;
	if (opener_start(&opts, &o, NULL) < 0 || confine_self(true, NULL) < 0)
		return 1;
	if (accept4(-1, NULL, NULL, SOCK_CLOEXEC) >= 0 || errno != EBADF)
		return 2;
	if (socket(AF_UNIX, SOCK_STREAM, 0) >= 0 || errno != EPERM)
		return 3;
	if (unlinkat(folder, "socket", 0) == 0)
		return 4;
	if (opener_remove(o) != 0)
		return 5;
	if (opener_remove(o) != -ENOENT)
		return 6;
	opener_free(o);
	return 0;
}

static int ask_to_remove_elsewhere(void)
{
	struct opener_opts opts = private_opts();
	struct opener *o = NULL;
	int r;

	opts.remove = remove_elsewhere;
	opts.remove_fd = folder;
	if (opener_start(&opts, &o, NULL) < 0)
		return 1;
	r = opener_remove(o);
	opener_free(o);
	return r == -ECHILD ? 0 : 2;	/* the filter has killed it */
}

static void make_file(int dir, const char *name)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT, 0600);

	assert_true(fd >= 0);
	close(fd);
}

static void it_removes_one_file_of_one_folder(void **state)
{
	(void)state;
	need_confinement();
	assert_int_equal(mkdir(in_scratch("sockets"), 0700), 0);
	folder = open(in_scratch("sockets"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	make_file(folder, "socket");
	make_file(AT_FDCWD, in_scratch("other"));
	assert_int_equal(in_child(serve_without_rights), 0);
	assert_int_equal(faccessat(folder, "socket", F_OK, 0), -1);
	assert_int_equal(in_child(ask_to_remove_elsewhere), 0);
	assert_int_equal(access(in_scratch("other"), F_OK), 0);
	close(folder);
}

static int read_after_signals(void)
{
	const struct opener_opts opts = private_opts();
	struct opener *o = NULL;
	int fd;

	signal(SIGINT, SIG_IGN);
	if (setpgid(0, 0) < 0 || opener_start(&opts, &o, NULL) < 0)
		return 1;
	if (opener_open(o, PRIVATE, "none") >= 0)	/* an answer: it has set its signals */
		return 2;
	kill(0, SIGINT);
	fd = opener_open(o, PRIVATE, ".");
	opener_free(o);
	return fd < 0 ? 3 : 0;
}

/* ^C goes to the whole process group, and the command still looks up names after it. */
static void it_outlives_an_interrupt(void **state)
{
	(void)state;
	folder = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(in_child(read_after_signals), 0);
	close(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_has_no_rights), cmocka_unit_test(it_opens_what_the_function_allows),
		cmocka_unit_test(it_removes_one_file_of_one_folder), cmocka_unit_test(it_outlives_an_interrupt),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
