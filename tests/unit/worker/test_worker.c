// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/macros.h"
#include "worker/confine.h"
#include "worker/restart.h"
#include "worker/worker.h"

#define MS 1000000ULL
#define S (1000 * MS)
#define MIB (1ull << 20)

static const struct worker_opts opts = { .name = "test" };

static void need_confinement(void)
{
	if (confine_works())
		return;
	print_message("skipped: a sanitizer build leaves the limit and the filter out\n");
	skip();
}

/* ---- permitted actions ---- */

static int echo_twice(void *ctx, int in_fd, int out_fd)
{
	char data[64];
	ssize_t n = read(in_fd, data, sizeof(data));

	if (n < 0 || write(out_fd, data, (size_t)n) != n || lseek(in_fd, 0, SEEK_SET) != 0)
		return 1;
	n = read(in_fd, data, sizeof(data));
	return n < 0 || write(out_fd, data, (size_t)n) != n || strcmp(ctx, "context") ? 2 : 0;
}

static void it_reads_and_answers(void **state)
{
	int fd = memfd_create("input", MFD_CLOEXEC);
	struct err err = { 0 };
	char answer[32], context[] = "context";

	(void)state;
	assert_int_equal(write(fd, "hello", 5), 5);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(worker_call(&opts, echo_twice, context, fd, answer, sizeof(answer), 10 * S, &err), 10);
	assert_memory_equal(answer, "hellohello", 10);
	close(fd);
}

static int use_memory(void *ctx, int in_fd, int out_fd)
{
	(void)ctx;
	for (size_t size = 1; size < 64 * MIB; size *= 3) {
		char *p = malloc(size);

		if (!p)
			return 1;
		memset(p, 1, size);
		p = realloc(p, size * 2);
		if (!p)
			return 2;
		free(p);
	}
	return in_fd == -1 && write(out_fd, "ok", 2) == 2 ? 0 : 3;
}

static void it_has_memory_to_work_with(void **state)
{
	struct err err = { 0 };
	char answer[2];

	(void)state;
	assert_int_equal(worker_call(&opts, use_memory, NULL, -1, answer, 2, 10 * S, &err), 2);
	assert_string_equal(err.msg, "");
}

/* Answers how many MiB it could allocate. */
static int eat_memory(void *ctx, int in_fd, int out_fd)
{
	uint32_t n = 0;
	void *p;

	(void)ctx;
	(void)in_fd;
	while (n < 1000 && (p = malloc(MIB))) {
		memset(p, 1, MIB);
		n++;
	}
	return write(out_fd, &n, sizeof(n)) != sizeof(n);
}

static void its_memory_is_bounded(void **state)
{
	const struct worker_opts o = { .name = "test", .memory_bytes = 32 * MIB };
	uint32_t n = 0;

	(void)state;
	need_confinement();
	assert_int_equal(worker_call(&o, eat_memory, NULL, -1, &n, sizeof(n), 30 * S, NULL), sizeof(n));
	assert_in_range(n, 24, 32);
}

/* ---- forbidden actions ---- */

static int open_file(void *ctx, int in_fd, int out_fd)
{
	(void)ctx, (void)in_fd, (void)out_fd;
	return open("/etc/passwd", O_RDONLY) >= 0 ? 10 : 11;
}

static int make_socket(void *ctx, int in_fd, int out_fd)
{
	(void)ctx, (void)in_fd, (void)out_fd;
	return socket(AF_INET, SOCK_STREAM, 0) >= 0 ? 10 : 11;
}

static int make_child(void *ctx, int in_fd, int out_fd)
{
	(void)ctx, (void)in_fd, (void)out_fd;
	return fork() >= 0 ? 10 : 11;
}

static int run_program(void *ctx, int in_fd, int out_fd)
{
	char *argv[] = { (char[]){ "sh" }, NULL };

	(void)ctx, (void)in_fd, (void)out_fd;
	execv("/bin/sh", argv);
	return 11;
}

static int map_code(void *ctx, int in_fd, int out_fd)
{
	(void)ctx, (void)in_fd, (void)out_fd;
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED ? 10 : 11;
}

static int make_code(void *ctx, int in_fd, int out_fd)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)ctx, (void)in_fd, (void)out_fd;
	return mprotect(p, 4096, PROT_READ | PROT_EXEC) == 0 ? 10 : 11;
}

static int map_input(void *ctx, int in_fd, int out_fd)
{
	(void)ctx, (void)out_fd;
	return mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, in_fd, 0) != MAP_FAILED ? 10 : 11;
}

