// SPDX-License-Identifier: GPL-2.0-or-later
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
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "tests/unit/scratch_dir.h"
#include "sinks/outfile.h"

#define RECORD 100 /* bytes; no divisor of a page */

/* Record @i: its number, then a pattern derived from it. */
static void fill(char rec[static RECORD], unsigned i)
{
	memset(rec, 'a' + (int)(i % 26), RECORD);
	memcpy(rec, &i, sizeof(i));
}

/* Writes until it fails or @max records are accepted. Returns how many were accepted. */
static unsigned write_records(struct outfile *f, unsigned max, int *ret_error)
{
	char rec[RECORD];
	unsigned i;

	*ret_error = 0;
	for (i = 0; i < max && !*ret_error; i++) {
		fill(rec, i);
		*ret_error = outfile_record(f, rec, RECORD);
	}
	return i;
}

/* The file consists of whole records 0.. in order; returns how many. */
static unsigned check_file(const char *path)
{
	char rec[RECORD], want[RECORD];
	FILE *in = fopen(path, "r");
	unsigned n = 0;
	size_t got;

	assert_non_null(in);
	while ((got = fread(rec, 1, RECORD, in)) == RECORD) {
		fill(want, n++);
		assert_memory_equal(rec, want, RECORD);
	}
	assert_int_equal(got, 0);
	fclose(in);
	return n;
}

