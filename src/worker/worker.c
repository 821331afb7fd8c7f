// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/macros.h"
#include "worker/worker_child.h"
#include "worker/spawner.h"

#define START_MS 10000	/* to drop privileges; usually takes milliseconds */
#define PIPE_BYTES (1 << 20)	/* the limit for unprivileged processes */
#define REAP_MS 1000	/* after SIGKILL; only a process stuck in the kernel takes longer */

struct worker {
	pid_t pid;
	int pid_fd;
	int fd;		/* answers */
	int report_fd;	/* start_report; -1 = read already */
	char name[32];
};

int worker_fd(const struct worker *w)
{
	return w->fd;
}

int worker_end_fd(const struct worker *w)
{
	return w->pid_fd;
}

pid_t worker_pid(const struct worker *w)
{
	return w->pid;
}

static void worker_free(struct worker *w)
{
	cleanup_close(&w->fd);
	cleanup_close(&w->pid_fd);
	cleanup_close(&w->report_fd);
	free(w);
}
DEFINE_CLEANUP(struct worker *, worker_free)

/* Milliseconds until @deadline_ns for poll(), rounded up; -1 for none. */
static int left_ms(uint64_t deadline_ns)
{
	uint64_t now = clock_boot_ns();

	if (!deadline_ns)
		return -1;
	if (now >= deadline_ns)
		return 0;
	return (int)MIN((deadline_ns - now + NS_PER_MS - 1) / NS_PER_MS, 1u << 30);
}

/* 1 if @fd is readable or at its end, 0 at the deadline, or -errno. */
static int wait_readable(int fd, uint64_t deadline_ns)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int r = TEMP_FAILURE_RETRY(poll(&p, 1, left_ms(deadline_ns)));

	return r < 0 ? -errno : r;
}

static uint64_t deadline_after(uint64_t timeout_ns)
{
	uint64_t now = clock_boot_ns();

	return timeout_ns ? now + MIN(timeout_ns, UINT64_MAX - now) : 0;
}

static int read_report(struct worker *w, struct err *err)
{
	_cleanup_close_ int fd = TAKE_FD(w->report_fd);
	struct start_report report = { 0 };
	int r = wait_readable(fd, deadline_after(START_MS * NS_PER_MS));

	if (r > 0 && read(fd, &report, sizeof(report)) == sizeof(report)) {
		report.step[sizeof(report.step) - 1] = '\0';
		if (report.code < 0)
			err_errno(err, report.code, "%s: the worker process cannot %s", w->name, report.step);
		return report.code;
	}
	r = r < 0 ? r : r == 0 ? -ETIMEDOUT : -ECHILD;
	return err_errno(err, r, "%s: the worker process did not start", w->name);
}

/* In the spawner where it can be. The new pid or -errno. */
static pid_t start_child(const struct worker_child *c)
{
	pid_t pid = spawner_spawn(c);

	if (pid != -ENOENT)
		return pid;
	pid = fork();
	if (!pid)
		worker_child_run(c);
	return pid < 0 ? -errno : pid;
}

static int fork_worker(struct worker *w, const struct worker_opts *o, worker_fn fn, void *ctx, int in_fd)
{
	int answer[2] = { -1, -1 }, report[2] = { -1, -1 }, r = 0;

	if (pipe2(answer, O_CLOEXEC) < 0 || pipe2(report, O_CLOEXEC) < 0) {
		r = -errno;
	} else {
		fcntl(answer[0], F_SETPIPE_SZ, PIPE_BYTES);	/* fewer wake-ups for a long answer */
		w->pid = start_child(&(struct worker_child){
			.opts = o, .fn = fn, .ctx = ctx, .in_fd = in_fd, .answer_fd = answer[1],
			.report_fd = report[1], .parent = getpid() });
		r = MIN(w->pid, 0);
	}
	cleanup_close(&report[1]);
	cleanup_close(&answer[1]);
	w->fd = answer[0];
	w->report_fd = report[0];
	return r;
}

int worker_start(const struct worker_opts *o, worker_fn fn, void *ctx, int in_fd, struct worker **ret,
		 struct err *err)
{
	_cleanup_(worker_freep) struct worker *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return err_errno(err, -ENOMEM, "cannot start a worker process");
	w->fd = w->pid_fd = w->report_fd = -1;
	snprintf(w->name, sizeof(w->name), "%s", o->name ? o->name : "worker");
	r = fork_worker(w, o, fn, ctx, in_fd);
	if (r < 0)
		return err_errno(err, r, "%s: cannot start a worker process", w->name);
	w->pid_fd = (int)syscall(SYS_pidfd_open, w->pid, 0);
	if (w->pid_fd < 0)
		r = err_errno(err, -errno, "%s: cannot watch the worker process", w->name);
	else if (!o->later)
		r = read_report(w, err);
	if (r < 0) {
		worker_kill(TAKE_PTR(w));
		return r;
	}
	*ret = TAKE_PTR(w);
	return 0;
}