static int kill_parent(void *ctx, int in_fd, int out_fd)
{
	(void)ctx, (void)in_fd, (void)out_fd;
	return kill(getppid(), 0) == 0 ? 10 : 11;
}

static int signal_parent_thread(void *ctx, int in_fd, int out_fd)
{
	pid_t parent = *(pid_t *)ctx;

	(void)in_fd, (void)out_fd;
	return syscall(SYS_tgkill, parent, parent, 0) == 0 ? 10 : 11;
}

static int look_at_rights(void *ctx, int in_fd, int out_fd)
{
	(void)ctx, (void)in_fd, (void)out_fd;
	return prctl(PR_GET_DUMPABLE) == 0 ? 10 : 11;
}

static void forbidden_calls_kill_it(void **state)
{
	static const worker_fn fns[] = {
		open_file, make_socket, make_child, run_program, map_code, make_code, map_input, kill_parent,
		signal_parent_thread, look_at_rights,
	};
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	pid_t self = getpid();

	(void)state;
	need_confinement();
	for (size_t i = 0; i < ARRAY_SIZE(fns); i++) {
		struct err err = { 0 };
		char answer[1];

		assert_int_equal(worker_call(&opts, fns[i], &self, fd, answer, 1, 10 * S, &err), -ECHILD);
		assert_non_null(strstr(err.msg, "was ended: it made a forbidden system call"));
	}
	close(fd);
}

/* Answers the number of descriptors beyond the three that it was given. */
static int end_at_once(void *ctx, int in_fd, int out_fd)
{
	(void)ctx, (void)in_fd, (void)out_fd;
	return 7;
}

/* Without a wait at the start, it drops its rights nevertheless. */
static void it_may_start_later(void **state)
{
	const struct worker_opts o = { .name = "test", .later = true };
	struct err err = { 0 };
	struct worker *w;

	(void)state;
	need_confinement();
	assert_int_equal(worker_start(&o, open_file, NULL, -1, &w, &err), 0);
	assert_int_equal(worker_finish(w, 10 * S, &err), -ECHILD);
	assert_non_null(strstr(err.msg, "system call"));
	assert_int_equal(worker_start(&o, end_at_once, NULL, -1, &w, &err), 0);
	assert_int_equal(worker_finish(w, 10 * S, &err), 7);
}

static int count_fds(void *ctx, int in_fd, int out_fd)
{
	unsigned n = 0;

	(void)ctx, (void)in_fd;
	for (int fd = STDERR_FILENO + 1; fd < 5000; fd++)
		n += write(fd, "", 0) == 0 || errno != EBADF;
	return write(out_fd, &n, sizeof(n)) != sizeof(n);
}

static void no_descriptor_is_left_to_it(void **state)
{
	int fds[3], high;
	unsigned n = 1;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = open("/dev/null", O_WRONLY);	/* not close-on-exec: this is about fork */
	high = fcntl(fds[0], F_DUPFD, 900);
	assert_true(high >= 900);
	assert_int_equal(worker_call(&opts, count_fds, NULL, fds[1], &n, sizeof(n), 10 * S, NULL), sizeof(n));
	assert_int_equal(n, 0);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	close(high);
}

static int wait_for_input(void *ctx, int in_fd, int out_fd)
{
	char c;

	(void)ctx;
	while (read(in_fd, &c, 1) == 1)
		if (write(out_fd, &c, 1) != 1)
			return 1;
	return 0;
}

/* The line of /proc/@pid/status that begins with @key, without it. */
static void proc_status(pid_t pid, const char *key, char ret[static 128])
{
	char path[64], line[128];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "r");
	assert_non_null(f);
	*ret = '\0';
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			memcpy(ret, line + strlen(key), strlen(line + strlen(key)) + 1);
	fclose(f);
}

static void start_waiting(struct worker **ret, int fds[2])
{
	struct err err = { 0 };

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(worker_start(&opts, wait_for_input, NULL, fds[0], ret, &err), 0);
	assert_string_equal(err.msg, "");
	close(fds[0]);
}