static void a_file_is_private_and_complete(void **state)
{
	const char *path = in_scratch("plain");
	struct outfile *f;
	struct stat st;
	int error;

	(void)state;
	assert_int_equal(outfile_open(path, &f, NULL), 0);
	assert_string_equal(outfile_name(f), path);
	assert_false(outfile_is_tty(f));
	assert_int_equal(write_records(f, 10000, &error), 10000);
	assert_int_equal(error, 0);
	assert_int_equal(outfile_bytes(f), 10000 * RECORD);
	assert_int_equal(outfile_close(f), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(check_file(path), 10000);

	assert_int_equal(outfile_open(path, &f, NULL), 0);	/* truncates */
	assert_int_equal(outfile_close(f), 0);
	assert_int_equal(check_file(path), 0);
}

static void a_path_that_cannot_be_written_is_named(void **state)
{
	struct outfile *f = NULL;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(symlink("/etc/passwd", in_scratch("link")), 0);
	assert_int_equal(outfile_open(in_scratch("link"), &f, &err), -ELOOP);
	assert_non_null(strstr(err.msg, "symbolic link"));
	assert_int_equal(outfile_open(in_scratch("none/x"), &f, &err), -ENOENT);
	assert_non_null(strstr(err.msg, in_scratch("none/x")));
	assert_int_equal(outfile_open(scratch_dir, &f, &err), -EISDIR);
	assert_null(f);
}

static void dev_full_fails_with_a_sentence(void **state)
{
	struct err err = { 0 };
	struct outfile *f;
	int error;

	(void)state;
	assert_int_equal(outfile_open("/dev/full", &f, &err), 0);
	write_records(f, 10, &error);
	assert_int_equal(error, 0);
	assert_int_equal(outfile_error(f, &err), 0);
	assert_int_equal(outfile_flush(f), -ENOSPC);
	assert_int_equal(outfile_dropped(f), 10);
	assert_int_equal(outfile_record(f, "x", 1), -ENOSPC);	/* for good */
	assert_int_equal(outfile_error(f, &err), -ENOSPC);
	assert_string_equal(err.msg, "cannot write /dev/full: No space left on device; it holds 0 bytes of whole "
				     "records");
	assert_int_equal(outfile_close(f), -ENOSPC);
}

/* Fills the mount or limit until a write fails; then the ledger of records must close. */
static void check_cut(const char *path, int want_error, unsigned max)
{
	struct err err = { 0 };
	struct outfile *f;
	unsigned taken;
	int error;

	assert_int_equal(outfile_open(path, &f, NULL), 0);
	taken = write_records(f, max, &error);
	assert_int_equal(error, want_error);
	assert_int_equal(outfile_error(f, &err), want_error);
	assert_non_null(strstr(err.msg, path));
	assert_int_equal(outfile_bytes(f) % RECORD, 0);
	assert_int_equal(outfile_bytes(f) / RECORD + outfile_dropped(f), taken);
	assert_int_equal(check_file(path), outfile_bytes(f) / RECORD);
	outfile_free(f);
}

/* Every limit within a few pages: the file ends after a complete record wherever the write stopped. */
static void a_size_limit_leaves_whole_records(void **state)
{
	struct rlimit old, limit;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = old;
	for (unsigned bytes = 0; bytes < 200000; bytes += 991) {
		limit.rlim_cur = bytes;
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
		check_cut(in_scratch("limited"), -EFBIG, 10000);
		assert_int_equal(check_file(in_scratch("limited")), bytes / RECORD);
	}
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
}

static void a_full_disk_leaves_whole_records(void **state)
{
	const char *mnt = in_scratch("mnt");

	(void)state;
	assert_int_equal(mkdir(mnt, 0700), 0);
	if (mount("none", mnt, "tmpfs", 0, "size=256k") < 0) {
		print_message("skipped: a small tmpfs cannot be mounted (%s)\n", strerror(errno));
		skip();
	}
	check_cut(in_scratch("mnt/file"), -ENOSPC, 10000);
	assert_int_equal(umount(in_scratch("mnt")), 0);
}

static void a_closed_pipe_is_an_error_and_no_signal(void **state)
{
	struct outfile *f;
	sigset_t pending;
	char path[32];
	int fds[2], error;

	(void)state;
	signal(SIGPIPE, SIG_DFL);
	assert_int_equal(pipe(fds), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[1]);
	/* Through our own name: /proc/self/fd/N is a link, which is not followed. */
	assert_int_equal(outfile_open(path, &f, NULL), -ELOOP);
	close(fds[0]);
	close(fds[1]);

	assert_int_equal(mkfifo(in_scratch("fifo"), 0600), 0);
	fds[0] = open(in_scratch("fifo"), O_RDONLY | O_NONBLOCK);
	assert_true(fds[0] >= 0);
	assert_int_equal(outfile_open(in_scratch("fifo"), &f, NULL), 0);
	close(fds[0]);
	write_records(f, 3, &error);
	assert_int_equal(outfile_flush(f), -EPIPE);
	sigpending(&pending);
	assert_false(sigismember(&pending, SIGPIPE));
	assert_int_equal(outfile_dropped(f), 3);
	assert_int_equal(outfile_close(f), -EPIPE);
}

/* A signal left pending by other code must stay pending. */
static void a_sigpipe_of_others_stays_pending(void **state)
{
	struct outfile *f;
	sigset_t set, pending;
	int fd, error;

	(void)state;
	fd = open(in_scratch("fifo"), O_RDONLY | O_NONBLOCK);
	assert_int_equal(outfile_open(in_scratch("fifo"), &f, NULL), 0);
	close(fd);
	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGPIPE);
	write_records(f, 1, &error);
	assert_int_equal(outfile_flush(f), -EPIPE);
	sigpending(&pending);
	assert_true(sigismember(&pending, SIGPIPE));
	signal(SIGPIPE, SIG_IGN);	/* removes the pending one */
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	outfile_free(f);
}

/* Runs @body with standard output at @fd, in a child; its exit status. */
static int with_stdout(int fd, int (*body)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		if (fd < 0)
			close(STDOUT_FILENO);
		else
			dup2(fd, STDOUT_FILENO);
		_exit(body());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int fill_stdout(void)
{
	struct rlimit limit = { .rlim_cur = 1000, .rlim_max = RLIM_INFINITY };
	struct outfile *f;
	int error;

	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &limit) < 0 || outfile_open(NULL, &f, NULL) < 0)
		return 1;
	write_records(f, 100, &error);
	if (outfile_flush(f) != -EFBIG || outfile_bytes(f) != 500)
		return 2;
	limit.rlim_cur = RLIM_INFINITY;
	setrlimit(RLIMIT_FSIZE, &limit);
	return write(STDOUT_FILENO, "end", 3) == 3 ? 0 : 3;	/* what comes next stands behind it */
}