/* Explains the end of a worker by @signo. Returns -ECHILD. */
static int explain_signal(const struct worker *w, int signo, struct err *err)
{
	const char *why;

	switch (signo) {
	case SIGSYS:
		why = "it made a forbidden system call (see the kernel log)";
		break;
	case SIGXCPU:
	case SIGPROF:
		why = "it exceeded its limit of processor time";
		break;
	case SIGXFSZ:
		why = "it tried to write a file";
		break;
	case SIGPIPE:
		why = "its answer was no longer read";
		break;
	case SIGKILL:
		why = "it was killed, perhaps by the OOM killer or at its limit of processor time";
		break;
	default:
		return err_set(err, -ECHILD, "%s: the worker process crashed (%s)", w->name, strsignal(signo));
	}
	return err_set(err, -ECHILD, "%s: the worker process was ended: %s", w->name, why);
}

/* Waits for a process that is about to exit. */
static int reap(const struct worker *w, struct err *err)
{
	int status;
	pid_t r;

	r = TEMP_FAILURE_RETRY(waitpid(w->pid, &status, 0));
	if (r < 0) /* SIGCHLD is ignored: the exit status is lost */
		return err_set(err, -ECHILD, "%s: the exit status of the worker process is unknown", w->name);
	return WIFEXITED(status) ? WEXITSTATUS(status) : explain_signal(w, WTERMSIG(status), err);
}

/* Waits REAP_MS at most: a process stuck in the kernel is left behind. */
static void kill_and_reap(const struct worker *w)
{
	if (w->pid <= 0)
		return;
	kill(w->pid, SIGKILL);
	if (w->pid_fd < 0 || wait_readable(w->pid_fd, deadline_after(REAP_MS * NS_PER_MS)) > 0)
		reap(w, NULL);
}

void worker_kill(struct worker *w)
{
	if (!w)
		return;
	kill_and_reap(w);
	worker_free(w);
}

int worker_finish(struct worker *w, uint64_t timeout_ns, struct err *err)
{
	int r;

	close(TAKE_FD(w->fd));
	r = wait_readable(w->pid_fd, deadline_after(timeout_ns));
	if (r > 0) {
		r = reap(w, err);
		if (w->report_fd >= 0)
			r = read_report(w, err) ?: r;
	} else {
		r = err_set(err, r < 0 ? r : -ETIMEDOUT, "%s: the worker process did not end in time and was killed",
			    w->name);
		kill_and_reap(w);
	}
	worker_free(w);
	return r;
}

/* Reads the whole answer. Its length, -EMSGSIZE, -ETIMEDOUT or -errno. */
static ssize_t read_answer(const struct worker *w, char *answer, size_t cap, uint64_t deadline_ns)
{
	size_t len = 0;

	for (;;) {
		char one;
		int r = wait_readable(w->fd, deadline_ns);
		ssize_t n;

		if (r <= 0)
			return r < 0 ? r : -ETIMEDOUT;
		/* with a full buffer read a byte more to detect a longer answer */
		n = TEMP_FAILURE_RETRY(len < cap ? read(w->fd, answer + len, cap - len) : read(w->fd, &one, 1));
		if (n <= 0)
			return n < 0 ? -errno : (ssize_t)len;
		if (len == cap)
			return -EMSGSIZE;
		len += (size_t)n;
	}
}

static ssize_t no_answer_error(const struct worker *w, ssize_t r, size_t cap, struct err *err)
{
	if (r == -EMSGSIZE)
		return err_set(err, (int)r, "%s: the worker process answered more than %zu bytes", w->name, cap);
	if (r == -ETIMEDOUT)
		return err_set(err, (int)r, "%s: the worker process did not answer in time and was killed", w->name);
	return err_errno(err, (int)r, "%s: cannot read the worker process's answer", w->name);
}

ssize_t worker_call(const struct worker_opts *o, worker_fn fn, void *ctx, int in_fd, void *answer, size_t cap,
		    uint64_t timeout_ns, struct err *err)
{
	uint64_t deadline_ns = deadline_after(timeout_ns), now;
	struct worker *w;
	ssize_t len;
	int r = worker_start(o, fn, ctx, in_fd, &w, err);

	if (r < 0)
		return r;
	len = read_answer(w, answer, cap, deadline_ns);
	if (len < 0) {
		len = no_answer_error(w, len, cap, err);
		worker_kill(w);
		return len;
	}
	now = clock_boot_ns();
	r = worker_finish(w, !deadline_ns ? 0 : now < deadline_ns ? deadline_ns - now : 1, err);
	if (r > 0)
		return err_set(err, -ECHILD, "%s: the worker process gave up (status %d)",
			       o->name ? o->name : "worker", r);
	return r < 0 ? r : len;
}