/* The kernel's view of it. */
static void it_has_no_rights(void **state)
{
	struct worker *w;
	char text[128];
	int fds[2];

	(void)state;
	start_waiting(&w, fds);
	proc_status(worker_pid(w), "Name:\t", text);
	assert_string_equal(text, "test\n");
	proc_status(worker_pid(w), "NoNewPrivs:\t", text);
	assert_string_equal(text, "1\n");
	proc_status(worker_pid(w), "Seccomp:\t", text);
	assert_string_equal(text, confine_works() ? "2\n" : "0\n");
	proc_status(worker_pid(w), "CapEff:\t", text);
	assert_string_equal(text, "0000000000000000\n");
	proc_status(worker_pid(w), "CapPrm:\t", text);
	assert_string_equal(text, "0000000000000000\n");
	if (geteuid() == 0) {
		proc_status(worker_pid(w), "CapBnd:\t", text);
		assert_string_equal(text, "0000000000000000\n");
		proc_status(worker_pid(w), "Uid:\t", text);
		assert_string_equal(text, "65534\t65534\t65534\t65534\n");
		proc_status(worker_pid(w), "Gid:\t", text);
		assert_string_equal(text, "65534\t65534\t65534\t65534\n");
		proc_status(worker_pid(w), "Groups:\t", text);
		assert_int_equal(strspn(text, " \n"), strlen(text));
	}
	assert_int_equal(write(fds[1], "x", 1), 1);
	assert_int_equal(read(worker_fd(w), text, 1), 1);
	close(fds[1]);
	assert_int_equal(read(worker_fd(w), text, 1), 0);
	assert_int_equal(worker_finish(w, S, NULL), 0);
}

/* So that its priority counts against all processes where the scheduler groups by session. */
static void a_priority_is_that_of_a_session(void **state)
{
	const struct worker_opts o = { .name = "test", .nice = 3 };
	struct err err = { 0 };
	struct worker *w;
	int fds[2];

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(worker_start(&o, wait_for_input, NULL, fds[0], &w, &err), 0);
	assert_int_equal(getpriority(PRIO_PROCESS, (id_t)worker_pid(w)), 3);
	assert_int_equal(getsid(worker_pid(w)), worker_pid(w));
	worker_kill(w);
	close(fds[0]);
	close(fds[1]);
}

static void it_becomes_who_was_asked_for(void **state)
{
	const struct worker_opts o = { .name = "test", .uid = 12345, .gid = 23456 };
	struct worker *w;
	char text[128];
	int fds[2];

	(void)state;
	if (geteuid() != 0) {
		print_message("skipped: only root can become somebody else\n");
		skip();
	}
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(worker_start(&o, wait_for_input, NULL, fds[0], &w, NULL), 0);
	proc_status(worker_pid(w), "Uid:\t", text);
	assert_string_equal(text, "12345\t12345\t12345\t12345\n");
	proc_status(worker_pid(w), "Gid:\t", text);
	assert_string_equal(text, "23456\t23456\t23456\t23456\n");
	worker_kill(w);
	close(fds[0]);
	close(fds[1]);
}

/* ---- bounds ---- */

static int never_end(void *ctx, int in_fd, int out_fd)
{
	volatile unsigned n = 0;

	(void)ctx, (void)in_fd, (void)out_fd;
	for (;;)
		n++;
	return 0;
}

static void a_deadline_ends_it(void **state)
{
	uint64_t start = clock_boot_ns();
	struct err err = { 0 };
	char answer[1];

	(void)state;
	assert_int_equal(worker_call(&opts, never_end, NULL, -1, answer, 1, 100 * MS, &err), -ETIMEDOUT);
	assert_string_equal(err.msg, "test: the worker process did not answer in time and was killed");
	assert_true(clock_boot_ns() - start >= 100 * MS);
	assert_true(clock_boot_ns() - start < 10 * S);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);	/* no child is left behind */
	assert_int_equal(errno, ECHILD);
}

static void processor_time_ends_it(void **state)
{
	const struct worker_opts o = { .name = "test", .cpu_seconds = 1 };
	struct err err = { 0 };
	char answer[1];

	(void)state;
	assert_int_equal(worker_call(&o, never_end, NULL, -1, answer, 1, 60 * S, &err), -ECHILD);
	assert_string_equal(err.msg, "test: the worker process was ended: it exceeded its limit of processor time");
}

static int talk_for_ever(void *ctx, int in_fd, int out_fd)
{
	static const char data[4096];

	(void)ctx, (void)in_fd;
	while (write(out_fd, data, sizeof(data)) > 0)
		;
	return 0;
}