static void redirected_output_keeps_what_was_there(void **state)
{
	const int modes[] = { 0, O_APPEND };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		char text[2000];
		int fd = open(in_scratch("redirected"), O_RDWR | O_CREAT | O_TRUNC | modes[i], 0600);

		memset(text, '.', sizeof(text));
		assert_int_equal(write(fd, text, 470), 470);
		assert_int_equal(with_stdout(fd, fill_stdout), 0);
		assert_int_equal(lseek(fd, 0, SEEK_END), 470 + 500 + 3);
		assert_int_equal(pread(fd, text, sizeof(text), 0), 973);
		assert_int_equal(text[469], '.');
		assert_int_equal(memcmp(text + 970, "end", 3), 0);
		close(fd);
	}
}

static int open_closed_stdout(void)
{
	struct err err = { 0 };
	struct outfile *f;
	int r = outfile_open("-", &f, &err);

	return r == -EBADF && strstr(err.msg, "standard output") ? 0 : 1;
}

static void a_closed_standard_output_is_said(void **state)
{
	int fd = open("/dev/null", O_RDONLY);

	(void)state;
	assert_int_equal(with_stdout(-1, open_closed_stdout), 0);
	assert_int_equal(with_stdout(fd, open_closed_stdout), 0);
	close(fd);
}

static int fill_nonblocking(void)
{
	struct outfile *f;
	int error;

	if (outfile_open("/dev/stdout", &f, NULL) < 0)
		return 1;
	write_records(f, 5000, &error);
	return error || outfile_close(f) < 0;
}

/* A shell or ssh may leave the pipe non-blocking: all of it must arrive nevertheless. */
static void a_nonblocking_pipe_loses_nothing(void **state)
{
	int fds[2], status;
	unsigned n = 0;
	char rec[RECORD], want[RECORD];
	size_t have = 0;
	ssize_t got;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	fcntl(fds[1], F_SETFL, O_NONBLOCK);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(fds[0]);
		_exit(with_stdout(fds[1], fill_nonblocking));
	}
	close(fds[1]);
	usleep(20000);
	while ((got = read(fds[0], rec + have, RECORD - have)) > 0) {
		have += (size_t)got;
		if (have < RECORD)
			continue;
		fill(want, n++);
		assert_memory_equal(rec, want, RECORD);
		have = 0;
	}
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(n, 5000);
}