static void an_answer_has_its_size(void **state)
{
	struct err err = { 0 };
	char answer[10000];

	(void)state;
	assert_int_equal(worker_call(&opts, talk_for_ever, NULL, -1, answer, sizeof(answer), 10 * S, &err),
			 -EMSGSIZE);
	assert_string_equal(err.msg, "test: the worker process answered more than 10000 bytes");
}

static int crash(void *ctx, int in_fd, int out_fd)
{
	volatile uintptr_t nowhere = 8;

	(void)in_fd, (void)out_fd;
	if (*(int *)ctx == SIGABRT)
		abort();
	*(volatile int *)nowhere = 1;
	return 0;
}

static void a_crash_is_told(void **state)
{
	struct err err = { 0 };
	int signo = SIGABRT;
	char answer[1];

	(void)state;
	need_confinement();
	assert_int_equal(worker_call(&opts, crash, &signo, -1, answer, 1, 10 * S, &err), -ECHILD);
	assert_string_equal(err.msg, "test: the worker process crashed (Aborted)");
	signo = SIGSEGV;
	assert_int_equal(worker_call(&opts, crash, &signo, -1, answer, 1, 10 * S, &err), -ECHILD);
	assert_string_equal(err.msg, "test: the worker process crashed (Segmentation fault)");
}

static int give_up(void *ctx, int in_fd, int out_fd)
{
	(void)ctx, (void)in_fd, (void)out_fd;
	return 7;
}

static void a_status_is_told(void **state)
{
	struct err err = { 0 };
	struct worker *w;
	char answer[1];

	(void)state;
	assert_int_equal(worker_call(&opts, give_up, NULL, -1, answer, 1, 10 * S, &err), -ECHILD);
	assert_string_equal(err.msg, "test: the worker process gave up (status 7)");
	assert_int_equal(worker_start(&opts, give_up, NULL, -1, &w, NULL), 0);
	assert_int_equal(worker_finish(w, 10 * S, NULL), 7);
	assert_int_equal(worker_start(&opts, never_end, NULL, -1, &w, NULL), 0);
	assert_int_equal(worker_finish(w, 50 * MS, &err), -ETIMEDOUT);
}

/* ---- circumstances ---- */

static void it_dies_with_its_parent(void **state)
{
	int fds[2], up[2], status;
	pid_t middle, pid;

	(void)state;
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	assert_int_equal(pipe2(fds, O_CLOEXEC) | pipe2(up, O_CLOEXEC), 0);
	middle = fork();
	assert_true(middle >= 0);
	if (!middle) {
		struct worker *w;

		if (worker_start(&opts, wait_for_input, NULL, fds[0], &w, NULL) < 0)
			_exit(1);
		pid = worker_pid(w);
		_exit(write(up[1], &pid, sizeof(pid)) != sizeof(pid));
	}
	assert_int_equal(waitpid(middle, &status, 0), middle);
	assert_int_equal(status, 0);
	assert_int_equal(read(up[0], &pid, sizeof(pid)), sizeof(pid));
	assert_int_equal(waitpid(pid, &status, 0), pid);	/* the pipe is open: otherwise it waits for input */
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	for (int i = 0; i < 2; i++)
		close(fds[i]), close(up[i]);
}

/* In a child: standard descriptors closed, so that pipes get their numbers. */
static void closed_standard_descriptors_do_not_confuse_it(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (!pid) {
		char answer[2];

		close_range(0, ~0u, 0);
		_exit(worker_call(&opts, use_memory, NULL, -1, answer, 2, 10 * S, NULL) != 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* A parent started with SIGCHLD ignored cannot learn how its child ended, but must not hang or guess. */
static void an_ignored_sigchld_is_survived(void **state)
{
	struct err err = { 0 };
	char answer[1];

	(void)state;
	signal(SIGCHLD, SIG_IGN);
	assert_int_equal(worker_call(&opts, give_up, NULL, -1, answer, 1, 10 * S, &err), -ECHILD);
	assert_string_equal(err.msg, "test: the exit status of the worker process is unknown");
	signal(SIGCHLD, SIG_DFL);
}

static int child_sees_signals(void *ctx, int in_fd, int out_fd)
{
	(void)ctx, (void)in_fd;
	return write(out_fd, "x", 1) != 1;	/* blocked or ignored SIGPIPE in the parent stays as it is */
}

static void the_parents_mask_is_not_inherited(void **state)
{
	struct worker *w;
	sigset_t all;
	char text[128], answer[1];
	int fds[2];

	(void)state;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	start_waiting(&w, fds);
	proc_status(worker_pid(w), "SigBlk:\t", text);
	assert_string_equal(text, "0000000000000000\n");
	worker_kill(w);
	close(fds[1]);
	assert_int_equal(worker_call(&opts, child_sees_signals, NULL, -1, answer, 1, 10 * S, NULL), 1);
	sigemptyset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	worker_kill(NULL);
}

static void *sync_file(void *ctx)
{
	return fsync(*(int *)ctx) < 0 ? ctx : NULL;
}

static bool is_refused(long r)
{
	return r == -1 && errno == EPERM;
}

/* Its steps, each with an exit status of its own. @ctx: a directory of this user. */
static int write_store(void *ctx, int in_fd, int out_fd)
{
	char *const argv[] = { (char *)"true", NULL };
	int dir = open(ctx, O_RDONLY | O_DIRECTORY), fd = openat(dir, "part", O_RDWR | O_CREAT | O_EXCL, 0600);
	void *failed = NULL;
	pthread_t thread;

	(void)in_fd, (void)out_fd;
	if (fd < 0 || pwrite(fd, "x", 1, 0) != 1 || ftruncate(fd, 1) < 0)
		return 1;
	if (pthread_create(&thread, NULL, sync_file, &fd) || pthread_join(thread, &failed) || failed)
		return 2;
	if (renameat(dir, "part", dir, "seg") < 0 || mkdirat(dir, "dump", 0700) < 0)
		return 3;
	if (linkat(dir, "seg", dir, "dump/seg", 0) < 0 || unlinkat(dir, "seg", 0) < 0)
		return 4;
	if (!is_refused(socket(AF_INET, SOCK_STREAM, 0)) || !is_refused(execv("/bin/true", argv)))
		return 5;
	return is_refused(kill(getppid(), 0)) && is_refused(syscall(SYS_setuid, 1)) ? 0 : 6;
}

static void a_writer_of_stores_writes_files_and_no_more(void **state)
{
	static const struct worker_opts store = { .name = "test", .store = true, .refuse = true };
	char dir[] = "/tmp/test_worker.XXXXXX", file[96], dump[64];
	struct err err = { 0 };
	char answer[1];

	(void)state;
	need_confinement();
	assert_non_null(mkdtemp(dir));
	assert_int_equal(worker_call(&store, write_store, dir, -1, answer, 1, 10 * S, &err), 0);
	assert_string_equal(err.msg, "");
	snprintf(dump, sizeof(dump), "%s/dump", dir);
	snprintf(file, sizeof(file), "%s/seg", dump);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(rmdir(dump), 0);
	assert_int_equal(rmdir(dir), 0);
}

/* 250 ms, doubled up to the limit, and from the start again behind a minute without an end. */
static void test_pauses_of_restarts(void **state)
{
	const uint64_t ms = 1000000, most = 700 * ms;
	uint64_t pause = 0;

	(void)state;
	assert_int_equal(restart_pause(&pause, 0, most), 250 * ms);
	assert_int_equal(restart_pause(&pause, 10 * ms, most), 500 * ms);
	assert_int_equal(restart_pause(&pause, 60000 * ms, most), most);
	assert_int_equal(restart_pause(&pause, 60000 * ms, most), most);
	assert_int_equal(restart_pause(&pause, 60001 * ms, most), 250 * ms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pauses_of_restarts),
		cmocka_unit_test(it_reads_and_answers),
		cmocka_unit_test(it_may_start_later),
		cmocka_unit_test(it_has_memory_to_work_with),
		cmocka_unit_test(its_memory_is_bounded),
		cmocka_unit_test(forbidden_calls_kill_it),
		cmocka_unit_test(no_descriptor_is_left_to_it),
		cmocka_unit_test(it_has_no_rights),
		cmocka_unit_test(a_priority_is_that_of_a_session),
		cmocka_unit_test(it_becomes_who_was_asked_for),
		cmocka_unit_test(a_deadline_ends_it),
		cmocka_unit_test(processor_time_ends_it),
		cmocka_unit_test(an_answer_has_its_size),
		cmocka_unit_test(a_crash_is_told),
		cmocka_unit_test(a_status_is_told),
		cmocka_unit_test(it_dies_with_its_parent),
		cmocka_unit_test(closed_standard_descriptors_do_not_confuse_it),
		cmocka_unit_test(an_ignored_sigchld_is_survived),
		cmocka_unit_test(the_parents_mask_is_not_inherited),
		cmocka_unit_test(a_writer_of_stores_writes_files_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