/* A truncated record in a pipe cannot be taken back: it is reported. */
static void a_torn_pipe_is_said(void **state)
{
	static char big[300000];
	struct err err = { 0 };
	struct outfile *f;
	int fd, status;
	pid_t pid;

	(void)state;
	assert_int_equal(mkfifo(in_scratch("fifo2"), 0600), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		fd = open(in_scratch("fifo2"), O_RDONLY);
		_exit(read(fd, big, 1000) != 1000);
	}
	assert_int_equal(outfile_open(in_scratch("fifo2"), &f, NULL), 0);
	outfile_record(f, big, sizeof(big));
	assert_int_equal(outfile_error(f, &err), -EPIPE);
	assert_int_equal(outfile_bytes(f), 0);
	assert_int_equal(outfile_dropped(f), 1);
	outfile_free(f);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void memory_holds_everything(void **state)
{
	struct outfile *f;
	size_t len;

	(void)state;
	assert_int_equal(outfile_open_mem(&f), 0);
	assert_int_equal(outfile_record(f, "abc", 3), 0);
	assert_int_equal(outfile_flush(f), 0);
	assert_int_equal(outfile_record(f, "de", 2), 0);
	assert_memory_equal(outfile_mem(f, &len), "abcde", 5);
	assert_int_equal(len, 5);
	assert_int_equal(outfile_close(f), 0);
}

/* Bytes that a caller appends in place are a record at its end, or nothing. */
static void a_record_may_be_cancelled(void **state)
{
	struct outfile *f;
	struct buf *b;
	size_t len;

	(void)state;
	assert_int_equal(outfile_open_mem(&f), 0);
	assert_int_equal(buf_add_str(outfile_begin(f), "one"), 0);
	assert_int_equal(outfile_end(f), 0);
	assert_int_equal(buf_add_str(outfile_begin(f), "left out"), 0);
	outfile_cancel(f);
	outfile_begin(f);
	assert_int_equal(outfile_end(f), 0); /* empty */
	b = outfile_begin(f);
	buf_add_str(b, "too large");
	b->error = -ENOMEM;
	assert_int_equal(outfile_end(f), -ENOMEM); /* of this record only */
	assert_int_equal(outfile_record(f, "two", 3), 0);
	assert_memory_equal(outfile_mem(f, &len), "onetwo", 6);
	assert_int_equal(len, 6);
	assert_int_equal(outfile_close(f), 0);
}

static int keep_put(void *ctx, const void *data, size_t len, size_t n)
{
	struct buf *to = ctx;

	buf_printf(to, "%zu:", n);
	return buf_add(to, data, len);
}

static void a_remote_file_gets_each_record(void **state)
{
	struct buf got = { 0 };
	struct outfile *f;

	(void)state;
	assert_int_equal(outfile_open_remote("there", keep_put, &got, &f), 0);
	buf_add_str(outfile_begin(f), "one ");
	assert_int_equal(outfile_end(f), 0);
	assert_int_equal(outfile_batch(f, "three", 5, 3), 0);
	assert_string_equal(buf_str(&got), "1:one 3:three");
	assert_int_equal(outfile_bytes(f), 9);
	assert_int_equal(outfile_close(f), 0);
	buf_fini(&got);
}

/* Unpacks the file "packed" by gunzip and counts its records. */
static unsigned check_packed(void)
{
	char command[300];

	snprintf(command, sizeof(command), "cd %s && gzip -dc <packed >unpacked 2>/dev/null", scratch_dir);
	(void)!system(command);
	return check_file(in_scratch("unpacked"));
}

/* Each flush makes what was added readable. */
static void a_compressed_file_is_gzip(void **state)
{
	struct outfile *f;
	int error;

	(void)state;
	assert_int_equal(outfile_open(in_scratch("packed"), &f, NULL), 0);
	assert_int_equal(outfile_use_gzip(f), 0);
	assert_int_equal(write_records(f, 3000, &error), 3000);
	assert_int_equal(error, 0);
	assert_int_equal(outfile_flush(f), 0);
	assert_int_equal(check_packed(), 3000);
	assert_true(outfile_bytes(f) < 3000 * RECORD / 4);
	assert_int_equal(outfile_close(f), 0);
	assert_int_equal(check_packed(), 3000);

	assert_int_equal(outfile_open(in_scratch("packed"), &f, NULL), 0);
	assert_int_equal(outfile_use_gzip(f), 0);
	assert_int_equal(outfile_close(f), 0);
	assert_int_equal(check_packed(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_private_and_complete),
		cmocka_unit_test(a_path_that_cannot_be_written_is_named),
		cmocka_unit_test(dev_full_fails_with_a_sentence),
		cmocka_unit_test(a_size_limit_leaves_whole_records),
		cmocka_unit_test(a_full_disk_leaves_whole_records),
		cmocka_unit_test(a_closed_pipe_is_an_error_and_no_signal),
		cmocka_unit_test(a_sigpipe_of_others_stays_pending),
		cmocka_unit_test(redirected_output_keeps_what_was_there),
		cmocka_unit_test(a_closed_standard_output_is_said),
		cmocka_unit_test(a_nonblocking_pipe_loses_nothing),
		cmocka_unit_test(a_torn_pipe_is_said),
		cmocka_unit_test(memory_holds_everything),
		cmocka_unit_test(a_record_may_be_cancelled),
		cmocka_unit_test(a_remote_file_gets_each_record),
		cmocka_unit_test(a_compressed_file_is_gzip),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
